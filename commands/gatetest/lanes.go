package gatetest

import (
	"testing"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

func testLanes(t *testing.T, maker Maker) {
	t.Run("epochs only rise", func(t *testing.T) { testEpochs(t, maker) })
	t.Run("a lane opens only where it was closed, on the server that was seen", func(t *testing.T) { testOpenLane(t, maker) })
	t.Run("stubs and openings belong to the recovery that closed the lane", func(t *testing.T) { testStubs(t, maker) })
	t.Run("a sale's record that starts again takes everything of the bucket with it", func(t *testing.T) { testStartAgain(t, maker) })
	t.Run("a lost sale's record makes every stock of it start again", func(t *testing.T) { testLostSale(t, maker) })
	t.Run("another process answers -1 until the lane was recovered, and nothing is sold twice", func(t *testing.T) {
		subject := maker(t)
		if subject.Failover == nil {
			t.Skip("this gate cannot change its process here")
		}
		s := NewStage(t, subject)
		show := s.Open(nil, 3)
		own := s.Buy(show, "u", domain.Reserved, 1)
		s.Failover(t)
		if l := s.lane(show.Place.Lane()); l.SameServer || l.Selling() || !l.Open {
			t.Fatalf("the lane after a failover: got %+v", l)
		}
		s.Buy(show, "v", domain.NotReady, 1)
		s.wantResolve(s.Ask(show, "v", 1), commands.OrderUnresolved, 1)
		if v := s.Reserve(own); v.Outcome != domain.SameOrder {
			t.Fatalf("the owner after a failover: got %s, want same_order", v.Outcome)
		}
		s.Recover(show.Place.Lane())
		s.WantLeft(show, "A", 2)
		s.Buy(show, "v", domain.Reserved, 1)
		s.Buy(show, "u", domain.Repeat, 1)
	})
}

func testEpochs(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 5)
	lane := show.Place.Lane()
	s.Buy(show, "u", domain.Reserved, 1)
	for _, lower := range []int64{0, 1} {
		l, err := s.CloseLane(s.ctx, lane, lower)
		if err != nil || !l.Open || l.Epoch != 1 || l.N != 1 {
			t.Fatalf("close an open lane of epoch 1 under %d: got %+v, %v, want no change", lower, l, err)
		}
	}
	l, err := s.CloseLane(s.ctx, lane, 5)
	if err != nil || l.Open || l.Epoch != 5 || l.N != 0 || l.Digest != domain.FirstDigest(lane, 5) || l.Last != (domain.EntryID{Epoch: 1, N: 1}) {
		t.Fatalf("close under 5: got %+v, %v", l, err)
	}
	if l, err = s.CloseLane(s.ctx, lane, 3); err != nil || l.Epoch != 5 {
		t.Fatalf("close under 3 after 5: got %+v, %v, want epoch 5", l, err)
	}
	s.Buy(show, "v", domain.NotReady, 1)
}

func testStubs(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Schedule(nil, 5, 5)
	lane, skus := show.Place.Lane(), show.Sale.SKUs()
	want := func(what string, want bool) func(bool, error) {
		return func(ok bool, err error) {
			t.Helper()
			if err != nil || ok != want {
				t.Fatalf("%s: got %t, %v, want %t", what, ok, err, want)
			}
		}
	}
	want("stubs without a lane", false)(s.Stubs(s.ctx, show.Place, skus, nil, 1))
	closed, err := s.CloseLane(s.ctx, lane, 1)
	if err != nil {
		t.Fatal(err)
	}
	want("stubs under another epoch", false)(s.Stubs(s.ctx, show.Place, skus, nil, 2))
	want("stubs", true)(s.Stubs(s.ctx, show.Place, skus, nil, 1))
	p := s.peek(show, skus...)
	if p.Sale.State != commands.HashStub || p.Stocks[0].State != commands.HashStub || p.Stocks[1].Applied != (eventstore.Mark{}) {
		t.Fatalf("stubs: got %+v", p)
	}
	s.Catchup(show)
	want("stubs again", true)(s.Stubs(s.ctx, show.Place, skus, []string{"B"}, 1))
	if p := s.peek(show, skus...); p.Stocks[0].Available != 5 || p.Stocks[1].Available != 0 || p.Stocks[1].State != commands.HashStub {
		t.Fatalf("a reset of B: got %+v, want A with its units and B without", p.Stocks)
	}
	want("opening before the head", false)(s.OpenHashes(s.ctx, show.Place, s.Marks(show, skus...), 1))
	s.Catchup(show)
	marks := s.Marks(show, skus...)
	want("opening under another epoch", false)(s.OpenHashes(s.ctx, show.Place, marks, 2))
	marks.Stocks[1] = stageMark("another history", marks.Stocks[1].Number, "")
	want("opening at another history", false)(s.OpenHashes(s.ctx, show.Place, marks, 1))
	want("opening", true)(s.OpenHashes(s.ctx, show.Place, s.Marks(show, skus...), 1))
	want("open the lane", true)(s.OpenLane(s.ctx, lane, 1, closed.Server))
	want("stubs in an open lane", false)(s.Stubs(s.ctx, show.Place, skus, skus, 1))
	want("opening in an open lane", false)(s.OpenHashes(s.ctx, show.Place, s.Marks(show, skus...), 1))
	s.Buy(show, "u", domain.Reserved, 1)
}

func testLostSale(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Schedule(nil, 5)
	lane := show.Place.Lane()
	s.Recover(lane)
	first := s.Buy(show, "u", domain.Reserved, 1)
	s.Recover(lane)
	s.Buy(show, "v", domain.Reserved, 1)
	// A second sale of the lane whose record never was there, but whose stock was.
	other := &Show{Place: show.Place, Sale: show.Sale, Mark: show.Mark}
	other.Place.Bucket = bucketOfLane(show.Place)
	if _, err := s.CloseLane(s.ctx, lane, 9); err != nil {
		t.Fatal(err)
	}
	if ok, err := s.Stubs(s.ctx, other.Place, []string{"A"}, []string{"A"}, 9); err != nil || !ok {
		t.Fatalf("stubs: %t, %v", ok, err)
	}
	p := s.peek(other, "A")
	if p.Sale.State != commands.HashStub || p.Stocks[0].State != commands.HashStub {
		t.Fatalf("a bucket that was missing: got %+v", p)
	}
	s.Recover(lane)
	s.WantLeft(show, "A", 3)
	s.wantOrder(first, commands.OrderAccepted)
}

// bucketOfLane finds another bucket of the sale in the same lane.
func bucketOfLane(p domain.Place) int {
	lane := p.Lane()
	for b := p.Bucket + 1; ; b++ {
		p.Bucket = b
		if p.Lane() == lane {
			return b
		}
	}
}

func testOpenLane(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Schedule(nil, 5)
	lane := show.Place.Lane()
	open := func(epoch int64, server string) bool {
		t.Helper()
		ok, err := s.OpenLane(s.ctx, lane, epoch, server)
		if err != nil {
			t.Fatalf("open lane: %v", err)
		}
		return ok
	}
	server := s.lane(lane).Server
	if server == "" {
		t.Fatal("the server has no name")
	}
	if open(1, server) {
		t.Fatal("a missing lane was opened")
	}
	if _, err := s.CloseLane(s.ctx, lane, 1); err != nil {
		t.Fatal(err)
	}
	if open(2, server) || open(1, "another server") || open(1, "") {
		t.Fatal("a lane was opened under another epoch or for another server")
	}
	if !open(1, server) || open(1, server) {
		t.Fatal("a closed lane must open once")
	}
	if l := s.lane(lane); !l.Selling() || l.OpenedAt.IsZero() || l.OpenedAt.After(l.Now) {
		t.Fatalf("an open lane: got %+v", l)
	}
}
