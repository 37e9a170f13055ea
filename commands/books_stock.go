package commands

import (
	"seckill/domain"
	"seckill/eventstore"
)

// stockEntry is how one event of a stock stream counts in the cut's formula.
type stockEntry struct {
	in    int64 // units added: first stock, tranches, moved in
	out   int64 // units taken: orders, withdrawals, moves out, refused orders
	back  int64 // units given back: returns, refused orders
	entry domain.EntryID
}

func entryFor(ev domain.Event) (e stockEntry) {
	switch ev := ev.(type) {
	case *domain.StockReleased:
		e.in = ev.Quantity
	case *domain.StockMovedIn:
		e.in = ev.Quantity
	case *domain.StockReserved:
		e.out, e.entry = ev.Quantity, entryOf(ev.Entry)
	case *domain.StockWithdrawn:
		e.out, e.entry = ev.Quantity, entryOf(ev.Entry)
	case *domain.StockMovedOut:
		e.out, e.entry = ev.Quantity, entryOf(ev.Entry)
	case *domain.StockReturned:
		e.back = ev.Quantity
	case *domain.StockRefused:
		e.out, e.back, e.entry = ev.Quantity, ev.Quantity, entryOf(ev.Entry)
	}
	return e
}

// entryOf reads an entry id; what has none was taken by no entry.
func entryOf(s string) domain.EntryID {
	id, err := domain.ParseEntryID(s)
	if err != nil {
		return domain.EntryID{}
	}
	return id
}

// addStock brings a stock stream forward, and what its event says of an order.
func (b *books) addStock(r *eventstore.Record, ev domain.Event) error {
	s, err := b.stockOf(r.Stream)
	if err != nil {
		return err
	}
	e := entryFor(ev)
	s.now = s.now.Fold(ev)
	s.addMove(ev)
	if side, ok := moveSideOf(r, ev); ok {
		b.moves.add(side)
	}
	if s.now.Left() < s.least.Left() {
		s.least = s.now
	}
	if change := e.in - e.out + e.back; change != 0 && b.inView("stock_log", b.views.StockLog, r) {
		rows := b.stock[s.key.SKU]
		rows.Add(StockRow{Position: r.Position, SKU: s.key.SKU, Order: r.OrderID, Quantity: change, At: r.RecordedAt})
		b.stock[s.key.SKU] = rows
	}
	if s.guard != nil && r.Version <= s.guard.version {
		s.atGuard = s.now
	}
	if s.seen != nil {
		s.expected += s.seen.counts(e, r.Version)
		s.prefix = s.prefix || (r.Version == s.seen.applied.Number && r.Hash == s.seen.applied.Hash)
	}
	if r.OrderID != "" {
		b.addHold(s, r, ev)
	}
	return nil
}

// addMove counts what a move brought or took: in the item's account over all buckets it
// stands on neither side.
func (s *stockBook) addMove(ev domain.Event) {
	switch ev := ev.(type) {
	case *domain.StockMovedIn:
		s.movedIn += ev.Quantity
	case *domain.StockMovedOut:
		s.movedOut += ev.Quantity
	}
}

// addTo adds the stream's account to that of its item.
func (s *stockBook) addTo(item *ItemReport) {
	item.Released += s.now.Released - s.movedIn
	item.Reserved += s.now.Reserved - s.movedOut
	item.Returned += s.now.Returned
}

// counts is what an event adds to what the gate must have had left at the cut:
// what came in and went back up to applied, less what was taken up to applied or
// by an entry up to (epoch, n).
func (c *stockCut) counts(e stockEntry, version int64) (left int64) {
	seen := version <= c.applied.Number
	if seen {
		left += e.in + e.back
	}
	byEntry := e.entry.N > 0 && (e.entry.Epoch < c.epoch || (e.entry.Epoch == c.epoch && e.entry.N <= c.n))
	if seen || byEntry {
		left -= e.out
	}
	return left
}

// addHold notes what a stock stream says of an order.
func (b *books) addHold(s *stockBook, r *eventstore.Record, ev domain.Event) {
	o := b.order(r.OrderID)
	o.now = o.now.after(ev)
	if reserved, ok := ev.(*domain.StockReserved); ok {
		o.ticket = keyDigest(reserved.Ticket, "")
	}
	if s.seen != nil && r.Version <= s.seen.before {
		o.then = o.now
	}
}

// after is what is told of an order's units after an event of a stock stream.
func (t told) after(ev domain.Event) told {
	switch ev := ev.(type) {
	case *domain.StockReserved:
		t.letter, t.held = letterAccepted, t.held+int32(ev.Quantity)
	case *domain.StockReturned:
		t.letter, t.held = letterEnded, t.held-int32(ev.Quantity)
	case *domain.StockWrittenOff:
		t.letter, t.held = letterEnded, t.held-int32(ev.Quantity)
	case *domain.StockRefused:
		t.letter = letterRefused
	}
	return t
}
