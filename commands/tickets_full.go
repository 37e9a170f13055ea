package commands

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"seckill/domain"
)

const (
	// fullFresh is how old what is known of a full book may be where it refuses
	// somebody; fullLook is how often it is looked at.
	fullFresh = time.Second
	fullLook  = 250 * time.Millisecond
	// fullQuiet is after what time a book that nobody asked for is forgotten.
	fullQuiet = time.Minute
	// fullBudget bounds reading who is in a book.
	fullBudget = 10 * time.Second
	// maxHeldBuyers bounds the buyers of all full books in memory, 16 bytes each. A
	// sale whose book finds no room is asked about each time.
	maxHeldBuyers = 2_000_000
	// maxSeenBooks bounds the sales of which it is known when their book was begun.
	maxSeenBooks = 10_000
	// maxFullWanted bounds how many books wait to be read; one that found no room is
	// wanted again by the next refusal.
	maxFullWanted = 64
)

// fullBooks know, of sales whose book of tickets is full, who is in it. Nobody
// leaves a book, and nobody comes into a full one: so it is known of everybody else
// that there is no ticket, until units are released or the book is lost, which is
// looked at four times a second. The zero value is usable.
type fullBooks struct {
	once   sync.Once
	wanted chan string // sales

	books atomic.Pointer[map[string]*fullBook] // replaced whole, by Run alone

	mu        sync.Mutex
	begun     map[string]time.Time // by sale; the zero time where a book was lost
	suspected map[string]time.Time // by sale, when suspect wanted its book last
}

// fullBook is a book that was full at looked, for most buyers.
type fullBook struct {
	state         BookState
	opens, closes time.Time
	holders       domain.MemberSet

	most   atomic.Int64
	looked atomic.Int64 // ns since 1970
	asked  atomic.Int64
}

func (f *fullBooks) ready() *fullBooks {
	f.once.Do(func() {
		f.wanted = make(chan string, maxFullWanted)
		f.begun, f.suspected = map[string]time.Time{}, map[string]time.Time{}
		f.books.Store(&map[string]*fullBook{})
	})
	return f
}

// want asks for who is in the book of a sale: it was full just now.
func (f *fullBooks) want(sale string) {
	select {
	case f.wanted <- sale:
	default:
	}
}

// suspect asks for who is in the book of a sale that gives out a bounded number of
// tickets, where it is not in memory: somebody came without one, so perhaps it is full,
// and another node refused everybody so far. It is looked at no more often than a book
// that is known to be full.
func (f *fullBooks) suspect(sale *domain.Sale, now time.Time) {
	if sale.Terms.MostTickets() == 0 || (*f.books.Load())[sale.ID] != nil {
		return
	}
	f.mu.Lock()
	last, ok := f.suspected[sale.ID]
	due := !ok || elapsed(last, now) >= fullLook
	if due {
		if !ok && len(f.suspected) >= maxSeenBooks {
			clear(f.suspected)
		}
		f.suspected[sale.ID] = now
	}
	f.mu.Unlock()
	if due {
		f.want(sale.ID)
	}
}

// saw notes when a book was begun.
func (f *fullBooks) saw(sale string, begun time.Time) {
	if begun.IsZero() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	known, ok := f.begun[sale]
	switch {
	case ok && !known.Equal(begun):
		f.begun[sale] = time.Time{}
	case !ok && len(f.begun) < maxSeenBooks:
		f.begun[sale] = begun
	}
}

// first gives when the book of a sale was begun that was never another one, as far as
// this node has seen; the zero time for none.
func (f *fullBooks) first(sale string) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.begun[sale]
}

// leavesOut tells whether a buyer is not in the book of a sale and cannot come into
// it, as things stood within the last second.
func (f *fullBooks) leavesOut(sale *domain.Sale, buyer string, now time.Time) bool {
	b := (*f.books.Load())[sale.ID]
	if b == nil {
		return false
	}
	b.asked.Store(now.UnixNano())
	t := &sale.Terms
	switch {
	case elapsed(time.Unix(0, b.looked.Load()), now) > fullFresh,
		b.most.Load() < t.MostTickets(),
		!b.opens.Equal(t.OpensAt), !b.closes.Equal(t.ClosesAt), !now.Before(t.ClosesAt.Add(-fullFresh)):
		return false
	}
	return !b.holders.Has(buyer)
}

// Without tells whether it is certain that a buyer has no ticket of a sale, gets none
// now, and never had one: then he cannot have an order either. Only a book that was
// begun before anybody could buy tells that, and only to a node that never saw
// another one. Where it is not in memory who is in the book, it is read if it is full.
func (t *Tickets) Without(sale *FoldedSale, buyer string) bool {
	f := t.full.ready()
	f.suspect(&sale.Sale, t.Env.Now())
	begun := f.first(sale.ID)
	return !begun.IsZero() && begun.Before(sale.FirstOpensAt) && f.leavesOut(&sale.Sale, buyer, t.Env.Now())
}

// Run reads who is in books that are full, and looks whether they still are, until
// ctx ends. Without it every question goes to the book.
func (t *Tickets) Run(ctx context.Context) error {
	f := t.full.ready()
	tick := time.NewTicker(fullLook)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case sale := <-f.wanted:
			t.readFull(ctx, sale)
		case <-tick.C:
			t.lookAtFull(ctx)
		}
	}
}

// lookAtFull looks whether every full book is as it was.
func (t *Tickets) lookAtFull(ctx context.Context) {
	for sale, b := range *t.full.books.Load() {
		began := t.Env.Now()
		if elapsed(time.Unix(0, b.asked.Load()), began) > fullQuiet {
			t.keepFull(sale, nil)
			continue
		}
		state, most, err := t.State(ctx, sale)
		switch {
		case err != nil: // it ages, and then the book is asked
			if ctx.Err() == nil {
				t.Env.Log.Debug("a full book of tickets not looked at", "sale_id", sale, "error", err)
			}
		case state != b.state, state.Buyers < most:
			t.keepFull(sale, nil)
		default:
			b.most.Store(most)
			b.looked.Store(began.UnixNano())
		}
	}
}

// readFull reads who is in a book, if it is full.
func (t *Tickets) readFull(ctx context.Context, id string) {
	if (*t.full.books.Load())[id] != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, fullBudget)
	defer cancel()
	b, err := t.fullBookOf(ctx, id)
	if err != nil {
		t.Env.Log.Warn("who is in a full book of tickets is not known", "sale_id", id, "error", err)
	}
	if b != nil {
		t.keepFull(id, b)
	}
}

// fullBookOf gives nil where a book is not full, changed meanwhile, or finds no room.
func (t *Tickets) fullBookOf(ctx context.Context, id string) (*fullBook, error) {
	sale, err := t.Sales.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	state, most, err := t.State(ctx, id)
	room := int64(maxHeldBuyers)
	for _, b := range *t.full.books.Load() {
		room -= b.holders.Count()
	}
	if err != nil || most == 0 || state.Begun.IsZero() || state.Buyers < most || state.Buyers > room {
		return nil, err
	}
	b := &fullBook{state: state, opens: sale.Terms.OpensAt, closes: sale.Terms.ClosesAt}
	if err := t.Book.Holders(ctx, id, b.holders.Add); err != nil {
		return nil, err
	}
	b.holders.Seal()
	began := t.Env.Now()
	after, err := t.Book.Look(ctx, id)
	if err != nil || after != state || b.holders.Count() != state.Buyers {
		return nil, err
	}
	b.most.Store(most)
	b.looked.Store(began.UnixNano())
	b.asked.Store(began.UnixNano())
	t.full.saw(id, state.Begun)
	return b, nil
}

// State gives how the book of a sale stands, and for how many buyers it is; 0: for as
// many as ask.
func (t *Tickets) State(ctx context.Context, id string) (BookState, int64, error) {
	sale, err := t.Sales.Get(ctx, id)
	if err != nil {
		return BookState{}, 0, err
	}
	most, err := t.most(ctx, sale.Sale)
	if err != nil {
		return BookState{}, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, t.Budget)
	defer cancel()
	state, err := t.Book.Look(ctx, id)
	if err != nil {
		return BookState{}, 0, fmt.Errorf("look who has a ticket: %w", err)
	}
	return state, most, nil
}

// keepFull puts a full book into memory, or nil in its place. Run alone calls it.
func (t *Tickets) keepFull(sale string, b *fullBook) {
	books := map[string]*fullBook{}
	for id, other := range *t.full.books.Load() {
		books[id] = other
	}
	if delete(books, sale); b != nil {
		books[sale] = b
	}
	t.full.books.Store(&books)
}
