package gatetest

import (
	"slices"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

func testConfirm(t *testing.T, maker Maker) {
	t.Run("a sale that waits for a confirmation sells nothing at its time, and sells once confirmed", func(t *testing.T) { testWaits(t, maker) })
	t.Run("a revision that moves the opening takes effect with its page, to and fro", func(t *testing.T) { testMovedOpening(t, maker) })
	t.Run("an inspection gives every value but those of buyers, which it counts", func(t *testing.T) { testInspect(t, maker) })
}

func testWaits(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	var opens time.Time
	show := s.Open(func(terms *domain.SaleTerms) {
		opens = terms.OpensAt
		terms.AutoOpen, terms.OpensAt = false, terms.OpensAt.Add(90*time.Minute)
	}, 5)
	terms := show.Sale.Terms
	s.Buy(show, "u", domain.TooEarly, 1)
	revise := func(change func(*domain.SaleTerms)) {
		change(&terms)
		s.Say(show, &domain.SaleRevised{SaleID: show.Place.Sale, SaleTerms: terms})
		s.Catchup(show)
	}
	revise(func(t *domain.SaleTerms) { t.OpensAt = opens })
	stranger := s.Ask(show, "u", 1)
	stranger.Eligible = false
	if v := s.Reserve(stranger); v.Outcome != domain.Paused {
		t.Fatalf("at its time, unconfirmed: got %s, want paused, before eligibility is looked at", v.Outcome)
	}
	s.WantLeft(show, "A", 5)
	s.Say(show, &domain.SaleConfirmed{SaleID: show.Place.Sale})
	s.Catchup(show)
	own := s.Buy(show, "u", domain.Reserved, 1)
	revise(func(t *domain.SaleTerms) { t.Title, t.ClosesAt = "another", t.ClosesAt.Add(time.Minute) })
	s.Buy(show, "v", domain.Reserved, 1)
	revise(func(t *domain.SaleTerms) { t.LimitPerBuyer = 2 })
	s.Buy(show, "w", domain.Paused, 1)
	if v := s.Reserve(own); v.Outcome != domain.SameOrder {
		t.Fatalf("the owner meanwhile: got %s, want same_order", v.Outcome)
	}
	revise(func(t *domain.SaleTerms) { t.ClosesAt = opens.Add(time.Second) })
	s.Buy(show, "w", domain.Ended, 1)
}

func testMovedOpening(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 5)
	terms := show.Sale.Terms
	opened, later := terms.OpensAt, terms.OpensAt.Add(90*time.Minute)
	for i, at := range []time.Time{later, opened, later, opened} {
		terms.OpensAt = at
		s.Say(show, &domain.SaleRevised{SaleID: show.Place.Sale, SaleTerms: terms})
		s.Record(show)
		s.Catchup(show)
		if at.Equal(opened) {
			s.Buy(show, buyer(i), domain.Reserved, 1)
			continue
		}
		v := s.Reserve(s.Ask(show, buyer(i), 1))
		if v.Outcome != domain.TooEarly || !v.OpensAt.Equal(later) {
			t.Fatalf("moved %d times: got %s with opens at %s, want too_early and %s", i+1, v.Outcome, v.OpensAt, later)
		}
	}
	s.WantLeft(show, "A", 3)
}

func testInspect(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Schedule(nil, 5, 7)
	inspect := func() commands.Inspection {
		t.Helper()
		seen, err := s.Inspect(s.ctx, show.Place, []string{"A", "B", "missing"})
		if err != nil {
			t.Fatalf("inspect: %v", err)
		}
		return seen
	}
	if seen := inspect(); seen.Sale.State != commands.HashMissing || seen.Fields[0].Value != "" || seen.OfBuyers != 0 {
		t.Fatalf("of a sale that the gate does not have: got %+v", seen)
	}
	s.Recover(show.Place.Lane())
	keyed := s.Ask(show, "u", 1)
	keyed.Key, keyed.BodyHash = "aa", "01"
	s.Reserve(keyed)
	s.Buy(show, "v", domain.Reserved, 0, 1)
	if err := s.Hold(s.ctx, show.Place, domain.Paused); err != nil {
		t.Fatalf("hold: %v", err)
	}
	seen := inspect()
	want, err := commands.SaleFields(show.Sale)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(seen.Fields, want) {
		t.Errorf("fields: got %+v, want %+v", seen.Fields, want)
	}
	if seen.OfBuyers != 5 || !slices.Equal(seen.Holds, []int64{1, 1, 0}) || seen.Hold != "-5" {
		t.Errorf("got %d fields of buyers, holds %v, hold %q; want 2 orders, 2 buyers and a key, 1 hold each, -5", seen.OfBuyers, seen.Holds, seen.Hold)
	}
	if seen.Stocks[0].Available != 4 || seen.Stocks[1].Available != 6 || seen.Stocks[2].State != commands.HashMissing {
		t.Errorf("stocks: got %+v", seen.Stocks)
	}
	var names []string
	for _, f := range seen.Fields {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, commands.SaleFieldNames()) {
		t.Errorf("names: got %v, want %v", names, commands.SaleFieldNames())
	}
}
