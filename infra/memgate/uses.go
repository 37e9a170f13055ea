package memgate

import (
	"context"
	"iter"

	"seckill/commands"
	"seckill/domain"
)

// names gives what a record has, each with its kind: orders, buyers, keys, tickets.
func (s *sale) names() iter.Seq[string] {
	return func(yield func(string) bool) {
		all(s.orders, "o:", yield)
		all(s.buyers, "b:", yield)
		all(s.keys, "k:", yield)
		all(s.tickets, "t:", yield)
	}
}

func all[V any](of map[string]V, kind string, yield func(string) bool) {
	for name := range of {
		if !yield(kind + name) {
			return
		}
	}
}

// use gives what a record has of a key or ticket.
func (s *sale) use(u commands.Use) commands.ScannedUse {
	if u.Ticket {
		return commands.ScannedUse{Use: u, Order: s.tickets[u.Name]}
	}
	k := s.keys[u.Name]
	return commands.ScannedUse{Use: u, Order: k.order, Body: k.body}
}

// Uses reads what the gate has of some keys and tickets: see commands.Scanner.
func (g *Gate) Uses(_ context.Context, place domain.Place, skus []string, of []commands.Use) (commands.GateUses, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	uses := commands.GateUses{Peeked: g.peek(place, skus), Uses: make([]commands.GateUse, len(of))}
	s := g.laneOf(place).sales[place]
	for i, u := range of {
		found := commands.GateUse{ScannedUse: commands.ScannedUse{Use: u}, State: commands.OrderUnknown}
		if s != nil {
			found.ScannedUse = s.use(u)
			if o, known := s.orders[found.Order]; known {
				found.State = o.state
			}
		}
		uses.Uses[i] = found
	}
	return uses, nil
}
