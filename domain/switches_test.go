package domain

import (
	"math"
	"testing"
	"time"
)

func switched(s Sale, name SwitchName, on, everywhere bool) Sale {
	return s.FoldSale(&SwitchFlipped{Name: name, On: on, Everywhere: everywhere, Reason: "a test"})
}

func TestASwitchIsOnWhileItsOwnOrTheOneEverywhereIs(t *testing.T) {
	var s Sale
	s = switched(s, PausePurchases, true, false)
	s = switched(s, PausePurchases, true, true)
	if s = switched(s, PausePurchases, false, true); !s.On(PausePurchases) || !s.Halted() {
		t.Error("off everywhere: the sale's own is gone too")
	}
	if s = switched(s, PausePurchases, false, false); s.On(PausePurchases) || s.Halted() || len(s.Switches) != 0 {
		t.Errorf("both off: got %v", s.Switches)
	}
	if s.Version != 4 {
		t.Errorf("got version %d, want 4", s.Version)
	}
}

func TestTurningWhatStandsSoIsNoEvent(t *testing.T) {
	on := SwitchFlipped{Name: ForceEnded, On: true, Reason: "a test"}
	off := SwitchFlipped{Name: ForceEnded, Reason: "a test"}
	s := Sale{ID: "28t5cy4t"}
	if s.Flip(off) != nil {
		t.Error("off although it was never on: want no event")
	}
	e, ok := s.Flip(on).(*SwitchFlipped)
	if !ok || e.SaleID != s.ID || !e.On {
		t.Fatalf("on: got %+v", e)
	}
	if s = s.FoldSale(e); s.Flip(on) != nil || s.Flip(off) == nil {
		t.Error("on: want no event to turn it on, and one to turn it off")
	}
	if s.Cleaned = true; s.Flip(off) != nil {
		t.Error("a sale that was cleaned up: want no event")
	}
}

func TestTurningOnWhatIsOnIsAnEventWhereWhoOrWhyIsAnother(t *testing.T) {
	s := Sale{ID: "28t5cy4t"}
	first := SwitchFlipped{Name: ForceEnded, On: true, By: "ann", Reason: "a wrong price"}
	s = s.FoldSale(s.Flip(first))
	if s.Flip(first) != nil {
		t.Error("the same again: want no event")
	}
	for _, next := range []SwitchFlipped{
		{Name: ForceEnded, On: true, By: "bob", Reason: "a wrong price"},
		{Name: ForceEnded, On: true, By: "bob", Reason: "a lawyer called"},
	} {
		e := s.Flip(next)
		if e == nil {
			t.Fatalf("by %s, %s: want an event", next.By, next.Reason)
		}
		s = s.FoldSale(e)
		want := SaleSwitch{Name: ForceEnded, By: next.By, Reason: next.Reason}
		if len(s.Switches) != 1 || s.Switches[0] != want {
			t.Errorf("got %+v, want %+v alone", s.Switches, want)
		}
	}
	everywhere := SwitchFlipped{Name: PausePurchases, On: true, Everywhere: true, By: "ann", Reason: "r"}
	s = s.FoldSale(s.Flip(everywhere))
	everywhere.Reason = "another"
	if s.Flip(everywhere) != nil {
		t.Error("on everywhere: want it said in the stream of switches alone")
	}
}

func TestASaleThatASwitchEndedIsNotOver(t *testing.T) {
	now := time.Date(2026, 11, 11, 1, 0, 0, 0, time.UTC)
	s := Sale{Terms: SaleTerms{OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour), AutoOpen: true}}
	s = switched(s, ForceEnded, true, false)
	if s.StateAt(now) != SaleStateEnded || !s.Ended() || s.Over(now) {
		t.Errorf("forced: state %s, ended %t, over %t; want ended, true, false", s.StateAt(now), s.Ended(), s.Over(now))
	}
	if s = switched(s, ForceEnded, false, false); s.StateAt(now) != SaleStateOpen || s.Over(now) {
		t.Errorf("off again: state %s, want open", s.StateAt(now))
	}
	if !s.Over(now.Add(time.Hour)) {
		t.Error("its window is over: want over")
	}
}

func TestALiftedLimitStillGivesAmountsThatCanBeCounted(t *testing.T) {
	for _, c := range []struct{ minor, want int64 }{
		{0, MaxQuantity}, {1990, MaxQuantity}, {math.MaxInt64 / 10, 10}, {math.MaxInt64, 3},
	} {
		s := Sale{Terms: SaleTerms{LimitPerBuyer: 3, Items: []ItemTerms{{SKU: "a", Price: Money{Minor: c.minor, Currency: "CNY"}}}}}
		if got := s.Judged().LimitPerBuyer; got != 3 {
			t.Errorf("not lifted: got %d, want 3", got)
		}
		if got := switched(s, SkipPurchaseLimit, true, false).Judged().LimitPerBuyer; got != c.want {
			t.Errorf("at a price of %d: got %d, want %d", c.minor, got, c.want)
		}
	}
}
