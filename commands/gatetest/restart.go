package gatetest

import (
	"context"
	"testing"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

func (o *both) StartAgain(ctx context.Context, place domain.Place, skus []string, epoch int64) (bool, error) {
	a, err1 := o.a.StartAgain(ctx, place, skus, epoch)
	b, err2 := o.b.StartAgain(ctx, place, skus, epoch)
	return agree(o, "start again", a, b, [2]error{err1, err2})
}

func testStartAgain(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Schedule(nil, 5, 5)
	lane, skus := show.Place.Lane(), show.Sale.SKUs()
	again := func(what string, epoch int64, want bool) {
		t.Helper()
		if ok, err := s.StartAgain(s.ctx, show.Place, skus, epoch); err != nil || ok != want {
			t.Fatalf("%s: got %t, %v, want %t", what, ok, err, want)
		}
	}
	again("without a lane", 1, false)
	s.Recover(lane)
	kept := s.Buy(show, "u", domain.Reserved, 1)
	again("in an open lane", 1, false)
	s.Recover(lane)
	state, err := s.Lane(s.ctx, lane)
	if err != nil {
		t.Fatal(err)
	}
	epoch := state.Epoch + 1
	if _, err := s.CloseLane(s.ctx, lane, epoch); err != nil {
		t.Fatal(err)
	}
	again("under another epoch", epoch-1, false)
	again("in the recovery that closed the lane", epoch, true)
	p := s.peek(show, skus...)
	if p.Sale.State != commands.HashStub || p.Sale.Applied != (eventstore.Mark{}) {
		t.Errorf("the sale's record: got %+v, want a stub at version 0", p.Sale)
	}
	for i, stock := range p.Stocks {
		if stock.State != commands.HashStub || stock.Applied != (eventstore.Mark{}) || stock.Available != 0 {
			t.Errorf("stock %s: got %+v, want a stub at version 0", skus[i], stock)
		}
	}
	page, err := s.ScanOrders(s.ctx, show.Place, "", 100)
	if err != nil || len(page.Orders)+len(page.Buyers) != 0 {
		t.Errorf("the record's orders: got %+v, %v, want none", page, err)
	}
	s.Recover(lane)
	s.WantLeft(show, "A", 4)
	s.wantOrder(kept, commands.OrderAccepted)
	s.Buy(show, "u", domain.Repeat, 1)
}
