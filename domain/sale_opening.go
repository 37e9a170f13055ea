package domain

import (
	"fmt"
	"slices"
	"time"
)

// MayOpen tells whether the sale opens at its time: by itself, or because it was
// confirmed as it stands.
func (s Sale) MayOpen() bool { return s.Terms.AutoOpen || s.Confirmed }

// OpenAt tells whether the sale has opened at a time of the gate's clock, and so
// may have been bought from. A pause does not undo it.
func (s Sale) OpenAt(now time.Time) bool { return s.MayOpen() && !now.Before(s.Terms.OpensAt) }

// Check notes what a preheat found that somebody asked for. One that the process
// makes by itself, a routine, is noted only where it changes whether the sale may be
// confirmed, so never of a sale that opens by itself; nil otherwise.
func (s Sale) Check(keys, differences int, by string, routine bool) Event {
	settled := s.Terms.AutoOpen || s.Closed || s.Checked == (differences == 0)
	if s.Cleaned || routine && settled {
		return nil
	}
	return &SaleChecked{SaleID: s.ID, Version: s.Version, Keys: keys, Differences: differences, By: by}
}

// Confirm lets the sale open; nil where nothing waits for that. Whether Checked
// holds its caller looks at.
func (s Sale) Confirm(note, by string) Event {
	if s.MayOpen() || s.Closed || s.Cleaned {
		return nil
	}
	return &SaleConfirmed{SaleID: s.ID, Version: s.Version, Note: note, By: by}
}

// Reasons for which a field of a sale keeps what it says.
const (
	settledReason = "is settled when the sale is scheduled"
	stockReason   = "is not changed here: release units instead"
	// A gate that holds a sale is not taken from it, nor given to it: what it had sold,
	// or what was sold beside it, it could not know.
	gatelessReason = "does not change from or to postgres: schedule another sale"
	openedReason   = "cannot change any more: the sale has opened"
)

// Revise decides on other terms for the sale. It gives the event, nil where
// nothing would change; or every field that may not change: what the stock is made
// of never does, and once the sale has opened only closes_at and texts do. So all
// purchases of a sale are judged by the same prices and limits. Whether the terms
// can be served is ValidateTerms'.
func (s Sale) Revise(terms SaleTerms, opened bool, by string) (Event, []FieldError) {
	all := changes(s.Terms, terms)
	var bad []FieldError
	for _, c := range all {
		switch {
		case c.kind == changeNever:
			bad = append(bad, FieldError{c.field, c.reason})
		case c.kind == changeBeforeOpening && opened:
			bad = append(bad, FieldError{c.field, openedReason})
		}
	}
	if len(bad) > 0 || len(all) == 0 {
		return nil, bad
	}
	return &SaleRevised{SaleID: s.ID, SaleTerms: terms, By: by}, nil
}

// Stops tells whether terms take away from what the sale's terms allow now, or
// change what purchases are judged by: then the gate is to know it before the log.
func (s Sale) Stops(terms SaleTerms) bool {
	return terms.ClosesAt.Before(s.Terms.ClosesAt) || !onlyTextsAndEnd(changes(s.Terms, terms))
}

// changeKind is until when a field may change.
type changeKind int

const (
	changeAlways changeKind = iota // texts and closes_at
	changeBeforeOpening
	changeNever
)

// change is a field that is not the same in two terms.
type change struct {
	field  string
	kind   changeKind
	reason string // of changeNever
}

func onlyTextsAndEnd(all []change) bool {
	return !slices.ContainsFunc(all, func(c change) bool { return c.kind != changeAlways })
}

// changes lists the fields in which two terms differ.
func changes(a, b SaleTerms) []change {
	var all []change
	differ := func(same bool, field string, kind changeKind, reason string) {
		if !same {
			all = append(all, change{field, kind, reason})
		}
	}
	differ(a.Title == b.Title, "title", changeAlways, "")
	differ(a.ClosesAt.Equal(b.ClosesAt), "closes_at", changeAlways, "")
	differ(a.OpensAt.Equal(b.OpensAt), "opens_at", changeBeforeOpening, "")
	differ(a.LimitPerBuyer == b.LimitPerBuyer, "limit_per_buyer", changeBeforeOpening, "")
	differ(a.OrdersPerBuyer == b.OrdersPerBuyer, "orders_per_buyer", changeBeforeOpening, "")
	differ(a.Rebuy == b.Rebuy, "rebuy", changeBeforeOpening, "")
	if a.Strategy.Gateless() != b.Strategy.Gateless() {
		all = append(all, change{"strategy", changeNever, gatelessReason})
	} else {
		differ(a.Strategy == b.Strategy, "strategy", changeBeforeOpening, "")
	}
	differ(a.Acknowledged() == b.Acknowledged(), "acknowledgement", changeBeforeOpening, "")
	differ(a.Tokens == b.Tokens, "tokens", changeBeforeOpening, "")
	differ(a.PaymentWindow == b.PaymentWindow, "payment_window", changeBeforeOpening, "")
	differ(slices.Equal(a.EligibleTiers, b.EligibleTiers), "eligible_tiers", changeBeforeOpening, "")
	differ(a.RequireTicket == b.RequireTicket, "require_ticket", changeBeforeOpening, "")
	differ(a.AutoOpen == b.AutoOpen, "auto_open", changeBeforeOpening, "")
	differ(a.Buckets == b.Buckets, "buckets", changeNever, settledReason)
	if !slices.EqualFunc(a.Items, b.Items, func(x, y ItemTerms) bool { return x.SKU == y.SKU }) {
		return append(all, change{"items", changeNever, settledReason})
	}
	for i := range a.Items {
		x, y := a.Items[i], b.Items[i]
		at := func(name string) string { return fmt.Sprintf("items[%d].%s", i, name) }
		differ(x.Title == y.Title, at("title"), changeAlways, "")
		differ(x.Price == y.Price, at("price"), changeBeforeOpening, "")
		differ(x.Overdraft == y.Overdraft, at("overdraft"), changeBeforeOpening, "")
		differ(x.Stock == y.Stock, at("stock"), changeNever, stockReason)
		differ(slices.EqualFunc(x.Release, y.Release, sameQuantity), at("release"), changeNever, settledReason)
		differ(len(x.Release) != len(y.Release) || slices.EqualFunc(x.Release, y.Release, sameTime), at("release"), changeBeforeOpening, "")
	}
	return all
}

func sameQuantity(a, b Tranche) bool { return a.Quantity == b.Quantity }

func sameTime(a, b Tranche) bool { return a.At.Equal(b.At) }

// SaysAsMuch tells whether a page says the same of both terms: title, times, limit,
// ticket, and of each item its title, price and releases. Who may buy, how often
// again, how long to pay and what serves the sale no page says.
func (t SaleTerms) SaysAsMuch(other SaleTerms) bool {
	return t.Title == other.Title && t.OpensAt.Equal(other.OpensAt) && t.ClosesAt.Equal(other.ClosesAt) &&
		t.LimitPerBuyer == other.LimitPerBuyer && t.RequireTicket == other.RequireTicket &&
		slices.EqualFunc(t.Items, other.Items, func(a, b ItemTerms) bool {
			return a.SKU == b.SKU && a.Title == b.Title && a.Price == b.Price &&
				slices.EqualFunc(a.Release, b.Release, sameTime) && slices.EqualFunc(a.Release, b.Release, sameQuantity)
		})
}
