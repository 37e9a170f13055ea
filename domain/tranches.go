package domain

import "time"

// MaxTranches bounds the later parts of an item's stock.
const MaxTranches = 100

// Planned is a later part of an item's stock. Number counts the item's parts from 1.
type Planned struct {
	SKU    string
	Number int
	Tranche
}

// Planned lists every part of the stock that is released later, item by item, each in
// the order of their times.
func (s Sale) Planned() []Planned {
	var all []Planned
	for _, item := range s.Terms.Items {
		for i, tranche := range item.Release {
			all = append(all, Planned{SKU: item.SKU, Number: i + 1, Tranche: tranche})
		}
	}
	return all
}

// Releases tells whether a part of the plan is to be released at a time: its time has
// come, the sale has opened, and is not over. A pause does not keep it back: units
// that nobody can buy yet are sold to nobody.
func (s Sale) Releases(p Planned, now time.Time) bool {
	return !now.Before(p.At) && s.OpenAt(now) && !s.Over(now)
}

// NextRelease gives when the plan puts more of an item on sale after a time; ok is
// false when it never does.
func (s Sale) NextRelease(sku string, now time.Time) (at time.Time, ok bool) {
	item, _ := s.Item(sku)
	for _, t := range item.Release {
		if t.At.After(now) && !s.Over(t.At) {
			return t.At, true
		}
	}
	return time.Time{}, false
}

// LaterUnits gives how many units of an item the plan releases after a time.
func (s Sale) LaterUnits(sku string, now time.Time) int64 {
	item, _ := s.Item(sku)
	var units int64
	for _, t := range item.Release {
		if t.At.After(now) {
			units += t.Quantity
		}
	}
	return units
}

// Reasons for which a plan cannot be kept.
const (
	badTranche      = "each tranche needs a time and a quantity of at least 1"
	earlyTranche    = "a tranche before opens_at is part of the first stock"
	lateTranche     = "a tranche after closes_at would never be sold"
	unorderedPlan   = "the tranches come one after another, each at its own time"
	tooManyTranches = "want at most 100 tranches"
	tooMuchLater    = "the tranches hold more units than the stock"
)

// validateRelease gives what is wrong with an item's plan, each fault once.
func validateRelease(t SaleTerms, item ItemTerms, at func(string) string) []FieldError {
	var bad []FieldError
	seen := map[string]bool{}
	wrong := func(is bool, reason string) {
		if is && !seen[reason] {
			seen[reason] = true
			bad = append(bad, FieldError{at("release"), reason})
		}
	}
	left := max(item.Stock, 0) // a stock below zero has its own complaint
	var last time.Time
	wrong(len(item.Release) > MaxTranches, tooManyTranches)
	for _, tranche := range item.Release {
		if tranche.Quantity < 1 || tranche.Quantity > MaxQuantity || tranche.At.IsZero() || !storable(tranche.At) {
			wrong(true, badTranche)
			continue
		}
		wrong(tranche.At.Before(t.OpensAt), earlyTranche)
		wrong(!tranche.At.Before(t.ClosesAt), lateTranche)
		wrong(!tranche.At.After(last), unorderedPlan)
		last = tranche.At
		left -= tranche.Quantity
	}
	wrong(left < 0, tooMuchLater)
	return bad
}
