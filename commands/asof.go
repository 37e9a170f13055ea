package commands

import (
	"context"
	"fmt"
	"strings"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// AsOfScope bounds what is folded: one stream, one order, one sale with its
// stock and orders, or with the zero value the whole store. What is given must
// all hold.
type AsOfScope struct {
	Stream string
	Sale   string
	Order  string
}

// Past is what had happened when the log stood At a place: every sale, stock and
// order of the scope in the order in which they first appeared. Nothing that came
// later shows in it, and nothing outside the log.
type Past struct {
	// At is the place, the zero Mark before the first event; RecordedAt is its time.
	At         eventstore.Mark
	RecordedAt time.Time
	// Events is how many were folded.
	Events int64
	Sales  []PastSale
	Stocks []PastStock
	Orders []PastOrder
}

// PastSale is a sale as it was.
type PastSale struct {
	Stream string
	domain.Sale
}

// PastStock is the account of one item in one bucket of a sale as it was.
type PastStock struct {
	Stream string
	Key    domain.StockKey
	domain.Account
}

// PastOrder is an order as it was. PlacedAt is when its first event was recorded.
type PastOrder struct {
	Stream   string
	PlacedAt time.Time
	TraceID  string
	domain.Order
}

// asOfPage is how many records are read in one statement.
const asOfPage = 1000

// AsOf folds the log up to a position, included; 0 gives the empty Past. It only
// reads, and holds what it folded in memory: some hundred bytes an order. A
// stream that does not begin with its first event, or an event that cannot be
// read, is an error that names the place: half a state would be no evidence.
func AsOf(ctx context.Context, log eventstore.Reader, scope AsOfScope, position int64) (*Past, error) {
	p := &pastFold{past: &Past{}, last: map[string]int64{}, sales: map[string]int{}, stocks: map[string]int{}, orders: map[string]int{}}
	if position == 0 {
		return p.past, nil
	}
	record, ok, err := log.At(ctx, position)
	if err != nil {
		return nil, fmt.Errorf("read position %d: %w", position, err)
	}
	if !ok {
		return nil, &NoPositionError{Position: position}
	}
	p.past.At, p.past.RecordedAt = record.Head(), record.RecordedAt
	filter := eventstore.Filter{Stream: scope.Stream, SaleID: scope.Sale, To: position}
	if scope.Order != "" && scope.Stream == "" {
		filter.Stream = domain.OrderStream(scope.Order)
	} else {
		filter.OrderID = scope.Order
	}
	var after int64
	for {
		page, err := log.Find(ctx, filter, after, asOfPage)
		if err != nil {
			return nil, fmt.Errorf("read what happened up to position %d: %w", position, err)
		}
		for i := range page {
			if err := p.add(&page[i]); err != nil {
				return nil, err
			}
			after = page[i].Position
		}
		if len(page) < asOfPage {
			return p.past, nil
		}
	}
}

// NoPositionError says that the log has no such position: it is not that long,
// or the position was archived.
type NoPositionError struct{ Position int64 }

// Error is a sentence.
func (e *NoPositionError) Error() string {
	return fmt.Sprintf("the log holds no position %d: it ends before, or that part was archived", e.Position)
}

// PositionAt gives the last position that was recorded at t or before, 0 when
// there is none. Times never go back along positions, so that some thirty looks
// by position find it in any log. What was archived counts as before t.
func PositionAt(ctx context.Context, log eventstore.Reader, t time.Time) (int64, error) {
	head, err := log.Head(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the head of the log: %w", err)
	}
	from, to := int64(0), head.Number // from is at or before t, what lies behind to is not
	for from < to {
		middle := from + (to-from+1)/2
		record, ok, err := log.At(ctx, middle)
		if err != nil {
			return 0, fmt.Errorf("read position %d: %w", middle, err)
		}
		if ok && record.RecordedAt.After(t) {
			to = middle - 1
		} else {
			from = middle
		}
	}
	return from, nil
}

// pastFold folds records into a Past.
type pastFold struct {
	past   *Past
	last   map[string]int64 // version by stream
	sales  map[string]int   // index by stream
	stocks map[string]int
	orders map[string]int
}

func (p *pastFold) add(r *eventstore.Record) error {
	if r.Version != p.last[r.Stream]+1 {
		return fmt.Errorf("position %d, %s version %d: version %d of the stream is not there (archived, or lost: `seckill audit verify` tells)",
			r.Position, r.Stream, r.Version, p.last[r.Stream]+1)
	}
	p.last[r.Stream] = r.Version
	kind, _, _ := strings.Cut(r.Stream, "-")
	if kind != "sale" && kind != "stock" && kind != "order" {
		return nil // not part of what is told
	}
	ev, err := decode(r)
	if err != nil {
		return err
	}
	p.past.Events++
	switch kind {
	case "sale":
		s := grow(&p.past.Sales, p.sales, r.Stream)
		s.Stream, s.Sale = r.Stream, s.FoldSale(ev)
	case "order":
		o := grow(&p.past.Orders, p.orders, r.Stream)
		if r.Version == 1 {
			o.Stream, o.PlacedAt, o.TraceID = r.Stream, r.RecordedAt, traceOf(r)
		}
		o.Order = o.FoldOrder(ev)
	case "stock":
		s := grow(&p.past.Stocks, p.stocks, r.Stream)
		if r.Version == 1 {
			if s.Key, err = domain.ParseStockStream(r.Stream); err != nil {
				return fmt.Errorf("position %d: %w", r.Position, err)
			}
		}
		s.Stream, s.Account = r.Stream, s.Fold(ev)
	}
	return nil
}

// grow gives the place of a stream in a list, adding it when it is new.
func grow[T any](list *[]T, index map[string]int, stream string) *T {
	i, ok := index[stream]
	if !ok {
		i = len(*list)
		index[stream] = i
		*list = append(*list, *new(T))
	}
	return &(*list)[i]
}
