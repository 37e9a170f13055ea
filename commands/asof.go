package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// AsOfScope bounds what is folded: one stream, one order, one sale with its
// stock and orders, or with the zero value the whole store. A stream or order of
// another sale than the one that is given as well is left out.
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
	Sales  []*PastSale
	Stocks []*PastStock
	Orders []*PastOrder
	// Unread names the events that cannot be read, one a stream: that stream is told
	// as it was before the event, and nothing of it that came later.
	Unread []*UnreadableError
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
// reads, and holds what it folded in memory: about a kilobyte an order. A
// stream that does not begin with its first event is an error that names the
// place; an event that cannot be read ends what is told of its stream, and only
// of that, and is named in Unread: half a state would be no evidence.
func AsOf(ctx context.Context, log eventstore.Reader, scope AsOfScope, position int64) (*Past, error) {
	p := &pastFold{past: &Past{}, sales: map[string]*PastSale{}, stocks: map[string]*PastStock{}, orders: map[string]*PastOrder{}, ended: map[string]bool{}}
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
	if scope.Order != "" && scope.Stream == "" {
		scope.Stream = domain.OrderStream(scope.Order)
	}
	if scope.Stream != "" {
		if err := p.stream(ctx, log, scope, position); err != nil {
			return nil, err
		}
		return p.done(), nil
	}
	var after int64
	for {
		page, err := log.Find(ctx, eventstore.Filter{SaleID: scope.Sale, To: position}, after, asOfPage)
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
			return p.done(), nil
		}
	}
}

// errPastEnd ends the reading of a stream.
var errPastEnd = errors.New("the end of what is asked for")

// stream folds one stream up to a position, by its versions: a stream of a hot
// stock is long.
func (p *pastFold) stream(ctx context.Context, log eventstore.Reader, scope AsOfScope, position int64) error {
	err := eachRecord(ctx, log, scope.Stream, 0, func(r *eventstore.Record) error {
		switch {
		case r.Position > position:
			return errPastEnd
		case scope.Sale != "" && r.SaleID != scope.Sale:
			return nil
		}
		return p.add(r)
	})
	if errors.Is(err, errPastEnd) {
		return nil
	}
	return err
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

// pastFold folds records into a Past. Its maps are by stream.
type pastFold struct {
	past   *Past
	sales  map[string]*PastSale
	stocks map[string]*PastStock
	orders map[string]*PastOrder
	ended  map[string]bool // streams that cannot be read on
}

func (p *pastFold) add(r *eventstore.Record) error {
	kind, _, _ := strings.Cut(r.Stream, "-")
	switch kind {
	case "sale":
		return p.addTo(r, known(&p.past.Sales, p.sales, r.Stream))
	case "stock":
		return p.addTo(r, known(&p.past.Stocks, p.stocks, r.Stream))
	case "order":
		return p.addTo(r, known(&p.past.Orders, p.orders, r.Stream))
	}
	return nil // not part of what is told
}

// done leaves out the streams of which not even the first event can be read.
func (p *pastFold) done() *Past {
	p.past.Sales = slices.DeleteFunc(p.past.Sales, func(s *PastSale) bool { return s.Version == 0 })
	p.past.Stocks = slices.DeleteFunc(p.past.Stocks, func(s *PastStock) bool { return s.Version == 0 })
	p.past.Orders = slices.DeleteFunc(p.past.Orders, func(o *PastOrder) bool { return o.Version == 0 })
	return p.past
}

// pastState is what a stream folds into.
type pastState interface {
	folded() int64 // the version it has come to
	fold(r *eventstore.Record, ev domain.Event) error
}

func (p *pastFold) addTo(r *eventstore.Record, s pastState) error {
	if p.ended[r.Stream] {
		return nil
	}
	if r.Version != s.folded()+1 {
		return fmt.Errorf("position %d, %s version %d: version %d of the stream is not there (archived, or lost: `seckill audit verify` tells)",
			r.Position, r.Stream, r.Version, s.folded()+1)
	}
	ev, err := decode(r)
	if err == nil {
		err = s.fold(r, ev)
	}
	var unread *UnreadableError
	if errors.As(err, &unread) {
		p.ended[r.Stream] = true
		p.past.Unread = append(p.past.Unread, unread)
		return nil
	}
	if err == nil {
		p.past.Events++
	}
	return err
}

func (s *PastSale) folded() int64  { return s.Version }
func (s *PastStock) folded() int64 { return s.Version }
func (o *PastOrder) folded() int64 { return o.Version }

func (s *PastSale) fold(r *eventstore.Record, ev domain.Event) error {
	s.Stream, s.Sale = r.Stream, s.FoldSale(ev)
	return nil
}

func (s *PastStock) fold(r *eventstore.Record, ev domain.Event) (err error) {
	if r.Version == 1 {
		if s.Key, err = domain.ParseStockStream(r.Stream); err != nil {
			return fmt.Errorf("position %d: %w", r.Position, err)
		}
	}
	s.Stream, s.Account = r.Stream, s.Fold(ev)
	return nil
}

func (o *PastOrder) fold(r *eventstore.Record, ev domain.Event) error {
	if r.Version == 1 {
		o.Stream, o.PlacedAt, o.TraceID = r.Stream, r.RecordedAt, traceOf(r)
	}
	o.Order = o.FoldOrder(ev)
	return nil
}

// known gives the state of a stream, adding it to the list when it is new.
func known[T any](list *[]*T, byStream map[string]*T, stream string) *T {
	state, ok := byStream[stream]
	if !ok {
		state = new(T)
		byStream[stream] = state
		*list = append(*list, state)
	}
	return state
}
