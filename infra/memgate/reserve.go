package memgate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// nothing says that a call had no effect.
func nothing(err error) error { return &commands.GateError{Err: err} }

// Reserve judges and takes in one step: see commands.Gate.
func (g *Gate) Reserve(ctx context.Context, r commands.Reservation) (commands.Verdict, error) {
	if err := r.Check(g.store); err != nil {
		return commands.Verdict{}, nothing(err)
	}
	if err := ctx.Err(); err != nil {
		return commands.Verdict{}, nothing(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	l := g.laneOf(r.Place)
	s := l.sales[r.Place]
	if !s.isOpen() {
		v := commands.Verdict{Outcome: domain.NotReady, Now: now}
		v.Epoch, v.Next = l.next()
		return v, nil
	}
	c := g.caseOf(l, s, &r, now)
	outcome, known := domain.Judge(c)
	v := commands.Verdict{Outcome: outcome, Order: known, Now: now}
	if asked := r.Strength; outcome == domain.Reserved || outcome == domain.SameOrder && known == r.Order {
		v.Weak = asked != "" && asked != domain.AcknowledgeMemory
	}
	v.Epoch, v.Next = l.next()
	var err error
	switch outcome {
	case domain.Reserved:
		v.Order = r.Order
		v.Entry, err = g.take(l, s, &r, entry{now, commands.AppendPurchase(nil, &r)})
	case domain.SameOrder:
		v.Entry = s.orders[known].entry
	case domain.TooEarly:
		v.OpensAt = c.OpensAt
	}
	return v, err
}

// next gives where the journal of a lane stands; zero where there is none.
func (l *lane) next() (epoch, next int64) {
	if l.epoch == 0 {
		return 0, 0
	}
	return l.epoch, l.n + 1
}

// now gives the gate's clock in microseconds.
func (g *Gate) now() time.Time { return time.UnixMicro(g.clock().UnixMicro()).UTC() }

// caseOf gathers what the judgement of a purchase looks at.
func (g *Gate) caseOf(l *lane, s *sale, r *commands.Reservation, now time.Time) *domain.Case {
	c := &domain.Case{
		Orders: s.ordersOf(l, r), Ready: g.selling(l), Now: now, Terms: s.fold.Judged(),
		Paused: s.fold.Halted() || s.hold == domain.Paused, Closed: s.fold.Ended() || s.hold == domain.Ended, Waits: !s.fold.MayOpen(),
		OpensAt: micro(s.fold.Terms.OpensAt), ClosesAt: micro(s.fold.Terms.ClosesAt),
		Eligible: r.Eligible, BodyHash: r.BodyHash, Lines: r.Lines, TicketState: s.ticketState(r),
		Left: map[string]int64{}, Known: map[string]bool{}, Promised: r.Promised > 0,
	}
	c.Terms.LimitPerBuyer = max(c.Terms.LimitPerBuyer, r.Promised)
	for _, sku := range items(r) {
		stock := l.stockOf(r.Place, sku)
		if !stock.isOpen() {
			c.Ready = false
			continue
		}
		c.Left[sku], c.Known[sku] = stock.units.Available, true
	}
	if own, ok := s.orders[r.Order]; ok {
		c.Tombstone = own.state == commands.OrderTombstone || own.state == commands.OrderRefused
		c.SameOrder = r.Order
	} else if k, ok := s.keys[r.Key]; ok && r.Key != "" {
		c.SameOrder, c.KeyBody = k.order, k.body
	}
	return c
}

func micro(t time.Time) time.Time { return time.UnixMicro(t.UnixMicro()).UTC() }

// items lists the items that a purchase is judged over.
func items(r *commands.Reservation) []string {
	all := slices.Clone(r.Items)
	for _, line := range r.Lines {
		if !slices.Contains(all, line.SKU) {
			all = append(all, line.SKU)
		}
	}
	return all
}

// ordersOf gives the buyer's orders, with the units that stocks hold for them.
func (s *sale) ordersOf(l *lane, r *commands.Reservation) []domain.BuyerOrder {
	var all []domain.BuyerOrder
	for _, id := range s.buyers[r.Buyer] {
		o := domain.BuyerOrder{ID: id, State: standing(s.orders[id].state)}
		for _, sku := range items(r) {
			if stock := l.stockOf(r.Place, sku); stock != nil {
				if h := stock.units.Holds[id]; h.State == domain.HoldTaken {
					o.Units += h.Quantity
				}
			}
		}
		all = append(all, o)
	}
	return all
}

func standing(s commands.GateOrderState) domain.OrderStanding {
	switch s {
	case commands.OrderAccepted:
		return domain.Live
	case commands.OrderEnded:
		return domain.Over
	}
	return domain.Void
}

// entry is what a purchase writes into the journal.
type entry struct {
	at   time.Time
	blob []byte
}

// take takes the units of every line and writes the entry.
func (g *Gate) take(l *lane, s *sale, r *commands.Reservation, e entry) (domain.EntryID, error) {
	body, err := json.Marshal(commands.EntryBody{
		Form: commands.PurchaseForm, At: e.at.UnixMicro(),
		Terms: map[string]domain.Terms{r.Place.Sale: s.fold.Judged()}, Purchases: []json.RawMessage{e.blob},
	})
	if err != nil {
		return domain.EntryID{}, nothing(fmt.Errorf("write entry of order %s: %w", r.Order, err))
	}
	for _, line := range r.Lines {
		l.stockOf(r.Place, line.SKU).units.Take(r.Order, r.Buyer, line.Quantity)
	}
	id := g.write(l, r.Place.Lane(), string(body))
	id.I = 1
	s.orders[r.Order] = order{state: commands.OrderAccepted, entry: id, buyer: r.Buyer}
	s.buyers[r.Buyer] = append(s.buyers[r.Buyer], r.Order)
	if r.Ticket != "" {
		s.tickets[r.Ticket] = r.Order
	}
	if r.Key != "" {
		s.keys[r.Key] = keyed{order: r.Order, body: r.BodyHash}
	}
	return id, nil
}

// write adds an entry to the journal of a lane and wakes whoever reads it.
func (g *Gate) write(l *lane, number int, body string) domain.EntryID {
	l.n++
	l.digest = domain.NextDigest(l.digest, body)
	id := domain.EntryID{Epoch: l.epoch, N: l.n}
	l.journal = append(l.journal, commands.JournalEntry{Lane: number, ID: id, Body: body, Digest: l.digest})
	close(g.written)
	g.written = make(chan struct{})
	return id
}

// ticketState says whether a purchase may go on as far as its ticket is concerned.
// One that a refused purchase had used is good again.
func (s *sale) ticketState(r *commands.Reservation) domain.Outcome {
	if r.TicketFault != 0 {
		return r.TicketFault
	}
	if order, used := s.tickets[r.Ticket]; used && r.Ticket != "" && s.orders[order].state != commands.OrderRefused {
		return domain.TicketInvalid
	}
	return domain.Reserved
}

// TicketUsed tells whether a purchase was accepted with a ticket: see
// commands.TicketLook.
func (g *Gate) TicketUsed(_ context.Context, place domain.Place, ticket string) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.laneOf(place).sales[place]
	return s != nil && s.tickets[ticket] != "", nil
}
