package gatetest

import (
	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// journal reads the whole journal of a lane in small pages.
func (s *Stage) journal(lane int) []commands.JournalEntry {
	s.tb.Helper()
	var all []commands.JournalEntry
	for after := (domain.EntryID{}); ; after = all[len(all)-1].ID {
		page, err := s.ReadLane(s.ctx, lane, after, 7)
		if err != nil {
			s.tb.Fatalf("read the journal of lane %d: %v", lane, err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
	}
}

// Record writes what the journal of a sale's lane holds into the log. Orders
// that are decided already leave nothing.
func (s *Stage) Record(show *Show) {
	s.tb.Helper()
	for _, entry := range s.journal(show.Place.Lane()) {
		body, purchases := s.purchasesOf(entry)
		s.recordWithdrawals(entry.ID, body)
		s.recordMoves(entry.ID, body)
		for i, p := range purchases {
			if s.decided[p.Order] {
				continue
			}
			s.decided[p.Order], s.taken[p.Order] = true, true
			id := entry.ID
			id.I = i + 1
			for _, l := range p.Lines {
				s.Append(s.show(p.Sale), &domain.StockReserved{
					SaleID: p.Sale, SKU: l.SKU, Bucket: p.Bucket, OrderID: p.Order, BuyerID: p.Buyer,
					Quantity: l.Quantity, Entry: id.String(), Key: p.Key, BodyHash: p.Body, Ticket: p.Ticket,
				})
			}
		}
	}
}

func (s *Stage) show(sale string) *Show {
	for _, show := range s.shows {
		if show.Place.Sale == sale {
			return show
		}
	}
	s.tb.Fatalf("the journal names sale %s, which is not on this stage", sale)
	return nil
}

// Return writes that an order gave its units back.
func (s *Stage) Return(show *Show, r commands.Reservation) {
	for _, l := range r.Lines {
		s.Append(show, &domain.StockReturned{SaleID: r.Place.Sale, SKU: l.SKU, OrderID: r.Order, BuyerID: r.Buyer, Quantity: l.Quantity, Reason: "cancelled"})
	}
}

// WriteOff writes that an order's hold ended and its units are gone.
func (s *Stage) WriteOff(show *Show, r commands.Reservation) {
	for _, l := range r.Lines {
		s.Append(show, &domain.StockWrittenOff{SaleID: r.Place.Sale, SKU: l.SKU, OrderID: r.Order, BuyerID: r.Buyer, Quantity: l.Quantity, Reason: "buyer"})
	}
}

// Refuse writes that an order was rejected.
func (s *Stage) Refuse(show *Show, r commands.Reservation, entry domain.EntryID) {
	s.decided[r.Order] = true
	for _, l := range r.Lines {
		s.Append(show, &domain.StockRefused{SaleID: r.Place.Sale, SKU: l.SKU, OrderID: r.Order, BuyerID: r.Buyer,
			Quantity: l.Quantity, Entry: entry.String(), Reason: domain.RejectedGuard})
	}
}

// events gives the stream of an item and its head.
func (s *Stage) events(show *Show, sku string) ([]commands.StockEvent, eventstore.Mark) {
	all := s.log[domain.StockStream(show.Place.Sale, sku, show.Place.Bucket)]
	if len(all) == 0 {
		return nil, eventstore.Mark{}
	}
	return all, all[len(all)-1].At
}

// page gives the events of an item after a mark.
func (s *Stage) page(show *Show, sku string, from eventstore.Mark) commands.StockPage {
	all, _ := s.events(show, sku)
	return commands.StockPage{Place: show.Place, SKU: sku, From: from, Events: all[from.Number:]}
}

// Catchup applies the log to the head: the sale's record and its stock hashes.
func (s *Stage) Catchup(show *Show) {
	s.tb.Helper()
	p := s.peek(show, show.Sale.SKUs()...)
	a, err := s.ApplySale(s.ctx, commands.SalePage{Place: show.Place, From: p.Sale.Applied, To: show.Mark, Sale: show.Sale})
	if err != nil || !a.Done || a.Applied != show.Mark {
		s.tb.Fatalf("apply sale to %v: got %+v, %v", show.Mark, a, err)
	}
	for i, sku := range show.Sale.SKUs() {
		s.catchupStock(show, sku, p.Stocks[i].Applied)
	}
}

func (s *Stage) catchupStock(show *Show, sku string, from eventstore.Mark) {
	s.tb.Helper()
	_, head := s.events(show, sku)
	a, err := s.ApplyStock(s.ctx, s.page(show, sku, from))
	if err != nil || !a.Done || a.Applied != head {
		s.tb.Fatalf("apply stock %s to %v: got %+v, %v", sku, head, a, err)
	}
}

// Marks gives the heads of a sale's streams.
func (s *Stage) Marks(show *Show, skus ...string) commands.HashMarks {
	m := commands.HashMarks{Sale: show.Mark, SKUs: skus}
	for _, sku := range skus {
		_, head := s.events(show, sku)
		m.Stocks = append(m.Stocks, head)
	}
	return m
}

// Recover runs a lane's recovery: close, stubs, record, apply, open.
func (s *Stage) Recover(lane int) {
	s.tb.Helper()
	was := s.lane(lane)
	epoch := max(was.Epoch, was.Last.Epoch) + 1
	closed, err := s.CloseLane(s.ctx, lane, epoch)
	if err != nil || closed.Epoch != epoch || closed.Open || !closed.Exists {
		s.tb.Fatalf("close lane %d under epoch %d: got %+v, %v", lane, epoch, closed, err)
	}
	for _, show := range s.shows {
		if show.Place.Lane() == lane {
			s.rebuild(show, epoch)
		}
	}
	if ok, err := s.OpenLane(s.ctx, lane, epoch, closed.Server); err != nil || !ok {
		s.tb.Fatalf("open lane %d under epoch %d: got %t, %v", lane, epoch, ok, err)
	}
}

func (s *Stage) rebuild(show *Show, epoch int64) {
	s.tb.Helper()
	skus := show.Sale.SKUs()
	if ok, err := s.Stubs(s.ctx, show.Place, skus, nil, epoch); err != nil || !ok {
		s.tb.Fatalf("make stubs: got %t, %v", ok, err)
	}
	s.Record(show)
	s.Catchup(show)
	if ok, err := s.OpenHashes(s.ctx, show.Place, s.Marks(show, skus...), epoch); err != nil || !ok {
		s.tb.Fatalf("open hashes: got %t, %v", ok, err)
	}
}

// Preheat brings a sale that the gate does not hold into a healthy lane.
func (s *Stage) Preheat(show *Show, token string) {
	s.tb.Helper()
	skus := show.Sale.SKUs()
	epoch := s.lane(show.Place.Lane()).Epoch
	start, err := s.NewSale(s.ctx, show.Place, skus, epoch, token)
	if err != nil || !start.OK || start.Epoch != epoch {
		s.tb.Fatalf("begin a preheat: got %+v, %v", start, err)
	}
	s.Catchup(show)
	if ok, err := s.OpenPreheated(s.ctx, show.Place, s.Marks(show, skus...), epoch, token); err != nil || !ok {
		s.tb.Fatalf("open what was preheated: got %t, %v", ok, err)
	}
}
