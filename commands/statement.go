package commands

import (
	"time"

	"seckill/domain"
)

// StatementForm is the version of a statement's form that is made today.
const StatementForm = 1

// Statement is the closing statement of a sale: its whole account, from the log
// alone. The same log gives the same statement, byte for byte (CanonicalJSON).
// What ends a sale's life (sale.cleaned) is no part of it. docs/statement.md
// describes the form for people.
type Statement struct {
	Form     int            `json:"form"`
	Store    string         `json:"store" doc:"UUID of the event store"`
	Sale     StatedSale     `json:"sale"`
	Items    []StatedItem   `json:"items" nullable:"false"`
	Money    StatedMoney    `json:"money"`
	Orders   []StatedOrders `json:"orders" nullable:"false" doc:"How many orders ended how, as things stand"`
	Findings StatedFindings `json:"findings"`
	Repairs  StatedRepairs  `json:"repairs"`
	Chances  StatedChances  `json:"chances"`
	Log      StatedLog      `json:"log"`
}

// StatedSale is what was on sale, and when. Terms are those in force at the end,
// TermsVersion the version of the sale's stream they come from.
type StatedSale struct {
	ID           string           `json:"id"`
	Title        string           `json:"title"`
	OpensAt      time.Time        `json:"opens_at"`
	ClosesAt     time.Time        `json:"closes_at"`
	ClosedAt     *time.Time       `json:"closed_at,omitempty" doc:"When somebody ended it before its time"`
	Terms        domain.SaleTerms `json:"terms"`
	TermsVersion int64            `json:"terms_version"`
}

// StatedItem is the account of an item in units over all buckets:
// released - withdrawn - reserved + returned = unsold, and
// reserved - returned = sold + placed + written off.
type StatedItem struct {
	SKU        string       `json:"sku"`
	Title      string       `json:"title"`
	Released   int64        `json:"released"`
	Withdrawn  int64        `json:"withdrawn"`
	Moved      int64        `json:"moved" doc:"Between buckets; part of neither side of the account"`
	Reserved   int64        `json:"reserved"`
	Returned   int64        `json:"returned"`
	WrittenOff int64        `json:"written_off"`
	Refused    int64        `json:"refused" doc:"Accepted by the gate and not kept by the log"`
	Sold       int64        `json:"sold" doc:"Of orders that are paid"`
	Placed     int64        `json:"placed" doc:"Of orders that are not paid and not over"`
	Unsold     int64        `json:"unsold"`
	Revenue    domain.Money `json:"revenue" doc:"Of orders that are paid"`
}

// StatedMoney is what was taken and what is owed. Revenue is of orders that are
// paid now; Refunds are payments that no order keeps, by reason.
type StatedMoney struct {
	Revenue    domain.Money    `json:"revenue"`
	RefundsDue domain.Money    `json:"refunds_due"`
	Refunds    []StatedRefunds `json:"refunds" nullable:"false"`
}

// StatedRefunds are payments to give back for one reason.
type StatedRefunds struct {
	Reason string       `json:"reason" doc:"late, double or amount; cancelled: the order was paid when it was ended"`
	Count  int64        `json:"count"`
	Amount domain.Money `json:"amount"`
}

// StatedOrders counts the orders of a status and reason.
type StatedOrders struct {
	Status string `json:"status"`
	Reason string `json:"reason" doc:"Of rejected orders why; of cancelled ones who: buyer, payment, operator"`
	Orders int64  `json:"orders"`
	Units  int64  `json:"units"`
}

// Kinds of findings that only a statement makes; the others are a reconciliation's.
const (
	FindingHole       = "stream_hole"             // a stream's versions are not 1, 2, 3 …
	FindingNoReserved = "order_without_reserved"  // an order without the units it is about
	FindingNoOrder    = "reserved_without_order"  // units taken for an order that was not placed
	FindingReturns    = "return_mismatch"         // what came back is not what ended
	FindingWins       = "accepted_never_recorded" // nodes told more wins than the log has orders
	FindingAmount     = "amount"                  // sums of money that cannot be
)

// MaxStated bounds each list of a statement that grows with what went wrong.
const MaxStated = 100

// StatedFindings are ways in which the books do not agree; List holds the first
// MaxStated of Total, in the order in which the log shows them.
type StatedFindings struct {
	Total int64           `json:"total"`
	List  []StatedFinding `json:"list" nullable:"false"`
}

// StatedFinding is one of them. Position is where the log shows it, 0 for none.
type StatedFinding struct {
	Kind     string `json:"kind"`
	Position int64  `json:"position"`
	SKU      string `json:"sku,omitempty"`
	OrderID  string `json:"order_id,omitempty"`
	BuyerID  string `json:"buyer_id,omitempty"`
	Detail   string `json:"detail"`
}

// StatedRepairs are what somebody mended; List holds the first MaxStated of Total.
type StatedRepairs struct {
	Total int64          `json:"total"`
	List  []StatedRepair `json:"list" nullable:"false"`
}

// StatedRepair is one of them: before and after, and who did it.
type StatedRepair struct {
	Position int64     `json:"position"`
	At       time.Time `json:"at"`
	Kind     string    `json:"kind"`
	SKU      string    `json:"sku,omitempty"`
	Bucket   int       `json:"bucket"`
	OrderID  string    `json:"order_id,omitempty"`
	Before   string    `json:"before"`
	After    string    `json:"after"`
	By       string    `json:"by"`
	Note     string    `json:"note"`
}

// StatedLog is the part of the log that a statement is about. Hash is that of the
// record at Last, which follows from every record before it.
type StatedLog struct {
	First  int64  `json:"first"`
	Last   int64  `json:"last"`
	Hash   string `json:"hash"`
	Events int64  `json:"events" doc:"Of this sale"`
}

// StatedChances tell whether everybody had the same chance. Asked, Won and what
// follows from them come from what nodes counted (sale.tallied), the rest from the
// orders themselves. Flags are sentences about what a person should look at.
type StatedChances struct {
	Flags   []string              `json:"flags" nullable:"false"`
	Asked   int64                 `json:"asked"`
	Won     int64                 `json:"won"`
	Refused []domain.TallyRefusal `json:"refused" nullable:"false"`
	Nodes   StatedNodes           `json:"nodes"`
	// Before is what was asked before the opening, which nobody can win.
	Before   StatedArrivals   `json:"before_opening"`
	Arrivals []StatedArrivals `json:"arrivals" nullable:"false" doc:"Tenths of what was asked from the opening on, by arrival"`
	Accepted []StatedAccepted `json:"accepted" nullable:"false" doc:"Tenths of the orders, by the moment of acceptance"`
	ByNode   []StatedNode     `json:"by_node" nullable:"false"`
	ByBucket []StatedBucket   `json:"by_bucket" nullable:"false"`
	ByShard  []StatedShard    `json:"by_shard" nullable:"false"`
}

// StatedNodes says how much is known: of the nodes that orders were bought at, how
// many told what else they were asked.
type StatedNodes struct {
	Seen    int      `json:"seen"`
	Tallied int      `json:"tallied"`
	Missing []string `json:"missing" nullable:"false"`
}

// StatedArrivals is what arrived in a span of milliseconds after the opening. Rate
// is won in the hundred asked, as a decimal; "" where nobody asked.
type StatedArrivals struct {
	FromMillis int64  `json:"from_ms"`
	ToMillis   int64  `json:"to_ms"`
	Asked      int64  `json:"asked"`
	Won        int64  `json:"won"`
	Rate       string `json:"rate"`
}

// StatedAccepted is a tenth of the orders. Kept ones are placed or paid now.
type StatedAccepted struct {
	FromMillis int64 `json:"from_ms"`
	ToMillis   int64 `json:"to_ms"`
	Orders     int64 `json:"orders"`
	Kept       int64 `json:"kept"`
}

// StatedNode is the share of one node. Expected is what it would have won had each
// of its arrivals had the chance of all arrivals of the same moment.
type StatedNode struct {
	Node     string `json:"node"`
	Asked    int64  `json:"asked"`
	Won      int64  `json:"won"`
	Rate     string `json:"rate"`
	Expected int64  `json:"expected"`
	Orders   int64  `json:"orders"`
	Kept     int64  `json:"kept"`
	Flagged  bool   `json:"flagged"`
}

// StatedBucket is the share of one home bucket. Expected follows from the rate of
// all.
type StatedBucket struct {
	Bucket   int    `json:"bucket"`
	Asked    int64  `json:"asked"`
	Won      int64  `json:"won"`
	Rate     string `json:"rate"`
	Expected int64  `json:"expected"`
	Orders   int64  `json:"orders"`
	Kept     int64  `json:"kept"`
	Flagged  bool   `json:"flagged"`
}

// StatedShard is the share of one shard of the log's readers, of which each should
// have the same number of orders.
type StatedShard struct {
	Shard    int   `json:"shard"`
	Orders   int64 `json:"orders"`
	Kept     int64 `json:"kept"`
	Expected int64 `json:"expected"`
	Flagged  bool  `json:"flagged"`
}
