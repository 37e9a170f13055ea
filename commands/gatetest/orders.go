package gatetest

import (
	"testing"

	"seckill/commands"
	"seckill/domain"
)

func (s *Stage) ref(r commands.Reservation) domain.OrderRef {
	s.tb.Helper()
	ref, err := domain.ParseOrderID(r.Order)
	if err != nil {
		s.tb.Fatalf("parse order id %q: %v", r.Order, err)
	}
	return ref
}

func (s *Stage) wantOrder(r commands.Reservation, want commands.GateOrderState) commands.GateOrder {
	s.tb.Helper()
	o, err := s.Subject.Order(s.ctx, s.ref(r))
	if err != nil || o.State != want {
		s.tb.Fatalf("look up order %s: got %+v, %v, want state %d", r.Order, o, err, want)
	}
	return o
}

func (s *Stage) wantResolve(r commands.Reservation, want commands.GateOrderState, epoch int64) commands.Resolution {
	s.tb.Helper()
	got, err := s.Resolve(s.ctx, s.ref(r), r.Buyer)
	if err != nil || got.State != want || got.Epoch != epoch {
		s.tb.Fatalf("resolve order %s: got %+v, %v, want state %d in epoch %d", r.Order, got, err, want, epoch)
	}
	return got
}

func testOrders(t *testing.T, maker Maker) {
	t.Run("looking an order up changes nothing", func(t *testing.T) { testLook(t, maker) })
	t.Run("a resolved order is never accepted later", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(nil, 5)
		r := s.Ask(show, "u", 1)
		s.wantResolve(r, commands.OrderTombstone, 1)
		if v := s.Reserve(r); v.Outcome != domain.Refused {
			t.Fatalf("a late purchase of a tombstone: got %s, want refused", v.Outcome)
		}
		s.WantLeft(show, "A", 5)
		s.Buy(show, "u", domain.Reserved, 1)
		s.Recover(show.Place.Lane())
		s.wantResolve(r, commands.OrderTombstone, 2)
		s.wantOrder(r, commands.OrderTombstone)
	})
	t.Run("an accepted order is resolved as accepted, with its entry", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(nil, 5)
		r := s.Ask(show, "u", 1)
		v := s.Reserve(r)
		if got := s.wantResolve(r, commands.OrderAccepted, 1); got.Entry != v.Entry {
			t.Fatalf("entry: got %s, want %s", got.Entry, v.Entry)
		}
		s.Record(show)
		s.Return(show, r)
		s.Catchup(show)
		s.wantResolve(r, commands.OrderEnded, 1)
	})
	t.Run("nothing is resolved where the gate cannot know", func(t *testing.T) { testUnresolved(t, maker) })
	t.Run("the log's word replaces a tombstone", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(nil, 5)
		r := s.Ask(show, "u", 1)
		s.wantResolve(r, commands.OrderTombstone, 1)
		s.decided[r.Order] = true
		s.Append(show, &domain.StockReserved{SaleID: show.Place.Sale, SKU: "A", OrderID: r.Order, BuyerID: "u", Quantity: 1, Entry: "1-1.1"})
		s.Catchup(show)
		s.wantOrder(r, commands.OrderAccepted)
		s.WantLeft(show, "A", 4)
	})
}

func testLook(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 5)
	r := s.Ask(show, "u", 1)
	if o := s.wantOrder(r, commands.OrderUnknown); o.OpenFor < 0 || o.Epoch != 1 {
		t.Fatalf("an unknown order: got %+v", o)
	}
	v := s.Reserve(r)
	if v.Outcome != domain.Reserved {
		t.Fatalf("after a look: got %s, want reserved", v.Outcome)
	}
	if o := s.wantOrder(r, commands.OrderAccepted); o.Buyer != "u" || o.Entry != v.Entry {
		t.Fatalf("an accepted order: got %+v, want buyer u and entry %s", o, v.Entry)
	}
	if _, err := s.CloseLane(s.ctx, show.Place.Lane(), 2); err != nil {
		t.Fatal(err)
	}
	if o := s.wantOrder(r, commands.OrderAccepted); o.OpenFor != 0 {
		t.Fatalf("an order in a closed lane: got %+v, want open for 0", o)
	}
	s.wantOrder(s.Ask(show, "v", 1), commands.OrderUnresolved)
}

func testUnresolved(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Schedule(nil, 5)
	r := s.Ask(show, "u", 1)
	s.wantResolve(r, commands.OrderUnresolved, 0)
	s.Recover(show.Place.Lane())
	if _, err := s.CloseLane(s.ctx, show.Place.Lane(), 2); err != nil {
		t.Fatal(err)
	}
	s.wantResolve(r, commands.OrderUnresolved, 2)
	s.Recover(show.Place.Lane())
	if v := s.Reserve(r); v.Outcome != domain.Reserved {
		t.Fatalf("an order that was not resolved: got %s, want reserved", v.Outcome)
	}
}
