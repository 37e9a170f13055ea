package domain

import (
	"math"
	"slices"
	"time"
)

// BuyerOrder is one of a buyer's orders in a sale, as far as judgement needs it.
type BuyerOrder struct {
	ID    string
	State OrderStanding
	Units int64
}

// OrderStanding is where an order stands for the rules of buying again.
type OrderStanding int

const (
	// Live: accepted, and not cancelled, expired or rejected.
	Live OrderStanding = iota
	// Over: cancelled or expired; its units went back.
	Over
	// Void: rejected; it never counts.
	Void
)

// Case is everything the judgement of one purchase looks at, in the order in
// which it looks. Whoever judges fills it from what it holds: the memory of a
// gate, or rows read under the log lock.
type Case struct {
	// SameOrder is the order found under this very id or this idempotency key.
	SameOrder   string
	Tombstone   bool
	KeyBody     string       // body hash remembered with the key, "" when the key is new
	Orders      []BuyerOrder // in the order they were accepted
	Ready       bool
	Known       map[string]bool // stock streams that are open; another one is NotReady
	Paused      bool
	Closed      bool
	Waits       bool // for a confirmation, without which it does not open
	OpensAt     time.Time
	ClosesAt    time.Time
	Now         time.Time
	Terms       Terms
	Eligible    bool
	Left        map[string]int64 // units left per SKU
	SkipLimit   bool
	BodyHash    string
	Lines       []Line
	Promised    bool    // accepted before, and forgotten: the window was judged then
	TicketState Outcome // Reserved when the ticket is fine or none is asked for
}

// Judge gives the outcome and, for SameOrder and Repeat, the order meant. The
// order of judgement is fixed: own order id or tombstone, idempotency key, the
// buyer's orders, readiness, switches, window, eligibility, ticket, limit,
// stock. So a repeated request always meets its first answer.
func Judge(c *Case) (Outcome, string) {
	switch {
	case c.Tombstone:
		return Refused, ""
	case c.KeyBody != "" && c.KeyBody != c.BodyHash:
		return KeyMismatch, c.SameOrder
	case c.SameOrder != "":
		return SameOrder, c.SameOrder
	}
	if id := RepeatOf(c.Orders, c.Terms); id != "" {
		return Repeat, id
	}
	if o := judgeSale(c); o != Reserved {
		return o, ""
	}
	if !c.SkipLimit && PassesLimit(c.Orders, c.Lines, c.Terms) {
		return LimitExceeded, ""
	}
	for _, l := range c.Lines {
		if c.Left[l.SKU] < l.Quantity {
			return SoldOut, ""
		}
	}
	return Reserved, ""
}

func judgeSale(c *Case) Outcome {
	switch {
	case !c.Ready || slices.ContainsFunc(c.Lines, func(l Line) bool { return !c.Known[l.SKU] }):
		return NotReady
	case c.Promised && (c.Closed || !c.Now.Before(c.ClosesAt)):
		return c.TicketState
	case c.Closed:
		return Ended
	case c.Paused:
		return Paused
	case c.Now.Before(c.OpensAt):
		return TooEarly
	case !c.Now.Before(c.ClosesAt):
		return Ended
	case c.Waits:
		return Paused
	case !c.Eligible && !c.Promised:
		return NotEligible
	}
	return c.TicketState
}

// RepeatOf gives the order that a further purchase meets, or "" when the buyer
// may buy: the latest live order once there are OrdersPerBuyer of them, or,
// where the sale does not let one buy again, the latest order that is over. A
// rejected order never counts. orders stand in the order they were accepted.
func RepeatOf(orders []BuyerOrder, t Terms) string {
	live, lastLive, lastOver := 0, "", ""
	for _, o := range orders {
		switch o.State {
		case Live:
			live++
			lastLive = o.ID
		case Over:
			lastOver = o.ID
		}
	}
	switch {
	case live >= t.OrdersPerBuyer:
		return lastLive
	case !t.Rebuy:
		return lastOver
	}
	return ""
}

// PassesLimit tells whether a buyer with these orders would hold more units than
// LimitPerBuyer after buying lines too. Sums that do not fit pass every limit.
func PassesLimit(orders []BuyerOrder, lines []Line, t Terms) bool {
	return addUnits(NetUnits(orders), Units(lines)) > t.LimitPerBuyer
}

// NetUnits gives the units a buyer holds over live orders.
func NetUnits(orders []BuyerOrder) int64 {
	var n int64
	for _, o := range orders {
		if o.State == Live {
			n = addUnits(n, o.Units)
		}
	}
	return n
}

// addUnits adds without wrapping: a sum that does not fit is the largest there
// is, which passes every limit.
func addUnits(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
