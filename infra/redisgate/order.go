package redisgate

import (
	"context"
	"fmt"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// Resolve finds out what became of an order: see commands.Gate.
func (g *Gate) Resolve(ctx context.Context, ref domain.OrderRef, buyer string) (commands.Resolution, error) {
	if !commands.PlainID(ref.ID) || !domain.ValidBuyer(buyer) {
		return commands.Resolution{}, nothing(fmt.Errorf("resolve order %q of buyer %q: not ids of ours", ref.ID, buyer))
	}
	l, err := g.runList(ctx, g.orderCall(g.scripts.resolve, ref, ref.ID, buyer), 3)
	if err != nil {
		return commands.Resolution{}, err
	}
	return commands.Resolution{State: orderState(l[0]), Epoch: number(l[1]), Entry: entryID(l[2])}, nil
}

// Order looks an order up: see commands.Gate. An owner meets the order while its
// lane is closed, too.
func (g *Gate) Order(ctx context.Context, ref domain.OrderRef) (commands.GateOrder, error) {
	if !commands.PlainID(ref.ID) {
		return commands.GateOrder{}, nothing(fmt.Errorf("look up order %q: not an id of ours", ref.ID))
	}
	l, err := g.runList(ctx, g.orderCall(g.scripts.order, ref, ref.ID), 5)
	if err != nil {
		return commands.GateOrder{}, err
	}
	return commands.GateOrder{
		State: orderState(l[0]), Epoch: number(l[1]), Entry: entryID(l[2]), Buyer: text(l[3]),
		OpenFor: time.Duration(number(l[4])) * time.Microsecond,
	}, nil
}

// TicketUsed tells whether a purchase was accepted with a ticket: see
// commands.TicketLook.
func (g *Gate) TicketUsed(ctx context.Context, place domain.Place, ticket string) (bool, error) {
	used, err := g.at(place.Lane()).rest.HExists(ctx, g.keys.sale(place), ticketField(ticket)).Result()
	if err != nil {
		return false, nothing(fmt.Errorf("look up a ticket of sale %s: %w", place.Sale, err))
	}
	return used, nil
}

func ticketField(ticket string) string { return "t:" + ticket }

func (g *Gate) orderCall(s script, ref domain.OrderRef, args ...any) call {
	return call{
		sale: true, script: s, batch: 1,
		keys: []string{g.keys.lane(ref.Place.Lane()), g.keys.sale(ref.Place)},
		args: append([]any{g.opt.ProcessToken}, args...),
	}
}

func orderState(v any) commands.GateOrderState {
	switch text(v) {
	case "A":
		return commands.OrderAccepted
	case "E":
		return commands.OrderEnded
	case "T":
		return commands.OrderTombstone
	case "R":
		return commands.OrderRefused
	case "?":
		return commands.OrderUnknown
	}
	return commands.OrderUnresolved
}
