package commands

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// FoldedSale is a sale as its stream says, and the place of the newest event.
// ScheduledAt is when the log recorded its first one, zero where that is archived.
// SeenAt is when the log last said that Mark is the newest, by this node's clock.
type FoldedSale struct {
	domain.Sale
	Mark        eventstore.Mark
	ScheduledAt time.Time
	SeenAt      time.Time
}

// with brings a fold forward by the next record of its stream.
func (f FoldedSale) with(ev domain.Event, r *eventstore.Record) FoldedSale {
	f.Sale, f.Mark = f.FoldSale(ev), r.At()
	if r.Version == 1 {
		f.ScheduledAt = r.RecordedAt
	}
	return f
}

// SaleStore is what the directory of sales reads.
type SaleStore interface {
	eventstore.Reader
	eventstore.Directory
}

// Sales knows every sale by folding its stream, and keeps what it folded for a
// short time. It is safe for concurrent use.
type Sales struct {
	store SaleStore
	now   func() time.Time
	opts  SalesOptions

	mu      sync.Mutex
	known   map[string]*cachedSale
	unknown map[string]time.Time
	loading map[string]*shared[FoldedSale] // by id, while they are read for the first time
	window  time.Time                      // since when spent counts
	spent   int

	ids    shared[map[string]bool]
	recent shared[[]FoldedSale]
	news   saleNews
}

// SalesOptions tune the directory; zero values take the defaults.
type SalesOptions struct {
	// Fresh is the age up to which a fold is used without asking (250 ms). Past it
	// one caller asks while the others use what is there, up to the age of Stale
	// (1 s); past that they wait for his answer. While the store is away everybody
	// uses what is there: the gate judges by its own record.
	Fresh time.Duration
	Stale time.Duration
	// Budget bounds that one question (500 ms).
	Budget time.Duration
	// MaxUnknown bounds how many unknown sale ids are remembered (10,000), for
	// UnknownFor each (2 s).
	MaxUnknown int
	UnknownFor time.Duration
	// ColdReads bounds how many ids that are not remembered are looked for in the
	// log in a second (64). The others are looked for in a list of all sales, which
	// is read once in ListFresh (1 s) at most.
	ColdReads int
	ListFresh time.Duration
	// News, if set, tells in one question for all sales what happened to them, so that
	// what it costs to keep up does not depend on their number. Nil: each sale is asked
	// for by itself.
	News SaleNews
}

func (o SalesOptions) withDefaults() SalesOptions {
	if o.Fresh == 0 {
		o.Fresh = 250 * time.Millisecond
	}
	if o.Budget == 0 {
		o.Budget = 500 * time.Millisecond
	}
	if o.MaxUnknown == 0 {
		o.MaxUnknown = 10_000
	}
	if o.ColdReads == 0 {
		o.ColdReads = 64
	}
	period := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	period(&o.Stale, time.Second)
	period(&o.UnknownFor, 2*time.Second)
	period(&o.ListFresh, time.Second)
	return o
}

// cachedSale is guarded by its own lock while one caller refreshes it.
type cachedSale struct {
	refresh sync.Mutex // held by the one caller that asks the store

	mu      sync.Mutex
	sale    FoldedSale
	checked time.Time
	era     int // in which it is kept up by the news; 0: it is not
}

// NewSales makes a directory over a store.
func NewSales(store SaleStore, now func() time.Time, opts SalesOptions) *Sales {
	return &Sales{
		store: store, now: now, opts: opts.withDefaults(), news: saleNews{asking: make(chan struct{}, 1)},
		known: map[string]*cachedSale{}, unknown: map[string]time.Time{}, loading: map[string]*shared[FoldedSale]{},
	}
}

// errNoSale is the problem of an unknown sale id.
func errNoSale() error { return &domain.Problem{Code: domain.CodeSaleNotFound} }

// Get gives a sale, at most a little old. An id that is not of a sale is a
// *domain.Problem with code sale_not_found; it costs the store next to nothing,
// however many ask for however many of them.
func (s *Sales) Get(ctx context.Context, id string) (FoldedSale, error) {
	s.mu.Lock()
	c, ok := s.known[id]
	heard := s.news.heard
	s.mu.Unlock()
	if !ok {
		if _, err := domain.ParseSaleID(id); err != nil {
			return FoldedSale{}, errNoSale()
		}
		return s.cold(ctx, id)
	}
	sale, age := c.look(heard, s.now())
	if age < s.opts.Fresh {
		return sale, nil
	}
	if s.opts.News != nil {
		heard = s.keepUp(ctx, age)
		if heard.away { // it would not answer for one sale either, and who buys has no time for that
			s.put(c, sale, false)
			return sale, nil
		}
		if heard.era > 0 {
			if sale, age = c.look(heard, s.now()); age < s.opts.Fresh || c.follows(heard) {
				return sale, nil
			}
		}
	}
	return s.revalidate(ctx, c, sale, age)
}

// look gives what is there, and its age.
func (c *cachedSale) look(heard heard, now time.Time) (FoldedSale, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	sale, checked := c.sale, c.checked
	if c.era == heard.era && heard.era > 0 {
		if heard.asked.After(checked) {
			checked = heard.asked
		}
		if heard.seen.After(sale.SeenAt) {
			sale.SeenAt = heard.seen
		}
	}
	return sale, now.Sub(checked)
}

// revalidate lets one caller ask the store; the others use what is there, unless it
// is stale, and so does he when the store does not answer in time.
func (s *Sales) revalidate(ctx context.Context, c *cachedSale, sale FoldedSale, age time.Duration) (FoldedSale, error) {
	switch {
	case c.refresh.TryLock():
	case age < s.opts.Stale:
		return sale, nil
	default: // nobody asked for long, and now many do
		c.refresh.Lock()
		if sale, age = c.look(heard{}, s.now()); age < s.opts.Fresh {
			c.refresh.Unlock()
			return sale, nil
		}
	}
	defer c.refresh.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Budget)
	defer cancel()
	began, before := s.now(), s.place()
	fresh, wentBack, err := s.current(ctx, sale)
	switch {
	case err != nil:
		s.put(c, sale, false) // asked: the next question waits its turn
		if errors.Is(err, eventstore.ErrUnavailable) || ctx.Err() != nil {
			return sale, nil
		}
		return FoldedSale{}, err
	case fresh.Version == 0:
		s.drop(sale.ID)
		return FoldedSale{}, errNoSale()
	}
	fresh.SeenAt = began
	s.put(c, fresh, wentBack)
	s.follow(c, before)
	return fresh, nil
}

// put keeps a fold unless a newer one is there; a log that went back (a standby
// that had lost commits was promoted) has a newer one that is older.
func (s *Sales) put(c *cachedSale, sale FoldedSale, wentBack bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if wentBack || sale.Version >= c.sale.Version {
		if c.sale.Mark != sale.Mark {
			s.news.changes.Add(1)
		}
		if wentBack {
			c.era = 0
		}
		c.sale, c.checked = sale, s.now()
	}
}

func (s *Sales) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, id)
	s.news.changes.Add(1)
}

// forget remembers that an id is of no sale, within bounds.
func (s *Sales) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.unknown) >= s.opts.MaxUnknown {
		clear(s.unknown)
	}
	s.unknown[id] = s.now()
}

// Fold reads a sale from the log now, and keeps it.
func (s *Sales) Fold(ctx context.Context, id string) (FoldedSale, error) {
	began, before := s.now(), s.place()
	sale, _, err := s.current(ctx, FoldedSale{Sale: domain.Sale{ID: id}})
	if err != nil {
		return FoldedSale{}, err
	}
	if sale.Version == 0 {
		return FoldedSale{}, errNoSale()
	}
	sale.SeenAt = began
	s.mu.Lock()
	c, ok := s.known[id]
	if !ok {
		c = &cachedSale{sale: sale, checked: s.now()} // whoever finds it finds the sale in it
		s.known[id] = c
		s.news.changes.Add(1)
	}
	delete(s.unknown, id)
	s.mu.Unlock()
	s.put(c, sale, false)
	s.follow(c, before)
	return sale, nil
}

// current is forward that also answers for a sale that was cleaned up and whose
// records were archived since: that it is over, if nothing more is known of it.
func (s *Sales) current(ctx context.Context, sale FoldedSale) (fresh FoldedSale, wentBack bool, err error) {
	fresh, wentBack, err = s.forward(ctx, sale)
	if err == nil || errors.Is(err, eventstore.ErrUnavailable) || ctx.Err() != nil {
		return fresh, wentBack, err
	}
	states, failed := s.store.States(ctx, []string{domain.SaleStream(sale.ID)})
	if failed != nil || states[0].Type != cleanedType() {
		return fresh, wentBack, err
	}
	if mark := markOf(states[0]); sale.Mark != mark {
		sale = FoldedSale{Sale: domain.Sale{ID: sale.ID, Version: mark.Number, TermsVersion: mark.Number, Cleaned: true}, Mark: mark, ScheduledAt: sale.ScheduledAt}
	}
	return sale, false, nil
}

// forward folds what came after sale in its stream. Where the stream does not
// hold sale's newest event any more, the log went back, and it folds from the
// beginning.
func (s *Sales) forward(ctx context.Context, sale FoldedSale) (fresh FoldedSale, wentBack bool, err error) {
	stream, follows := domain.SaleStream(sale.ID), sale.Version == 0
	fresh = sale
	err = eachRecord(ctx, s.store, stream, max(sale.Version-1, 0), func(r *eventstore.Record) error {
		if !follows {
			if r.At() != sale.Mark {
				return errWentBack
			}
			follows = true
			return nil
		}
		ev, err := decode(r)
		if err != nil {
			return err
		}
		fresh = fresh.with(ev, r)
		return nil
	})
	switch {
	case errors.Is(err, errWentBack), err == nil && !follows:
		fresh, _, err = s.forward(ctx, FoldedSale{Sale: domain.Sale{ID: sale.ID}})
		return fresh, true, err
	case err != nil:
		return FoldedSale{}, false, fmt.Errorf("fold sale %s: %w", sale.ID, err)
	}
	return fresh, false, nil
}

// errWentBack: a stream does not hold what was read of it before.
var errWentBack = errors.New("the log went back")

// IDs lists every sale id in the log, in byte order.
func (s *Sales) IDs(ctx context.Context) ([]string, error) {
	prefix := domain.SaleStream("")
	var ids []string
	after := ""
	for {
		names, err := s.store.Streams(ctx, prefix, after, streamPage)
		if err != nil {
			return nil, fmt.Errorf("list sales: %w", err)
		}
		for _, name := range names {
			ids = append(ids, name[len(prefix):])
			after = name
		}
		if len(names) < streamPage {
			return ids, nil
		}
	}
}

// Places lists the places of a sale in the gate, one per bucket; none of a sale that
// has no gate.
func Places(store uint8, sale domain.Sale) []domain.Place {
	if sale.Gateless() {
		return nil
	}
	places := make([]domain.Place, sale.Terms.Buckets)
	for b := range places {
		places[b] = domain.Place{Store: store, Sale: sale.ID, Bucket: b}
	}
	return places
}
