package domain

import "time"

// ItemTerms is one thing on sale: Stock units at Price each.
type ItemTerms struct {
	SKU     string    `json:"sku"`
	Title   string    `json:"title"`
	Price   Money     `json:"price"`
	Stock   int64     `json:"stock"`
	Release []Tranche `json:"release,omitempty"`
	// Overdraft is how many units beyond the stock the log may accept to keep a
	// promise that the gate forgot; 0 unless the operator would rather oversell.
	Overdraft int64 `json:"overdraft,omitempty"`
}

// Tranche is a part of the stock that is released at a time.
type Tranche struct {
	At       time.Time `json:"at"`
	Quantity int64     `json:"quantity"`
}

// SaleTerms is everything an operator sets about a sale.
type SaleTerms struct {
	Title          string    `json:"title"`
	OpensAt        time.Time `json:"opens_at"`
	ClosesAt       time.Time `json:"closes_at"`
	LimitPerBuyer  int64     `json:"limit_per_buyer"`
	OrdersPerBuyer int       `json:"orders_per_buyer"`
	Rebuy          bool      `json:"rebuy"`
	Strategy       Strategy  `json:"strategy"`
	Buckets        int       `json:"buckets"`
	Tokens         int       `json:"tokens,omitempty"`
	PaymentWindow  int64     `json:"payment_window"` // seconds
	EligibleTiers  []string  `json:"eligible_tiers,omitempty"`
	RequireTicket  bool      `json:"require_ticket,omitempty"`
	AutoOpen       bool      `json:"auto_open"`
	// Acknowledgement is how surely the gate keeps a purchase before it is told; ""
	// is memory.
	Acknowledgement Acknowledgement `json:"acknowledgement,omitempty"`
	Items           []ItemTerms     `json:"items"`
}

// Acknowledgement is what must have become of a purchase in the gate before its buyer
// hears that it was accepted.
type Acknowledgement string

// Acknowledgements, from the weakest on. Stored as "" AcknowledgeMemory is the default.
const (
	AcknowledgeMemory     Acknowledgement = "memory"     // in the memory of the gate's server
	AcknowledgeAOF        Acknowledgement = "aof"        // handed to its operating system, for its append-only file
	AcknowledgeFsync      Acknowledgement = "fsync"      // on its disk
	AcknowledgeReplicated Acknowledgement = "replicated" // in the memory of a replica, too
)

// Acknowledgements lists every one.
func Acknowledgements() []Acknowledgement {
	return []Acknowledgement{AcknowledgeMemory, AcknowledgeAOF, AcknowledgeFsync, AcknowledgeReplicated}
}

// Acknowledged gives the acknowledgement of the terms by its name.
func (t SaleTerms) Acknowledged() Acknowledgement {
	if t.Acknowledgement == "" {
		return AcknowledgeMemory
	}
	return t.Acknowledgement
}

// Strategy says which machinery serves a sale.
type Strategy string

// Strategies.
const (
	StrategyPostgres   Strategy = "postgres"
	StrategyRedisSync  Strategy = "redis-sync"
	StrategyRedisAsync Strategy = "redis-async"
)

// Gateless tells whether purchases are judged under the log lock alone: no gate holds
// anything of the sale.
func (s Strategy) Gateless() bool { return s == StrategyPostgres }

// SaleScheduled opens the stream of a sale.
type SaleScheduled struct {
	SaleID string `json:"sale_id"`
	SaleTerms
	By string `json:"by,omitempty"`
}

// SaleRevised replaces the terms of a sale.
type SaleRevised struct {
	SaleID string `json:"sale_id"`
	SaleTerms
	By string `json:"by,omitempty"`
}

// SalePreheated says that the gate is about to hold a bucket of this sale for the
// first time. Where it stands and the gate has no record of the sale there, the
// gate forgot.
type SalePreheated struct {
	SaleID string `json:"sale_id"`
	Bucket int    `json:"bucket"`
}

// SaleChecked says what a preheat found: everything the gate holds of the sale was
// compared with the log at a version of this stream. One that somebody asked for
// always leaves it; those of the scheduler only where that changes whether the sale
// may be confirmed.
type SaleChecked struct {
	SaleID      string `json:"sale_id"`
	Version     int64  `json:"version"`
	Keys        int    `json:"keys"`
	Differences int    `json:"differences"`
	By          string `json:"by,omitempty"`
}

// SaleConfirmed lets a sale open that does not open by itself: somebody read a
// clean preheat of the terms at a version of this stream.
type SaleConfirmed struct {
	SaleID  string `json:"sale_id"`
	Version int64  `json:"version"`
	Note    string `json:"note,omitempty"`
	By      string `json:"by,omitempty"`
}

// SalePaused adds a reason for which nothing is sold.
type SalePaused struct {
	SaleID string      `json:"sale_id"`
	Reason PauseReason `json:"reason"`
	Note   string      `json:"note,omitempty"`
	By     string      `json:"by,omitempty"`
}

// SaleResumed takes a reason away.
type SaleResumed struct {
	SaleID string      `json:"sale_id"`
	Reason PauseReason `json:"reason"`
	Note   string      `json:"note,omitempty"`
	By     string      `json:"by,omitempty"`
}

// PauseReason is who stopped a sale. A sale sells when no reason is left.
type PauseReason string

// Reasons of a pause. Recovery and switch are never stored: a closed lane is the
// one, pause_purchases the other.
const (
	PausedByOperator PauseReason = "operator"
	PausedByDrift    PauseReason = "drift"
	PausedByRecovery PauseReason = "recovery"
	PausedBySwitch   PauseReason = "switch"
	// PausedByAcknowledgement: before it opened, the gate's server did not give the
	// acknowledgement that the sale asks for.
	PausedByAcknowledgement PauseReason = "acknowledgement"
)

// SaleClosed ends a sale before its time.
type SaleClosed struct {
	SaleID string `json:"sale_id"`
	Note   string `json:"note,omitempty"`
	By     string `json:"by,omitempty"`
}

// SaleRepaired says that somebody mended what a reconciliation found wrong about
// a sale, other than its units: a claim, an order that only the gate knew, a view.
// Before and After are what stood there and what stands there now, for people.
type SaleRepaired struct {
	SaleID  string `json:"sale_id"`
	Kind    string `json:"kind"`
	OrderID string `json:"order_id,omitempty"`
	BuyerID string `json:"buyer_id,omitempty"`
	Before  string `json:"before"`
	After   string `json:"after"`
	Note    string `json:"note,omitempty"`
	By      string `json:"by,omitempty"`
}

// SaleTallied is what one node was asked for a sale between two times, winners
// and losers, so that the log alone tells whether every arrival had the same
// chance. It changes nothing else.
type SaleTallied struct {
	SaleID string    `json:"sale_id"`
	Node   string    `json:"node"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	// Asked counts purchases that reached the gate, Won those it accepted. One that
	// met its buyer's own order asked for nothing new and does not count.
	Asked int64 `json:"asked"`
	Won   int64 `json:"won"`
	// Refused counts the others by the code their buyers were told, in its order.
	Refused []TallyRefusal `json:"refused,omitempty"`
	// Slices split Asked and Won by arrival, in order; empty ones are left out.
	Slices []TallySlice `json:"slices,omitempty"`
	// Buckets split Asked and Won by home bucket, in order; empty ones are left out.
	Buckets []TallyBucket `json:"buckets,omitempty"`
}

// TallyRefusal is how often a code was told.
type TallyRefusal struct {
	Code  Code  `json:"code"`
	Count int64 `json:"count"`
}

// TallySlice is what arrived from Millis milliseconds after the opening (below
// zero: before it) to the next slice of the scale in package commands.
type TallySlice struct {
	Millis int64 `json:"millis"`
	Asked  int64 `json:"asked"`
	Won    int64 `json:"won"`
}

// TallyBucket is what a home bucket was asked.
type TallyBucket struct {
	Bucket int   `json:"bucket"`
	Asked  int64 `json:"asked"`
	Won    int64 `json:"won"`
}

// SaleMembersSet says who may buy: the buyers of a list, which replaces the one
// before it whole. The list itself stands beside the log under the id List; Count
// and Digest say what it holds.
type SaleMembersSet struct {
	SaleID string `json:"sale_id"`
	// Version counts the lists of the sale from 1.
	Version int64  `json:"version"`
	List    string `json:"list"`
	Count   int64  `json:"count"`
	Digest  string `json:"digest"`
	By      string `json:"by,omitempty"`
}

// SaleCleaned ends the life of a sale: its books agreed, nothing of it is under
// way, and the gate no longer holds it. It is the last event of its stream. Items
// are what was ticked off before, and what was found.
type SaleCleaned struct {
	SaleID string      `json:"sale_id"`
	Items  []CleanItem `json:"items,omitempty"`
	Note   string      `json:"note,omitempty"`
	By     string      `json:"by,omitempty"`
}

// CleanItem is one line of a clean-up's checklist.
type CleanItem struct {
	Name   string `json:"name"`
	Done   bool   `json:"done"`
	Detail string `json:"detail"`
}

// SwitchFlipped turns a switch on or off: for one sale in that sale's stream, for
// all of them in the stream `switches`, which every sale that is not over then
// follows in its own stream.
type SwitchFlipped struct {
	Name       SwitchName `json:"name"`
	SaleID     string     `json:"sale_id,omitempty"`
	On         bool       `json:"on"`
	Everywhere bool       `json:"everywhere,omitempty"`
	Reason     string     `json:"reason"`
	By         string     `json:"by,omitempty"`
}
