package domain

// Outcome is what the judgement of a purchase says. The numbers are stable: they
// cross the border to the gate's scripts, to logs and to receipts. The classic
// four of a stock script keep their numbers: 1, 0, -1, -2.
type Outcome int

const (
	// Reserved: the units are taken and the journal holds the purchase.
	Reserved Outcome = 1
	// SoldOut: fewer units are left than asked for.
	SoldOut Outcome = 0
	// NotReady: the gate of this sale is missing, half built, closed for
	// recovery, or on another process than the one it was opened on.
	NotReady Outcome = -1
	// LimitExceeded: the buyer's net units would pass the sale's limit.
	LimitExceeded Outcome = -2
	// Repeat: the buyer has as many orders as allowed; Order names the latest.
	Repeat Outcome = 2
	// SameOrder: this very order, or this idempotency key, was accepted before.
	SameOrder Outcome = 3
	// TooEarly: the sale opens later, by the gate's clock.
	TooEarly Outcome = -3
	// Ended: the sale is over.
	Ended Outcome = -4
	// Paused: an operator, a switch or drift stopped the sale.
	Paused Outcome = -5
	// NotEligible: the sale is not for this buyer.
	NotEligible Outcome = -6
	// TicketRequired: the sale asks for a purchase ticket.
	TicketRequired Outcome = -7
	// TicketInvalid: the ticket is not of this buyer and sale, or was used.
	TicketInvalid Outcome = -8
	// KeyMismatch: the idempotency key was used with another body.
	KeyMismatch Outcome = -9
	// Refused: this order id carries a tombstone; nothing will ever be taken for it.
	Refused Outcome = -10
)

var outcomeNames = map[Outcome]string{
	Reserved: "reserved", SoldOut: "sold_out", NotReady: "not_ready", LimitExceeded: "limit_exceeded",
	Repeat: "repeat", SameOrder: "same_order", TooEarly: "too_early", Ended: "sale_ended", Paused: "paused",
	NotEligible: "not_eligible", TicketRequired: "ticket_required", TicketInvalid: "ticket_invalid",
	KeyMismatch: "idempotency_mismatch", Refused: "refused",
}

// Outcomes lists every outcome, for metrics that must exist from the start.
func Outcomes() []Outcome {
	return []Outcome{Reserved, SoldOut, NotReady, LimitExceeded, Repeat, SameOrder, TooEarly, Ended, Paused,
		NotEligible, TicketRequired, TicketInvalid, KeyMismatch, Refused}
}

// String gives the code that logs, metrics and problem documents use.
func (o Outcome) String() string {
	if s, ok := outcomeNames[o]; ok {
		return s
	}
	return "unknown"
}

// Reason says why an order was rejected.
type Reason string

// Reasons of a rejected order.
const (
	RejectedGuard     Reason = "guard"
	RejectedDuplicate Reason = "duplicate"
	RejectedLimit     Reason = "limit"
	RejectedPoison    Reason = "poison"
	RejectedLost      Reason = "lost"
)

// Line is an item and how many units of it. Quantity is 1 to MaxQuantity.
type Line struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

// MaxQuantity bounds the units of one line and of one purchase, so that no sum
// in a script or a guard can leave the integers that Lua holds exactly.
const MaxQuantity = 1<<31 - 1

// MaxLines bounds the lines of a purchase.
const MaxLines = 10

// Units gives the sum over lines; a sum that does not fit is the largest there is.
func Units(lines []Line) int64 {
	var n int64
	for _, l := range lines {
		n = addUnits(n, l.Quantity)
	}
	return n
}

// Terms are the rules of a sale that a purchase is judged by. They travel with
// each journal entry, so that recording judges by the terms in force, never by
// today's.
type Terms struct {
	// Version of the sale's stream these terms come from.
	Version        int64            `json:"version"`
	LimitPerBuyer  int64            `json:"limit_per_buyer"`
	OrdersPerBuyer int              `json:"orders_per_buyer"`
	Rebuy          bool             `json:"rebuy"`
	PaymentWindow  int64            `json:"payment_window"` // seconds
	Prices         map[string]Money `json:"prices"`
	// Overdraft is, per SKU, how many units beyond the stock the log may accept, over
	// all Buckets, which stand here only where there is some.
	Overdraft map[string]int64 `json:"overdraft,omitempty"`
	Buckets   int              `json:"buckets,omitempty"`
}

// OverdraftIn is a bucket's share of an item's overdraft.
func (t Terms) OverdraftIn(sku string, bucket int) int64 {
	return bucketShare(t.Overdraft[sku], t.Buckets, bucket)
}

// OverdraftIn is a bucket's share of an item's overdraft.
func (s Sale) OverdraftIn(sku string, bucket int) int64 {
	item, _ := s.Item(sku)
	return bucketShare(item.Overdraft, s.Terms.Buckets, bucket)
}

func bucketShare(quantity int64, buckets, bucket int) int64 {
	if quantity == 0 || bucket < 0 || bucket >= max(buckets, 1) {
		return 0
	}
	return SplitStock(quantity, max(buckets, 1))[bucket]
}
