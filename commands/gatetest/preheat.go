package gatetest

import (
	"testing"

	"seckill/commands"
	"seckill/domain"
)

func testPreheat(t *testing.T, maker Maker) {
	t.Run("B25 a second preheat never overwrites live stock", func(t *testing.T) {
		s := NewStage(t, maker(t))
		s.Open(nil, 1)
		show := s.Open(nil, 100)
		for i := range 30 {
			s.Buy(show, buyer(i), domain.Reserved, 1)
		}
		epoch := s.lane(show.Place.Lane()).Epoch
		start, err := s.NewSale(s.ctx, show.Place, []string{"A"}, epoch, "second")
		if err != nil || start.OK {
			t.Fatalf("a second preheat: got %+v, %v, want a refusal", start, err)
		}
		s.WantLeft(show, "A", 70)
		s.Recover(show.Place.Lane())
		if start, err := s.NewSale(s.ctx, show.Place, []string{"A"}, epoch+1, "third"); err != nil || start.OK {
			t.Fatalf("a preheat after a recovery: got %+v, %v, want a refusal", start, err)
		}
		s.WantLeft(show, "A", 70)
	})
	t.Run("one item is built again while the lane sells", func(t *testing.T) { testReset(t, maker) })
	t.Run("a stub opens only for its own token, epoch and head", func(t *testing.T) { testToken(t, maker) })
	t.Run("a preheat begins only in a lane that sells under the epoch", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Schedule(nil, 5)
		want := func(when string, epoch int64, want bool) {
			t.Helper()
			start, err := s.NewSale(s.ctx, show.Place, []string{"A"}, epoch, "token")
			if err != nil || start.OK != want {
				t.Fatalf("%s: got %+v, %v, want %t", when, start, err, want)
			}
		}
		want("without a lane", 0, false)
		closed, err := s.CloseLane(s.ctx, show.Place.Lane(), 1)
		if err != nil {
			t.Fatal(err)
		}
		want("in a closed lane", 1, false)
		if _, err := s.OpenLane(s.ctx, show.Place.Lane(), 1, closed.Server); err != nil {
			t.Fatal(err)
		}
		want("under another epoch", 2, false)
		want("in an open lane", 1, true)
		want("again with the same token", 1, true)
		if start, err := s.NewSale(s.ctx, show.Place, []string{"A"}, 1, "other"); err != nil || start.OK {
			t.Fatalf("again with another token: got %+v, %v", start, err)
		}
		if start, err := s.ResetStock(s.ctx, show.Place, "A", 1, "other"); err != nil || start.OK {
			t.Fatalf("reset an item of a stub: got %+v, %v", start, err)
		}
	})
}

func testReset(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(func(terms *domain.SaleTerms) { terms.LimitPerBuyer, terms.OrdersPerBuyer = 2, 3 }, 5, 5)
	own := s.Buy(show, "u", domain.Reserved, 1, 1)
	start, err := s.ResetStock(s.ctx, show.Place, "A", 1, "token")
	if err != nil || !start.OK || start.Epoch != 1 || start.N != 1 {
		t.Fatalf("reset: got %+v, %v", start, err)
	}
	p := s.peek(show, "A", "B")
	if p.Stocks[0].State != commands.HashStub || p.Stocks[0].Token != "token" || p.Stocks[0].Available != 0 || p.Stocks[1].Available != 4 {
		t.Fatalf("after a reset of A: got %+v", p.Stocks)
	}
	s.Buy(show, "v", domain.NotReady, 1)
	s.Buy(show, "v", domain.NotReady, 0, 1) // the limit counts over all items
	if v := s.Reserve(own); v.Outcome != domain.SameOrder {
		t.Fatalf("the owner meanwhile: got %s, want same_order", v.Outcome)
	}
	s.Record(show)
	s.Catchup(show)
	s.WantLeft(show, "A", 4)
	if ok, err := s.OpenPreheated(s.ctx, show.Place, s.Marks(show, "A"), 1, "token"); err != nil || !ok {
		t.Fatalf("open: got %t, %v", ok, err)
	}
	s.Buy(show, "v", domain.Reserved, 1)
	s.Buy(show, "u", domain.LimitExceeded, 1)
	s.WantLeft(show, "A", 3)
}

func testToken(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 5)
	open := func(marks commands.HashMarks, epoch int64, token string) bool {
		t.Helper()
		ok, err := s.OpenPreheated(s.ctx, show.Place, marks, epoch, token)
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		return ok
	}
	for _, token := range []string{"first", "second"} {
		if start, err := s.ResetStock(s.ctx, show.Place, "A", 1, token); err != nil || !start.OK {
			t.Fatalf("reset: got %+v, %v", start, err)
		}
	}
	head := s.Marks(show, "A")
	if open(head, 1, "second") {
		t.Fatal("a stub opened before it stood at the head")
	}
	s.Catchup(show)
	if open(head, 1, "first") || open(head, 2, "second") {
		t.Fatal("a stub opened for another token or epoch")
	}
	otherSale := head
	otherSale.Sale = stageMark("another history", 1, "")
	if !open(otherSale, 1, "second") {
		t.Fatal("an open sale's record stays as it is, whatever its mark")
	}
	if open(head, 1, "second") {
		t.Fatal("an open hash was opened again")
	}
	s.Buy(show, "u", domain.Reserved, 1)
}
