package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"seckill/domain"
	"seckill/eventstore"
)

// books is everything that the log says about one sale, read once.
type books struct {
	stocks map[string]*stockBook // by stream
	orders map[string]*orderBook // by order id
	// unread holds, by stream, the first event that cannot be read. What is told of
	// the stream ends before it.
	unread map[string]*UnreadableError
}

// stockBook is a stock stream: the events that the cut's formula needs, and the
// account at every version (accounts[v]).
type stockBook struct {
	key      domain.StockKey
	hashes   []eventstore.Hash // of version v+1 at [v]
	accounts []domain.Account  // at version v at [v]
	entries  []stockEntry
}

// stockEntry is how one event of a stock stream counts in the cut's formula.
type stockEntry struct {
	version  int64
	position int64
	shard    string // sequence key
	in       int64  // units added: first stock, tranches, moved in
	out      int64  // units taken: orders, withdrawals, moves out, refused orders
	back     int64  // units given back: returns, refused orders
	entry    domain.EntryID
	change   int64 // as stock_log keeps it
}

// orderBook is an order's stream.
type orderBook struct {
	states    []domain.Order // at version v+1 at [v]
	positions []int64
}

func (o *orderBook) now() domain.Order { return o.states[len(o.states)-1] }

// readBooks reads every record of a sale.
func readBooks(ctx context.Context, log eventstore.Reader, sale string) (*books, error) {
	b := &books{stocks: map[string]*stockBook{}, orders: map[string]*orderBook{}, unread: map[string]*UnreadableError{}}
	var after int64
	for {
		page, err := log.Find(ctx, eventstore.Filter{SaleID: sale}, after, streamPage)
		if err != nil {
			return nil, fmt.Errorf("read the records of sale %s after %d: %w", sale, after, err)
		}
		for i := range page {
			if err := b.add(&page[i]); err != nil {
				return nil, err
			}
			after = page[i].Position
		}
		if len(page) < streamPage {
			return b, nil
		}
	}
}

func (b *books) add(r *eventstore.Record) error {
	if b.unread[r.Stream] != nil {
		return nil
	}
	ev, err := decode(r)
	var unread *UnreadableError
	if errors.As(err, &unread) {
		b.unread[r.Stream] = unread
		return nil
	}
	switch {
	case strings.HasPrefix(r.Stream, "stock-"):
		return b.addStock(r, ev)
	case strings.HasPrefix(r.Stream, "order-"):
		o, ok := b.orders[r.OrderID]
		if !ok {
			o = &orderBook{}
			b.orders[r.OrderID] = o
		}
		var state domain.Order
		if len(o.states) > 0 {
			state = o.now()
		}
		o.states = append(o.states, state.FoldOrder(ev))
		o.positions = append(o.positions, r.Position)
	}
	return nil
}

func (b *books) addStock(r *eventstore.Record, ev domain.Event) error {
	s, ok := b.stocks[r.Stream]
	if !ok {
		key, err := domain.ParseStockStream(r.Stream)
		if err != nil {
			return err
		}
		s = &stockBook{key: key, accounts: []domain.Account{{}}}
		b.stocks[r.Stream] = s
	}
	s.hashes = append(s.hashes, r.Hash)
	s.accounts = append(s.accounts, s.accounts[len(s.accounts)-1].Fold(ev))
	e := stockEntry{version: r.Version, position: r.Position, shard: r.SequenceKey()}
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
	e.change = e.in - e.out + e.back
	s.entries = append(s.entries, e)
	return nil
}

// entryOf reads an entry id; what has none was taken by no entry.
func entryOf(s string) domain.EntryID {
	id, err := domain.ParseEntryID(s)
	if err != nil {
		return domain.EntryID{}
	}
	return id
}

// head gives the account at the newest version.
func (s *stockBook) head() domain.Account { return s.accounts[len(s.accounts)-1] }

// expected gives what the gate must have had left at a cut: what came in and
// went back up to applied, less what was taken up to applied or by an entry up
// to (epoch, n).
func (s *stockBook) expected(applied, epoch, n int64) int64 {
	var left int64
	for _, e := range s.entries {
		seen := e.version <= applied
		if seen {
			left += e.in + e.back
		}
		byEntry := e.entry.N > 0 && (e.entry.Epoch < epoch || (e.entry.Epoch == epoch && e.entry.N <= n))
		if seen || byEntry {
			left -= e.out
		}
	}
	return left
}

// holds tells whether the stream has this mark.
func (s *stockBook) holds(m eventstore.Mark) bool {
	if m.Number == 0 {
		return true
	}
	return m.Number <= int64(len(s.hashes)) && s.hashes[m.Number-1] == m.Hash
}
