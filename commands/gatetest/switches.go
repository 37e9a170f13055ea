package gatetest

import (
	"testing"

	"seckill/domain"
)

// testSwitches turns switches in a sale's stream and asks what the gate makes of
// them; an owner meets his order under each.
func testSwitches(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(func(terms *domain.SaleTerms) { terms.LimitPerBuyer, terms.OrdersPerBuyer = 2, 2 }, 100)
	flip := func(name domain.SwitchName, on bool) {
		s.Say(show, &domain.SwitchFlipped{Name: name, SaleID: show.Place.Sale, On: on, Reason: "a test"})
		s.Catchup(show)
	}
	s.Buy(show, "owner", domain.Reserved, 1)
	s.Buy(show, "owner", domain.Reserved, 1)
	for _, c := range []struct {
		name domain.SwitchName
		want domain.Outcome
	}{{domain.PausePurchases, domain.Paused}, {domain.ForceEnded, domain.Ended}} {
		flip(c.name, true)
		s.Buy(show, "u", c.want, 1)
		s.Buy(show, "owner", domain.Repeat, 1)
		flip(c.name, false)
	}
	s.Buy(show, "u", domain.LimitExceeded, 3)
	flip(domain.SkipPurchaseLimit, true)
	s.Buy(show, "u", domain.Reserved, 3)
	s.Buy(show, "u", domain.Reserved, 30)
	s.Buy(show, "u", domain.Repeat, 1)
	s.Buy(show, "v", domain.SoldOut, 100)
	flip(domain.SkipPurchaseLimit, false)
	s.Buy(show, "v", domain.LimitExceeded, 3)
	s.WantLeft(show, "A", 65)
}
