package domain

import (
	"errors"
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"
)

var testStock = StockKey{Sale: "28t5cy4t", SKU: "mug", Bucket: 3}

// stockOf gives a stock with these events behind it.
func stockOf(t *testing.T, events ...Event) *Stock {
	t.Helper()
	s := NewStock(testStock)
	for _, e := range events {
		if err := s.Fold(e); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestOnlyUnitsThatAreThereAreTaken(t *testing.T) {
	s := stockOf(t, &StockReleased{Quantity: 3})
	for _, c := range []struct {
		order    string
		quantity int64
		want     bool
		left     int64
	}{
		{"a", 0, false, 3}, {"a", -1, false, 3}, {"a", 4, false, 3}, {"a", 2, true, 1},
		{"a", 1, false, 1}, {"b", 2, false, 1}, {"b", 1, true, 0}, {"c", 1, false, 0},
	} {
		if got := s.Take(c.order, "buyer", c.quantity); got != c.want || s.Available != c.left {
			t.Errorf("take %d for %s: got %v and %d left; want %v and %d", c.quantity, c.order, got, s.Available, c.want, c.left)
		}
	}
}

// The heart of the healing between log and gate: each fold meets a gate that
// remembers the order, one that forgot it, or one that ended it.
func TestWhatTheGateKnowsIsNotCountedTwice(t *testing.T) {
	reserved := &StockReserved{OrderID: "a", BuyerID: "b", Quantity: 2}
	returned := &StockReturned{OrderID: "a", BuyerID: "b", Quantity: 2}
	refused := &StockRefused{OrderID: "a", BuyerID: "b", Quantity: 2}
	for name, c := range map[string]struct {
		taken  bool
		events []Event
		left   int64
		state  HoldState
	}{
		"recorded, and held by the gate":    {true, []Event{reserved}, 8, HoldTaken},
		"recorded, and forgotten":           {false, []Event{reserved}, 8, HoldTaken},
		"recorded twice":                    {false, []Event{reserved, reserved}, 8, HoldTaken},
		"returned":                          {true, []Event{reserved, returned}, 10, HoldReturned},
		"returned twice":                    {true, []Event{reserved, returned, returned}, 10, HoldReturned},
		"returned, then recorded again":     {true, []Event{reserved, returned, reserved}, 10, HoldReturned},
		"refused, and held by the gate":     {true, []Event{refused}, 10, HoldRefused},
		"refused, and forgotten":            {false, []Event{refused}, 10, HoldRefused},
		"refused twice":                     {true, []Event{refused, refused}, 10, HoldRefused},
		"a return of what was never taken":  {false, []Event{returned}, 10, HoldReturned},
		"recorded late, after it was ended": {false, []Event{refused, reserved}, 10, HoldRefused},
	} {
		t.Run(name, func(t *testing.T) {
			s := stockOf(t, &StockReleased{Quantity: 10})
			if c.taken && !s.Take("a", "b", 2) {
				t.Fatal("2 of 10 were not taken")
			}
			for _, e := range c.events {
				if err := s.Fold(e); err != nil {
					t.Fatal(err)
				}
			}
			h := s.Holds["a"]
			if s.Available != c.left || h != (Hold{c.state, "b", 2}) {
				t.Errorf("got %d left and %+v; want %d and state %d of 2 for b", s.Available, h, c.left, c.state)
			}
			if c.state != HoldTaken && s.Take("a", "b", 1) {
				t.Error("an order that ended was taken again")
			}
		})
	}
}

func TestWithdrawalsAndMovesTakeAndBringUnits(t *testing.T) {
	s := stockOf(t, &StockReleased{Quantity: 10}, &StockWithdrawn{WithdrawID: "w", Quantity: 3}, &StockWithdrawn{WithdrawID: "w", Quantity: 3},
		&StockMovedOut{MoveID: "m", Quantity: 4}, &StockMovedIn{MoveID: "n", Quantity: 1})
	if s.Available != 4 || s.Version != 5 {
		t.Errorf("got %d left at version %d; want 4 at 5", s.Available, s.Version)
	}
}

func TestAStockRefusesEventsOfOtherStreams(t *testing.T) {
	s := stockOf(t, &StockReleased{Quantity: 1})
	if err := s.Fold(&OrderPaid{}); !errors.Is(err, ErrUnknownEvent) || s.Version != 1 {
		t.Errorf("got %v at version %d; want %v and version 1", err, s.Version, ErrUnknownEvent)
	}
}

// anyStockEvent draws an event about one of a few ids, so that ids meet again.
func anyStockEvent(t *rapid.T) Event {
	id := fmt.Sprint("id-", rapid.IntRange(0, 5).Draw(t, "id"))
	n := rapid.Int64Range(1, 5).Draw(t, "quantity")
	switch rapid.IntRange(0, 6).Draw(t, "kind") {
	case 0:
		return &StockReleased{Quantity: n}
	case 1:
		return &StockMovedIn{MoveID: id, Quantity: n}
	case 2:
		return &StockWithdrawn{WithdrawID: "w" + id, Quantity: n}
	case 3:
		return &StockMovedOut{MoveID: "m" + id, Quantity: n}
	case 4:
		return &StockReturned{OrderID: id, BuyerID: "b", Quantity: n}
	case 5:
		return &StockRefused{OrderID: id, BuyerID: "b", Quantity: n}
	}
	return &StockReserved{OrderID: id, BuyerID: "b", Quantity: n}
}

// held sums the units of holds that are taken.
func held(s *Stock) (n int64) {
	for h := range maps.Values(s.Holds) {
		if h.State == HoldTaken {
			n += h.Quantity
		}
	}
	return n
}

func TestWhatIsLeftIsWhatWasReleasedMinusWhatIsHeld(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, released := NewStock(testStock), int64(0)
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "take") {
				before, n := s.Available, rapid.Int64Range(-1, 5).Draw(t, "n")
				ok := s.Take(fmt.Sprint("id-", rapid.IntRange(0, 5).Draw(t, "order")), "b", n)
				if ok && (n < 1 || s.Available != before-n || s.Available < 0) {
					t.Fatalf("took %d of %d, %d are left", n, before, s.Available)
				}
			} else {
				e := anyStockEvent(t)
				if err := s.Fold(e); err != nil {
					t.Fatal(err)
				}
				switch e := e.(type) {
				case *StockReleased:
					released += e.Quantity
				case *StockMovedIn:
					released += e.Quantity
				}
			}
			if got, want := s.Available, released-held(s); got != want {
				t.Fatalf("got %d left; want released %d - held %d = %d", got, released, held(s), want)
			}
		}
	})
}

// One log, two gates: one that took the units itself and one that starts from
// nothing. Once both have applied the log they agree.
func TestAGateThatForgotAgreesWithOneThatRemembers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := []Event{&StockReleased{Quantity: 20}}
		remembers, account := NewStock(testStock), Account{}
		if err := remembers.Fold(log[0]); err != nil {
			t.Fatal(err)
		}
		for i := range rapid.IntRange(0, 12).Draw(t, "orders") {
			order, n := fmt.Sprint("o-", i), rapid.Int64Range(1, 4).Draw(t, "units")
			if !remembers.Take(order, "b", n) {
				continue
			}
			switch rapid.IntRange(0, 2).Draw(t, "fate") {
			case 0:
				log = append(log, &StockReserved{OrderID: order, BuyerID: "b", Quantity: n})
			case 1:
				log = append(log, &StockReserved{OrderID: order, BuyerID: "b", Quantity: n}, &StockReturned{OrderID: order, BuyerID: "b", Quantity: n})
			case 2:
				log = append(log, &StockRefused{OrderID: order, BuyerID: "b", Quantity: n})
			}
		}
		forgot := NewStock(testStock)
		for i, e := range log {
			if err := forgot.Fold(e); err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				if err := remembers.Fold(e); err != nil {
					t.Fatal(err)
				}
			}
			if account = account.Fold(e); account.Left() < 0 {
				t.Fatalf("the account is below zero after %d events: %+v", i+1, account)
			}
		}
		if remembers.Available != forgot.Available || !maps.Equal(remembers.Holds, forgot.Holds) || forgot.Available != account.Left() {
			t.Fatalf("remembers %+v\nforgot    %+v\naccount   %+v", remembers, forgot, account)
		}
	})
}

func TestAnAccountCountsTotalsOnly(t *testing.T) {
	var a Account
	for i, c := range []struct {
		event Event
		want  Account
	}{
		{&StockReleased{Quantity: 10}, Account{1, 10, 0, 0}},
		{&StockMovedIn{Quantity: 5}, Account{2, 15, 0, 0}},
		{&StockReserved{Quantity: 4}, Account{3, 15, 4, 0}},
		{&StockWithdrawn{Quantity: 3}, Account{4, 15, 7, 0}},
		{&StockMovedOut{Quantity: 2}, Account{5, 15, 9, 0}},
		{&StockReturned{Quantity: 4}, Account{6, 15, 9, 4}},
		{&StockRefused{Quantity: 7}, Account{7, 15, 9, 4}},
	} {
		if a = a.Fold(c.event); a != c.want {
			t.Errorf("after event %d: got %+v; want %+v", i+1, a, c.want)
		}
	}
	if a.Left() != 10 {
		t.Errorf("left: got %d; want 10", a.Left())
	}
}
