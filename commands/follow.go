package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"seckill/domain"
	"seckill/eventstore"
)

// ErrNotPrefix: what the gate has applied is no part of the stream: the log went
// back, or the hash is of another history. It must start again from version 0.
var ErrNotPrefix = errors.New("the gate holds what the log does not")

// ErrHashMissing: the gate does not hold the record or the stock hash.
var ErrHashMissing = errors.New("the gate does not hold this record")

// FollowerGate is what a Follower asks of the gate.
type FollowerGate interface {
	Applier
	Peek(ctx context.Context, place domain.Place, skus []string) (Peeked, error)
}

// Follower brings streams of the log into the gate, page by page, each page
// only if the gate stands exactly where the page begins.
type Follower struct {
	env  *Env
	log  eventstore.Reader
	gate FollowerGate

	// Gateless tells of which sales no gate holds anything: they are passed over. Nil: of
	// none.
	Gateless func(ctx context.Context, sale string) bool

	mu    sync.Mutex
	marks map[string]eventstore.Mark // where a stock hash stood when last applied to
	// seen is the newest place of the log that was met. While the log has it, every mark
	// is a place of its stream; when it has not, the log went back, and another era of
	// marks begins.
	seen eventstore.Mark
	era  int
}

// stockRef is a stock hash, and the era in which it is brought forward.
type stockRef struct {
	place domain.Place
	sku   string
	era   int
}

func (s *stockRef) stream() string { return domain.StockStream(s.place.Sale, s.sku, s.place.Bucket) }

// NewFollower makes a Follower.
func NewFollower(env *Env, log eventstore.Reader, gate FollowerGate) *Follower {
	return &Follower{env: env, log: log, gate: gate, marks: map[string]eventstore.Mark{}}
}

// followPage is how many events go into the gate in one step.
const followPage = 500

// maxMarks bounds what a Follower remembers.
const maxMarks = 100_000

// Push brings records that were just stored into the gate. Records of streams
// other than stock, and of sales that have no gate, are passed over.
func (f *Follower) Push(ctx context.Context, records []eventstore.Record) error {
	if len(records) == 0 {
		return nil
	}
	era := f.eraOf(ctx, &records[0])
	var order []string
	byStream := map[string][]eventstore.Record{}
	for _, r := range records {
		if !strings.HasPrefix(r.Stream, "stock-") {
			continue
		}
		if _, ok := byStream[r.Stream]; !ok {
			order = append(order, r.Stream)
		}
		byStream[r.Stream] = append(byStream[r.Stream], r)
	}
	// Streams are independent of each other; a gate takes pages that wait at the same
	// time together.
	faults := make([]error, len(order))
	var next atomic.Int64
	var pushing sync.WaitGroup
	for range min(pushers, len(order)) {
		pushing.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(order)); i = next.Add(1) - 1 {
				faults[i] = f.push(ctx, order[i], byStream[order[i]], era)
			}
		})
	}
	pushing.Wait()
	return errors.Join(faults...)
}

// pushers is how many streams are brought into the gate at once.
const pushers = 128

func (f *Follower) push(ctx context.Context, stream string, records []eventstore.Record, era int) error {
	key, err := domain.ParseStockStream(stream)
	if err != nil {
		return err
	}
	if f.passes(ctx, key.Sale) {
		return nil
	}
	place := domain.Place{Store: f.env.Store, Sale: key.Sale, Bucket: key.Bucket}
	f.mu.Lock()
	from := f.marks[stream]
	f.mu.Unlock()
	last := records[len(records)-1]
	if from.Number > last.Version || from == last.At() {
		return nil // it came along with what was read after it
	}
	if from.Number != records[0].Version-1 || !inSequence(records) {
		_, err := f.CatchUpStock(ctx, place, key.SKU)
		return err
	}
	done, err := f.apply(ctx, stockRef{place, key.SKU, era}, from, records)
	if err != nil || done {
		return err
	}
	_, err = f.CatchUpStock(ctx, place, key.SKU)
	return err
}

// eraOf makes sure that the marks are of the log that a record was read from, or stored
// in, and forgets them otherwise: where the log went back (a standby that had lost
// commits was promoted) and grew again, a version after the one remembered says nothing
// of what stands before it, and the gate, which remembers the same, would take it.
func (f *Follower) eraOf(ctx context.Context, r *eventstore.Record) int {
	f.mu.Lock()
	seen, era := f.seen, f.era
	f.mu.Unlock()
	if seen.Number == 0 || r.Head() == seen || eventstore.CheckNext(seen, r) == nil {
		return era
	}
	at, ok, err := f.log.At(ctx, seen.Number)
	if err == nil && ok && at.Head() == seen {
		return era
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.era == era { // also where nobody can say: then the log is read again
		clear(f.marks)
		f.seen = eventstore.Mark{}
		f.era++
	}
	return f.era
}

// inSequence tells whether nobody else stored something of the stream between these.
func inSequence(records []eventstore.Record) bool {
	for i := range records {
		if records[i].Version != records[0].Version+int64(i) {
			return false
		}
	}
	return true
}

// passes tells whether a sale is passed over.
func (f *Follower) passes(ctx context.Context, sale string) bool {
	return f.Gateless != nil && f.Gateless(ctx, sale)
}

// apply brings consecutive records of a stock stream in; done is false when the
// gate did not stand at from.
func (f *Follower) apply(ctx context.Context, s stockRef, from eventstore.Mark, records []eventstore.Record) (done bool, err error) {
	last := &records[len(records)-1]
	for len(records) > 0 {
		n := min(followPage, len(records))
		page := StockPage{Place: s.place, SKU: s.sku, From: from, Events: make([]StockEvent, n)}
		for i := range n {
			ev, err := decode(&records[i])
			if err != nil {
				return false, err
			}
			page.Events[i] = StockEvent{At: records[i].At(), Event: ev}
		}
		applied, err := f.gate.ApplyStock(ctx, page)
		if err != nil {
			return false, fmt.Errorf("apply %d events of %s: %w", n, records[0].Stream, err)
		}
		if !applied.Done {
			f.forget(records[0].Stream)
			return false, nil
		}
		from, records = applied.Applied, records[n:]
	}
	f.remember(s, last)
	return true, nil
}

// remember notes that a stock hash stands at a record, unless another era has begun.
func (f *Follower) remember(s stockRef, r *eventstore.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.era != s.era {
		return
	}
	if len(f.marks) >= maxMarks {
		clear(f.marks)
	}
	f.marks[s.stream()] = r.At()
	if r.Position > f.seen.Number {
		f.seen = r.Head()
	}
}

func (f *Follower) forget(stream string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.marks, stream)
}

// CatchUpStock brings a stock hash to the head of its stream and gives the place
// it stands at then. ErrHashMissing, ErrNotPrefix: it must be built again.
func (f *Follower) CatchUpStock(ctx context.Context, place domain.Place, sku string) (eventstore.Mark, error) {
	return f.catchUpStock(ctx, place, sku, func(int) {})
}

// catchUpStock is CatchUpStock that tells how many events went in, page by page.
func (f *Follower) catchUpStock(ctx context.Context, place domain.Place, sku string, applied func(int)) (eventstore.Mark, error) {
	stream := domain.StockStream(place.Sale, sku, place.Bucket)
	for {
		seen, err := f.gate.Peek(ctx, place, []string{sku})
		if err != nil {
			return eventstore.Mark{}, fmt.Errorf("look at %s in the gate: %w", stream, err)
		}
		if seen.Stocks[0].State == HashMissing || seen.Sale.State == HashMissing {
			return eventstore.Mark{}, fmt.Errorf("%s: %w", stream, ErrHashMissing)
		}
		from := seen.Stocks[0].Applied
		at, records, err := f.after(ctx, stream, from)
		if err != nil {
			return from, err
		}
		if len(records) == 0 {
			if at != nil {
				f.remember(stockRef{place, sku, f.eraOf(ctx, at)}, at)
			}
			return from, nil
		}
		s := stockRef{place, sku, f.eraOf(ctx, &records[len(records)-1])}
		done, err := f.apply(ctx, s, from, records)
		if err != nil {
			return from, err
		}
		if !done {
			continue
		}
		applied(len(records))
		if len(records) >= followPage {
			if err := f.runOn(ctx, s, records[len(records)-1].At(), applied); err != nil {
				return from, err
			}
		}
	}
}

// runOn applies a long stream after a mark, reading one page while the one before
// is applied. It ends early, without an error, wherever anything is not as it
// expects: its caller looks again.
func (f *Follower) runOn(ctx context.Context, s stockRef, from eventstore.Mark, applied func(int)) error {
	stream := s.stream()
	ctx, stop := context.WithCancel(ctx)
	pages := make(chan []eventstore.Record)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer stop()
	reading.Go(func() {
		defer close(pages)
		for after := from; ; {
			_, page, err := f.after(ctx, stream, after) // of the same log as the page before
			if err != nil || len(page) == 0 {
				return
			}
			after = page[len(page)-1].At()
			select {
			case pages <- page:
			case <-ctx.Done():
				return
			}
		}
	})
	for page := range pages {
		if page[0].Version != from.Number+1 {
			return nil
		}
		done, err := f.apply(ctx, s, from, page)
		if err != nil || !done {
			return err
		}
		applied(len(page))
		from = page[len(page)-1].At()
	}
	return nil
}

// after gives the record at a mark, nil before the first, and a page of the stream after
// it, if the stream has that mark.
func (f *Follower) after(ctx context.Context, stream string, from eventstore.Mark) (at *eventstore.Record, page []eventstore.Record, err error) {
	begin := max(from.Number-1, 0)
	records, err := f.log.ReadStream(ctx, stream, begin, followPage+1)
	if err != nil {
		return nil, nil, fmt.Errorf("read stream %s after %d: %w", stream, begin, err)
	}
	if from.Number == 0 {
		return nil, records, nil
	}
	if len(records) == 0 || records[0].At() != from {
		return nil, nil, fmt.Errorf("%s at %d: %w", stream, from.Number, ErrNotPrefix)
	}
	return &records[0], records[1:], nil
}

// CatchUpSale brings the gate's record of a sale to the head of its stream.
// ErrHashMissing: it must be built again. ErrNotPrefix: what it has applied cannot
// be read, so it must start again.
func (f *Follower) CatchUpSale(ctx context.Context, sales *Sales, place domain.Place) (eventstore.Mark, error) {
	return f.catchUpSale(ctx, sales, place, true)
}

// RewriteSale is CatchUpSale that writes the record again, whatever it says,
// although it stands at the head. One that is held is left alone: whoever holds it
// is about to write it.
func (f *Follower) RewriteSale(ctx context.Context, sales *Sales, place domain.Place) (eventstore.Mark, error) {
	return f.catchUpSale(ctx, sales, place, false)
}

// catchUpSale goes on until the record stands at the head, and was written unless
// that is good enough.
func (f *Follower) catchUpSale(ctx context.Context, sales *Sales, place domain.Place, written bool) (eventstore.Mark, error) {
	for {
		// The gate is looked at first: a fold that is read after it is never older
		// than what the gate has, unless the log went back.
		seen, err := f.gate.Peek(ctx, place, nil)
		switch {
		case err != nil:
			return eventstore.Mark{}, fmt.Errorf("look at sale %s in the gate: %w", place.Sale, err)
		case seen.Sale.State == HashMissing:
			return eventstore.Mark{}, fmt.Errorf("sale %s: %w", place.Sale, ErrHashMissing)
		case seen.Sale.Applied.Number == Unreadable:
			return eventstore.Mark{}, fmt.Errorf("sale %s: what it has applied cannot be read: %w", place.Sale, ErrNotPrefix)
		}
		sale, err := sales.Fold(ctx, place.Sale)
		if err != nil {
			return eventstore.Mark{}, err
		}
		if seen.Sale.Applied == sale.Mark && (written || seen.Sale.Held) {
			return sale.Mark, nil
		}
		// The record is replaced by the fold, whatever it held: terms carry no
		// account that could be counted twice.
		done, err := f.gate.ApplySale(ctx, SalePage{Place: place, From: seen.Sale.Applied, To: sale.Mark, Sale: sale.Sale})
		if err != nil {
			return eventstore.Mark{}, fmt.Errorf("apply sale %s: %w", place.Sale, err)
		}
		written = written || done.Done
	}
}
