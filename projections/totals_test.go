package projections_test

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/projections"
)

// looked is what one look at all views saw.
type looked struct {
	at      map[string][]eventstore.Mark
	orders  []projections.OrderTotal
	stock   []projections.StockTotal
	summary []projections.SummaryRow
}

func (h *house) look() looked {
	h.t.Helper()
	l := looked{at: map[string][]eventstore.Mark{}}
	err := projections.NewViews(h.pool).Totals(h.ctx(), 1, func(totals *projections.Totals) (err error) {
		for _, p := range projections.All() {
			if l.at[p.Name], err = totals.At(p); err != nil {
				return err
			}
		}
		for after := ""; ; {
			page, err := totals.Orders(h.ctx(), h.sale, after, 7)
			if err != nil {
				return err
			}
			if len(page) == 0 {
				break
			}
			l.orders = append(l.orders, page...)
			after = page[len(page)-1].ID
		}
		if l.stock, err = totals.Stock(h.ctx(), h.sale); err != nil {
			return err
		}
		l.summary, err = totals.Summary(h.ctx(), h.sale)
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return l
}

// Whenever one looks, the views are exactly the fold of the log up to the
// checkpoints of that moment: this is what reconciliation rests on.
func TestTotalsAreTheFoldUpToTheirCheckpointsWhileTheLogGrows(t *testing.T) {
	h := newHouse(t)
	h.release(100_000)
	p := h.projector(projections.All(), quick())
	h.run(p)
	var writing sync.WaitGroup
	writing.Go(func() { h.live(80) })
	var looks []looked
	done := make(chan struct{})
	go func() { writing.Wait(); close(done) }()
	for over := false; !over; {
		select {
		case <-done:
			over = true
			h.settle(projections.All())
		default:
		}
		looks = append(looks, h.look())
	}
	records := h.records()
	partial := 0
	for _, l := range looks {
		h.sameAsFold(l, records)
		if len(l.orders) > 0 && len(l.orders) < 80 {
			partial++
		}
	}
	if partial == 0 {
		t.Error("nobody looked while the log grew: this test shows nothing")
	}
}

// foldedViews is the log up to the checkpoints of a look.
type foldedViews struct {
	orders  []projections.OrderTotal
	left    int64
	summary map[int]projections.Counts
}

func (h *house) foldTo(at map[string][]eventstore.Mark, records []eventstore.Record) foldedViews {
	h.t.Helper()
	orders := map[string]domain.Order{}
	position, first := map[string]int64{}, map[string]*eventstore.Record{}
	var account domain.Account
	f := foldedViews{summary: map[int]projections.Counts{}}
	for i := range records {
		r := &records[i]
		e, err := domain.Decode(r.Type, r.Schema, r.Payload)
		if err != nil {
			h.t.Fatal(err)
		}
		shard := r.Shard(eventstore.DefaultShards)
		within := func(view string) bool { return r.Position <= at[view][shard].Number }
		ofOrder := r.Stream == domain.OrderStream(r.OrderID)
		if r.Stream == h.stock() && within("stock_log") {
			account = account.Fold(e)
		}
		if ofOrder && within("order_view") {
			if r.Version == 1 {
				first[r.OrderID] = r
			}
			orders[r.OrderID], position[r.OrderID] = orders[r.OrderID].FoldOrder(e), r.Position
		}
		if ofOrder && within("sale_summary") {
			f.summary[shard] = counted(f.summary[shard], e)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(orders)) {
		o := orders[id]
		var units int64
		for _, line := range o.Lines {
			units += line.Quantity
		}
		o.TermsVersion = 0 // the view does not keep it
		f.orders = append(f.orders, projections.OrderTotal{Units: units, Position: position[id],
			OrderAnswer: projections.OrderAnswer{Order: o, PlacedAt: first[id].RecordedAt, TraceID: traceOf(h.t, first[id])}})
	}
	f.left = account.Left()
	return f
}

func traceOf(t testing.TB, r *eventstore.Record) string {
	t.Helper()
	var meta struct {
		TraceID string `json:"trace_id"`
	}
	if err := json.Unmarshal(r.Metadata, &meta); err != nil {
		t.Fatal(err)
	}
	return meta.TraceID
}

func (h *house) sameAsFold(l looked, records []eventstore.Record) {
	h.t.Helper()
	want := h.foldTo(l.at, records)
	if diff := cmp.Diff(want.orders, l.orders); diff != "" {
		h.t.Errorf("orders (- fold, + view):\n%s", diff)
	}
	if left := leftOf(l.stock); left != want.left {
		h.t.Errorf("stock log says %d left, the fold up to its checkpoints %d", left, want.left)
	}
	got := map[int]projections.Counts{}
	for _, row := range l.summary {
		got[row.Shard] = plus(got[row.Shard], row.Counts)
	}
	if diff := cmp.Diff(want.summary, got); diff != "" {
		h.t.Errorf("summary by shard (- fold, + view):\n%s", diff)
	}
}

func leftOf(stock []projections.StockTotal) int64 {
	var left int64
	for _, s := range stock {
		left += s.Left
	}
	return left
}

func counted(c projections.Counts, e domain.Event) projections.Counts {
	switch e := e.(type) {
	case *domain.OrderPlaced:
		c.Placed++
		c.Units += e.Lines[0].Quantity
	case *domain.OrderRejected:
		c.Rejected++
	case *domain.OrderPaid:
		c.Paid++
	case *domain.OrderCancelled:
		c.Cancelled++
	case *domain.OrderExpired:
		c.Expired++
	}
	return c
}

func plus(a, b projections.Counts) projections.Counts {
	return projections.Counts{
		Placed: a.Placed + b.Placed, Rejected: a.Rejected + b.Rejected, Paid: a.Paid + b.Paid,
		Cancelled: a.Cancelled + b.Cancelled, Expired: a.Expired + b.Expired, Units: a.Units + b.Units,
	}
}
