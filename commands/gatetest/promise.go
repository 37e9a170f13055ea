package gatetest

import (
	"testing"

	"seckill/domain"
)

// testPromise offers a gate what it accepted before and forgot: the end of the sale,
// and who may buy now, do not take it away; everything else is judged as ever.
func testPromise(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(func(terms *domain.SaleTerms) { terms.LimitPerBuyer, terms.OrdersPerBuyer = 2, 2 }, 10)
	place := show.Place.Sale
	want := func(when, buyer string, limit, quantity int64, outcome domain.Outcome) {
		t.Helper()
		r := s.Ask(show, buyer, quantity)
		r.Promised, r.Eligible = limit, false
		if v := s.Reserve(r); v.Outcome != outcome {
			t.Fatalf("%s: got %s, want %s", when, v.Outcome, outcome)
		}
	}
	say := func(e domain.Event) { s.Say(show, e); s.Record(show); s.Catchup(show) }
	want("a promise", "a", 1, 1, domain.Reserved)
	want("a promise within the limit in force", "b", 1, 2, domain.Reserved)
	want("a promise beyond both limits", "c", 1, 3, domain.LimitExceeded)
	want("a promise within its own limit", "c", 3, 3, domain.Reserved)
	s.Buy(show, "d", domain.LimitExceeded, 3)
	say(&domain.SalePaused{SaleID: place, Reason: domain.PausedByOperator})
	want("a promise in a paused sale", "e", 1, 1, domain.Paused)
	say(&domain.SwitchFlipped{Name: domain.ForceEnded, SaleID: place, On: true, Reason: "a test"})
	s.Buy(show, "f", domain.Ended, 1)
	want("a promise of a sale that a switch ended", "f", 1, 1, domain.Reserved)
	say(&domain.SwitchFlipped{Name: domain.ForceEnded, SaleID: place, On: false, Reason: "a test"})
	say(&domain.SaleClosed{SaleID: place})
	want("a promise of a closed sale", "g", 1, 1, domain.Reserved)
	want("a promise beyond the stock", "h", 5, 3, domain.SoldOut)
	want("a promise of who has as many orders as he may", "g", 5, 1, domain.Reserved)
	want("a promise of who has as many orders as he may", "g", 5, 1, domain.Repeat)
	s.WantLeft(show, "A", 1)
	s.Record(show)
	s.WantLeft(show, "A", 1)
}
