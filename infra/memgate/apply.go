package memgate

import (
	"context"
	"fmt"
	"slices"

	"seckill/commands"
	"seckill/domain"
)

// ApplyStock brings a page into its stock hash: see commands.Applier.
func (g *Gate) ApplyStock(_ context.Context, p commands.StockPage) (commands.Applied, error) {
	changes, err := p.Changes()
	if err != nil {
		return commands.Applied{}, nothing(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.laneOf(p.Place)
	s, k := l.sales[p.Place], l.stockOf(p.Place, p.SKU)
	if k == nil {
		return commands.Applied{}, nil
	}
	if s == nil || k.applied != p.From {
		return commands.Applied{State: k.state, Applied: k.applied}, nil
	}
	for i, e := range p.Events {
		s.learn(changes[i], k.units.Holds[changes[i].ID].State)
		if err := k.units.Fold(e.Event); err != nil {
			return commands.Applied{}, nothing(fmt.Errorf("apply version %d: %w", e.At.Number, err))
		}
		k.applied = e.At
	}
	return commands.Applied{Done: true, State: k.state, Applied: k.applied}, nil
}

// learn brings what an event says of an order into the sale's record. hold is
// what the stock knew of the order before.
func (s *sale) learn(c commands.StockChange, hold domain.HoldState) {
	known, exists := s.orders[c.ID]
	switch c.Kind {
	case commands.UnitsReserved:
		counted := known.state == commands.OrderAccepted || known.state == commands.OrderEnded
		if exists && counted && hold != domain.HoldUnknown {
			return
		}
		s.record(c, commands.OrderAccepted)
		if c.Ticket != "" {
			s.tickets[c.Ticket] = c.ID
		}
		if c.Key != "" {
			s.keys[c.Key] = keyed{order: c.ID, body: c.BodyHash}
		}
	case commands.UnitsReturned, commands.UnitsLost:
		s.record(c, commands.OrderEnded)
	case commands.UnitsRefused:
		s.record(c, commands.OrderRefused)
	}
}

func (s *sale) record(c commands.StockChange, state commands.GateOrderState) {
	o := s.orders[c.ID]
	if o.entry == (domain.EntryID{}) {
		o.entry, _ = domain.ParseEntryID(c.Entry) // a return names none
	}
	o.state = state
	if c.Buyer != "" { // a refusal may name none
		o.buyer = c.Buyer
	}
	s.orders[c.ID] = o
	list := s.buyers[c.Buyer]
	if state == commands.OrderRefused || slices.Contains(list, c.ID) {
		return
	}
	at := slices.IndexFunc(list, func(other string) bool { return earlier(o.entry, s.orders[other].entry) })
	if at < 0 {
		at = len(list)
	}
	s.buyers[c.Buyer] = slices.Insert(list, at, c.ID)
}

// earlier tells whether a was accepted before b; what has no entry is last.
func earlier(a, b domain.EntryID) bool {
	none := domain.EntryID{}
	switch {
	case a == none || b == none:
		return false
	case a.Epoch != b.Epoch:
		return a.Epoch < b.Epoch
	case a.N != b.N:
		return a.N < b.N
	}
	return a.I < b.I
}

// ApplySale brings a sale's record forward: see commands.Applier.
func (g *Gate) ApplySale(_ context.Context, p commands.SalePage) (commands.Applied, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.laneOf(p.Place).sales[p.Place]
	if s == nil {
		return commands.Applied{}, nil
	}
	if s.applied != p.From {
		return commands.Applied{State: s.state, Applied: s.applied}, nil
	}
	s.fold, s.applied, s.hold = p.Sale, p.To, domain.Reserved
	return commands.Applied{Done: true, State: s.state, Applied: s.applied}, nil
}

// Hold sets a stopping action: see commands.Holder. Ended is not weakened to
// Paused by a later call.
func (g *Gate) Hold(_ context.Context, place domain.Place, outcome domain.Outcome) error {
	if outcome != domain.Paused && outcome != domain.Ended {
		return nothing(fmt.Errorf("hold sale %s: %s stops nothing", place.Sale, outcome))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if s := g.laneOf(place).sales[place]; s != nil && s.hold != domain.Ended {
		s.hold = outcome
	}
	return nil
}
