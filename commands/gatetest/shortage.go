package gatetest

import (
	"sync"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// SoldOut asks whether a purchase is sold out and fails the test on a fault.
func (s *Stage) SoldOut(r commands.Reservation) bool {
	s.tb.Helper()
	sold, err := s.Subject.SoldOut(s.ctx, r)
	if err != nil {
		s.tb.Fatalf("look whether %+v is sold out: %v", r, err)
	}
	if sold.Sold && (sold.Moment.At.IsZero() || sold.Moment.Epoch < 1 || sold.Moment.Next < 1 || len(r.Lines) == 1 && (sold.Left < 0 || sold.Left >= r.Lines[0].Quantity)) {
		s.tb.Fatalf("%+v is sold out as of %+v; want when, where the journal stood, and that fewer units were left", r, sold)
	}
	return sold.Sold
}

// wantSoldOut wants a look to say whether a purchase is sold out.
func (s *Stage) wantSoldOut(what string, r commands.Reservation, want bool) {
	s.tb.Helper()
	if got := s.SoldOut(r); got != want {
		s.tb.Fatalf("%s: sold out is %t, want %t", what, got, want)
	}
}

func testShortages(t *testing.T, maker Maker) {
	t.Run("who has no order in a sold-out sale is told so, and everybody else is left to the gate", func(t *testing.T) { testWhoIsShort(t, maker) })
	t.Run("a sale that does not sell now is never sold out", func(t *testing.T) { testShortNow(t, maker) })
	t.Run("B09 a unit that came back ends it at once", func(t *testing.T) { testShortEnds(t, maker) })
	t.Run("a crowd of two sales of a lane shares calls, and each is told of the own sale", func(t *testing.T) { testShortCrowd(t, maker) })
	t.Run("the clock is that of the verdicts", func(t *testing.T) {
		s := NewStage(t, maker(t))
		before, err := s.Time(s.ctx)
		if err != nil {
			t.Fatal(err)
		}
		between := s.lane(0).Now
		after, err := s.Time(s.ctx)
		if err != nil || between.Before(before) || after.Before(between) {
			t.Fatalf("got %s, then %s, then %s, %v; want them in order", before, between, after, err)
		}
	})
}

func testWhoIsShort(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(func(terms *domain.SaleTerms) { terms.LimitPerBuyer = 5 }, 3, 9)
	s.wantSoldOut("units are left", s.Ask(show, "v", 1), false)
	keyed := s.Ask(show, "u", 2)
	keyed.Key, keyed.BodyHash = "0a", "0b"
	if v := s.Reserve(keyed); v.Outcome != domain.Reserved {
		t.Fatalf("got %s, want reserved", v.Outcome)
	}
	s.wantSoldOut("the last unit", s.Ask(show, "v", 1), false)
	s.wantSoldOut("more than is left", s.Ask(show, "v", 2), true)
	s.wantSoldOut("one line of two is short", s.Ask(show, "v", 2, 1), true)
	s.wantSoldOut("the other item", s.Ask(show, "v", 0, 1), false)
	s.wantSoldOut("more than the limit", s.Ask(show, "v", 6), false)
	s.wantSoldOut("who has an order", s.Ask(show, "u", 2), false)
	stranger := s.Ask(show, "v", 2)
	stranger.Key, stranger.BodyHash = "0c", "0b"
	s.wantSoldOut("a key that is not known", stranger, true)
	stranger.Key = keyed.Key
	s.wantSoldOut("a key that is known", stranger, false)
	ticket := s.Ask(show, "v", 2)
	ticket.Ticket = "aa"
	s.wantSoldOut("a ticket that is good", ticket, true)
	used := s.Ask(show, "w", 1)
	used.Ticket = "aa"
	if v := s.Reserve(used); v.Outcome != domain.Reserved {
		t.Fatalf("got %s, want reserved", v.Outcome)
	}
	s.wantSoldOut("a ticket that is used up", ticket, false)
	s.WantLeft(show, "A", 0)
}

func testShortNow(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 0)
	r := s.Ask(show, "v", 1)
	s.wantSoldOut("an open sale without units", r, true)
	closed, err := s.CloseLane(s.ctx, show.Place.Lane(), 2)
	if err != nil {
		t.Fatal(err)
	}
	s.wantSoldOut("a closed lane", r, false)
	if ok, err := s.OpenLane(s.ctx, show.Place.Lane(), 2, closed.Server); err != nil || !ok {
		t.Fatalf("open the lane: %t, %v", ok, err)
	}
	s.wantSoldOut("the lane is open again", r, true)
	if err := s.Hold(s.ctx, show.Place, domain.Paused); err != nil {
		t.Fatal(err)
	}
	s.wantSoldOut("a sale that is held", r, false)
	s.Say(show, &domain.SalePaused{SaleID: show.Place.Sale, Reason: domain.PausedByOperator})
	s.Record(show)
	s.Catchup(show)
	s.wantSoldOut("a paused sale", r, false)
	s.Say(show, &domain.SaleResumed{SaleID: show.Place.Sale, Reason: domain.PausedByOperator})
	s.Catchup(show)
	s.wantSoldOut("the sale goes on", r, true)
	s.Say(show, &domain.SaleClosed{SaleID: show.Place.Sale})
	s.Catchup(show)
	s.wantSoldOut("a closed sale", r, false)
	early := s.Open(func(terms *domain.SaleTerms) { terms.OpensAt = terms.ClosesAt.Add(-time.Minute) }, 0)
	s.wantSoldOut("a sale that opens later", s.Ask(early, "v", 1), false)
	over := s.Open(func(terms *domain.SaleTerms) { terms.ClosesAt = terms.OpensAt.Add(time.Minute) }, 0)
	s.wantSoldOut("a sale that is over", s.Ask(over, "v", 1), false)
	nowhere := s.Schedule(nil, 0)
	s.wantSoldOut("a sale that the gate does not hold", s.Ask(nowhere, "v", 1), false)
}

func testShortEnds(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 1)
	first := s.Buy(show, "u", domain.Reserved, 1)
	s.wantSoldOut("the only unit is sold", s.Ask(show, "v", 1), true)
	s.Record(show)
	s.Return(show, first)
	s.Catchup(show)
	s.wantSoldOut("the unit is back", s.Ask(show, "v", 1), false)
	s.Buy(show, "v", domain.Reserved, 1)
	s.wantSoldOut("it is sold again", s.Ask(show, "w", 1), true)
	s.wantSoldOut("who gave it back", s.Ask(show, "u", 1), false)
}

func testShortCrowd(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 0)
	other := s.inLaneOf(show, 0)
	asks := make([]commands.Reservation, 40)
	for i := range asks {
		asks[i] = s.Ask([]*Show{show, other}[i%2], buyer(i), 1)
	}
	look := func(want func(i int) bool) {
		t.Helper()
		var all sync.WaitGroup
		for i, r := range asks {
			all.Go(func() {
				sold, err := s.Subject.SoldOut(s.ctx, r)
				if err != nil || sold.Sold != want(i) {
					t.Errorf("look %d: got %t, %v; want %t", i, sold.Sold, err, want(i))
				}
			})
		}
		all.Wait()
	}
	for round := range 5 {
		look(func(int) bool { return true })
		s.Append(show, &domain.StockReleased{SaleID: show.Place.Sale, SKU: "A", Quantity: 1})
		s.Catchup(show)
		look(func(i int) bool { return i%2 == 1 })
		s.Buy(show, buyer(100+round), domain.Reserved, 1)
		s.Record(show)
	}
}
