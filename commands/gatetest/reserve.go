package gatetest

import (
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

func testReserve(t *testing.T, maker Maker) {
	t.Run("B08 a repeated click takes one unit and meets the first order", func(t *testing.T) { testRepeat(t, maker) })
	t.Run("B11 the limit counts units, not requests", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(func(terms *domain.SaleTerms) { terms.LimitPerBuyer, terms.OrdersPerBuyer = 2, 3 }, 10)
		s.Buy(show, "u", domain.LimitExceeded, 3)
		s.WantLeft(show, "A", 10)
		s.Buy(show, "u", domain.Reserved, 2)
		s.Buy(show, "u", domain.LimitExceeded, 1)
		s.WantLeft(show, "A", 8)
	})
	t.Run("the limit counts over all items of the sale", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(func(terms *domain.SaleTerms) { terms.LimitPerBuyer, terms.OrdersPerBuyer = 3, 5 }, 10, 10)
		s.Buy(show, "u", domain.Reserved, 2, 0)
		s.Buy(show, "u", domain.LimitExceeded, 0, 2)
		s.Buy(show, "u", domain.Reserved, 0, 1)
		s.Buy(show, "u", domain.LimitExceeded, 1, 0)
	})
	t.Run("B12 quantities outside the bounds never reach the stock", func(t *testing.T) { testQuantities(t, maker) })
	t.Run("B04 a purchase is all or nothing, and names an item once", func(t *testing.T) { testWhole(t, maker) })
	t.Run("B18 the same order again meets its first answer and takes nothing", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(nil, 10)
		r := s.Ask(show, "u", 1)
		first := s.Reserve(r)
		again := s.Reserve(r)
		if again.Outcome != domain.SameOrder || again.Order != r.Order || again.Entry != first.Entry {
			t.Fatalf("got %+v, want the same order with entry %s", again, first.Entry)
		}
		s.WantLeft(show, "A", 9)
	})
	t.Run("an idempotency key meets its order, and another body is a mismatch", func(t *testing.T) { testKeys(t, maker) })
	t.Run("answers keep their order of precedence", func(t *testing.T) { testPrecedence(t, maker) })
	t.Run("a promise that the gate forgot outlives its sale", func(t *testing.T) { testPromise(t, maker) })
	t.Run("opening is judged by the gate's clock", func(t *testing.T) { testOpening(t, maker) })
	t.Run("a buyer whose order ended may buy again only where the sale says so", func(t *testing.T) { testRebuy(t, maker) })
	t.Run("a gate that holds nothing answers not ready", func(t *testing.T) { testEmpty(t, maker) })
}

func buyer(i int) string { return "buyer" + string(rune('a'+i/26)) + string(rune('a'+i%26)) }

// wantNothing asks for what no gate may judge.
func wantNothing(t *testing.T, s *Stage, r commands.Reservation) {
	t.Helper()
	v, err := s.Subject.Reserve(s.ctx, r)
	if err == nil || commands.IsUnknown(err) {
		t.Fatalf("reserve %+v: got %+v, %v, want an error that nothing happened", r.Lines, v, err)
	}
}

func testQuantities(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(func(terms *domain.SaleTerms) { terms.LimitPerBuyer = domain.MaxQuantity }, 10)
	for _, q := range []int64{-1, 0, 1 << 31, 1<<53 + 1, 1<<63 - 1, -1 << 63} {
		r := s.Ask(show, "u", 1)
		r.Lines[0].Quantity = q
		wantNothing(t, s, r)
	}
	r := s.Ask(show, "u", 1)
	r.Lines = nil
	wantNothing(t, s, r)
	s.Buy(show, "u", domain.SoldOut, domain.MaxQuantity)
	s.WantLeft(show, "A", 10)
	if entries := s.journal(show.Place.Lane()); len(entries) != 0 {
		t.Fatalf("the journal holds %d entries, want none", len(entries))
	}
	big := s.Open(func(terms *domain.SaleTerms) { terms.LimitPerBuyer, terms.OrdersPerBuyer = domain.MaxQuantity, 5 }, domain.MaxQuantity)
	s.Buy(big, "u", domain.Reserved, domain.MaxQuantity-1)
	s.Buy(big, "u", domain.LimitExceeded, 2)
	s.Buy(big, "u", domain.Reserved, 1)
	s.WantLeft(big, "A", 0)
}

func testKeys(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(func(terms *domain.SaleTerms) { terms.LimitPerBuyer, terms.OrdersPerBuyer = 5, 5 }, 2)
	keyed := func(buyer, key, body string) commands.Reservation {
		r := s.Ask(show, buyer, 1)
		r.Key, r.BodyHash = key, body
		return r
	}
	first := keyed("u", "aa", "01")
	if v := s.Reserve(first); v.Outcome != domain.Reserved {
		t.Fatalf("first use of a key: got %s", v.Outcome)
	}
	if v := s.Reserve(keyed("u", "aa", "01")); v.Outcome != domain.SameOrder || v.Order != first.Order {
		t.Fatalf("same key and body: got %+v, want same order %s", v, first.Order)
	}
	if v := s.Reserve(keyed("u", "aa", "02")); v.Outcome != domain.KeyMismatch || v.Order != first.Order {
		t.Fatalf("same key, other body: got %+v, want a mismatch with %s", v, first.Order)
	}
	s.Reserve(keyed("v", "bb", "01"))
	if v := s.Reserve(keyed("w", "cc", "01")); v.Outcome != domain.SoldOut {
		t.Fatalf("third unit of two: got %s", v.Outcome)
	}
	s.Append(show, &domain.StockReleased{SaleID: show.Place.Sale, SKU: "A", Quantity: 1})
	s.Record(show)
	s.Catchup(show)
	if v := s.Reserve(keyed("w", "cc", "02")); v.Outcome != domain.Reserved {
		t.Fatalf("a key is remembered only with an accepted purchase: got %s", v.Outcome)
	}
}

func testPrecedence(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 2)
	own := s.Buy(show, "u", domain.Reserved, 1)
	closed, err := s.CloseLane(s.ctx, show.Place.Lane(), 2)
	if err != nil {
		t.Fatal(err)
	}
	want := func(when string, r commands.Reservation, outcome domain.Outcome) {
		t.Helper()
		if v := s.Reserve(r); v.Outcome != outcome {
			t.Fatalf("%s: got %s, want %s", when, v.Outcome, outcome)
		}
	}
	want("the own order while the lane is closed", own, domain.SameOrder)
	want("a repeat while the lane is closed", s.Ask(show, "u", 1), domain.Repeat)
	want("somebody else while the lane is closed", s.Ask(show, "v", 1), domain.NotReady)
	if ok, err := s.OpenLane(s.ctx, show.Place.Lane(), 2, closed.Server); err != nil || !ok {
		t.Fatalf("open the lane: %t, %v", ok, err)
	}
	stranger := s.Ask(show, "v", 5)
	stranger.Eligible = false
	want("a buyer who is not eligible", stranger, domain.NotEligible)
	s.Say(show, &domain.SalePaused{SaleID: show.Place.Sale, Reason: domain.PausedByOperator})
	s.Record(show)
	s.Catchup(show)
	want("a paused sale", stranger, domain.Paused)
	want("a repeat in a paused sale", s.Ask(show, "u", 1), domain.Repeat)
	s.Say(show, &domain.SaleClosed{SaleID: show.Place.Sale})
	s.Catchup(show)
	want("a closed sale", stranger, domain.Ended)
	want("a repeat after the end", s.Ask(show, "u", 1), domain.Repeat)
	want("the own order after the end", own, domain.SameOrder)
}

func testOpening(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(func(terms *domain.SaleTerms) {
		terms.OpensAt = terms.OpensAt.Add(time.Hour + 300*time.Millisecond)
		terms.ClosesAt = terms.OpensAt.Add(300 * time.Millisecond)
		terms.LimitPerBuyer, terms.OrdersPerBuyer = 1000_000, 1000
	}, 1000_000)
	opens, closes := show.Sale.Terms.OpensAt, show.Sale.Terms.ClosesAt
	seen := map[domain.Outcome]int{}
	for deadline := time.Now().Add(20 * time.Second); seen[domain.Ended] == 0; {
		if time.Now().After(deadline) {
			t.Fatalf("the sale never ended: %v", seen)
		}
		v := s.Reserve(s.Ask(show, buyer(seen[domain.Reserved]%600), 1))
		want := domain.Reserved
		switch {
		case v.Now.Before(opens):
			want = domain.TooEarly
			if !v.OpensAt.Equal(opens.Truncate(time.Microsecond)) {
				t.Fatalf("too early: got opens at %s, want %s", v.OpensAt, opens)
			}
		case !v.Now.Before(closes):
			want = domain.Ended
		}
		if v.Outcome != want {
			t.Fatalf("at %s: got %s, want %s (opens %s, closes %s)", v.Now, v.Outcome, want, opens, closes)
		}
		seen[v.Outcome]++
	}
	if seen[domain.TooEarly] == 0 || seen[domain.Reserved] == 0 {
		t.Fatalf("saw only %v", seen)
	}
}

func testRebuy(t *testing.T, maker Maker) {
	for _, rebuy := range []bool{false, true} {
		s := NewStage(t, maker(t))
		show := s.Open(func(terms *domain.SaleTerms) { terms.Rebuy, terms.OrdersPerBuyer = rebuy, 2 }, 3)
		first := s.Buy(show, "u", domain.Reserved, 1)
		s.Record(show)
		s.Return(show, first)
		s.Catchup(show)
		s.WantLeft(show, "A", 3)
		v := s.Reserve(s.Ask(show, "u", 1))
		if rebuy && v.Outcome != domain.Reserved {
			t.Fatalf("with rebuy: got %s, want reserved", v.Outcome)
		}
		if !rebuy && (v.Outcome != domain.Repeat || v.Order != first.Order) {
			t.Fatalf("without rebuy: got %+v, want a repeat of %s", v, first.Order)
		}
	}
}

func testRepeat(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 10)
	first := s.Buy(show, "u", domain.Reserved, 1)
	for range 99 {
		v := s.Reserve(s.Ask(show, "u", 1))
		if v.Outcome != domain.Repeat || v.Order != first.Order {
			t.Fatalf("got %s of order %q, want repeat of %q", v.Outcome, v.Order, first.Order)
		}
	}
	s.WantLeft(show, "A", 9)
	for i := range 9 {
		s.Buy(show, buyer(i), domain.Reserved, 1)
	}
	s.Buy(show, "late", domain.SoldOut, 1)
	s.WantLeft(show, "A", 0)
}

func testWhole(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(func(terms *domain.SaleTerms) { terms.LimitPerBuyer = 100 }, 5, 2)
	s.Buy(show, "u", domain.SoldOut, 3, 3)
	s.WantLeft(show, "A", 5)
	s.WantLeft(show, "B", 2)
	twice := s.Ask(show, "u", 3)
	twice.Lines = append(twice.Lines, twice.Lines[0])
	wantNothing(t, s, twice)
	s.Buy(show, "u", domain.Reserved, 3, 2)
	s.WantLeft(show, "A", 2)
	s.WantLeft(show, "B", 0)
}

func testEmpty(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Schedule(nil, 10)
	s.Buy(show, "u", domain.NotReady, 1)
	s.Recover(show.Place.Lane())
	other := s.Schedule(nil, 10)
	s.Buy(other, "u", domain.NotReady, 1)
	r := s.Ask(show, "u", 1)
	r.Items = append(r.Items, "missing")
	if v := s.Reserve(r); v.Outcome != domain.NotReady {
		t.Fatalf("purchase in a sale with a missing item: got %s, want not_ready", v.Outcome)
	}
	s.Buy(show, "u", domain.Reserved, 1)
}
