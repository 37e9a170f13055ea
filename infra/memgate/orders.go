package memgate

import (
	"context"
	"fmt"

	"seckill/commands"
	"seckill/domain"
)

// Resolve finds out what became of an order: see commands.Gate.
func (g *Gate) Resolve(_ context.Context, ref domain.OrderRef, buyer string) (commands.Resolution, error) {
	if !commands.PlainID(ref.ID) || !domain.ValidBuyer(buyer) {
		return commands.Resolution{}, nothing(fmt.Errorf("resolve order %q of buyer %q: not ids of ours", ref.ID, buyer))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.laneOf(ref.Place)
	s := l.sales[ref.Place]
	if !g.selling(l) || !s.isOpen() {
		return commands.Resolution{Epoch: l.epoch}, nil
	}
	o, ok := s.orders[ref.ID]
	if !ok {
		o = order{state: commands.OrderTombstone, buyer: buyer}
		s.orders[ref.ID] = o
	}
	return commands.Resolution{State: o.state, Epoch: l.epoch, Entry: o.entry}, nil
}

// Order looks an order up: see commands.Gate.
func (g *Gate) Order(_ context.Context, ref domain.OrderRef) (commands.GateOrder, error) {
	if !commands.PlainID(ref.ID) {
		return commands.GateOrder{}, nothing(fmt.Errorf("look up order %q: not an id of ours", ref.ID))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.laneOf(ref.Place)
	s := l.sales[ref.Place]
	answer := commands.GateOrder{Epoch: l.epoch}
	if g.selling(l) {
		answer.OpenFor = max(0, g.now().Sub(l.openedAt))
	}
	if !s.isOpen() {
		return answer, nil
	}
	if o, ok := s.orders[ref.ID]; ok {
		answer.State, answer.Buyer, answer.Entry = o.state, o.buyer, o.entry
	} else if g.selling(l) {
		answer.State = commands.OrderUnknown
	}
	return answer, nil
}
