package projections_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/domain"
	"seckill/eventstore/pgstore"
	"seckill/infra/pg"
	"seckill/infra/pg/pgtest"
	"seckill/projections"
)

// B54: 10,000 old events, 200 a second live, and readers who never stop looking.
func TestB54ARebuildWhileLiveEventsFlowAndReadersRead(t *testing.T) {
	h := newHouse(t)
	h.release(1 << 40)
	h.fill(5000)
	p := h.projector(projections.All(), quick())
	h.run(p)
	l, _ := h.connect(p, straight)
	h.settle(projections.All())

	ctx, stop := context.WithCancel(context.Background())
	var flowing sync.WaitGroup
	flowing.Go(func() { // 200 events a second: 100 purchases of two
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for n := 1_000_000; ctx.Err() == nil; n++ {
			<-tick.C
			_, group := h.placed(n)
			h.append(group...)
			l.relay.Notify()
		}
	})
	var looks atomic.Int64
	for range 3 {
		flowing.Go(func() { h.keepReading(ctx, &looks) })
	}
	for i := range 3 {
		report := h.rebuild(projections.RebuildOptions{Page: 500, Batch: 100})
		if report.Events < 10_000 {
			t.Errorf("rebuild %d read %d events, want all of the log", i, report.Events)
		}
	}
	stop()
	flowing.Wait()
	h.settle(projections.All())
	if looks.Load() < 100 {
		t.Errorf("readers looked %d times: this test shows nothing", looks.Load())
	}
	for _, s := range p.Stats() {
		if s.Fault != "" {
			t.Errorf("%s shard %d reports %q", s.Projection, s.Shard, s.Fault)
		}
	}
	h.sameAsQuietReplay()
}

// keepReading reads as people do, with statements that stay prepared, and as the
// reconciler does: what is seen never shrinks, never doubles, and never fails.
func (h *house) keepReading(ctx context.Context, looks *atomic.Int64) {
	views := projections.NewViews(h.pool)
	first := h.orderID(0, "buyer-0")
	var placed, rows int64
	for ctx.Err() == nil {
		s, err := views.Summary(h.ctx(), h.sale)
		if err != nil || s.Placed < placed || s.Placed > placed+5000 && placed > 0 {
			h.t.Errorf("the summary says %d placed after %d, error %v", s.Placed, placed, err)
		}
		placed = s.Placed
		if _, ok, err := views.Order(h.ctx(), first); !ok || err != nil {
			h.t.Errorf("the first order is in the view: %v, error %v", ok, err)
		}
		var n int64
		if err := h.pool.QueryRow(h.ctx(), "select count(*) from order_view where sale_id = $1", h.sale).Scan(&n); err != nil || n < rows || rows > 0 && n > rows+4000 {
			h.t.Errorf("a reader sees %d orders after %d, error %v", n, rows, err)
		}
		rows = n
		err = views.Totals(h.ctx(), 1, func(t *projections.Totals) error { return h.consistent(t) })
		if err != nil {
			h.t.Errorf("totals: %v", err)
		}
		looks.Add(1)
	}
}

// consistent checks, in one snapshot, that the views are not behind the lowest
// and not beyond the highest of their checkpoints.
func (h *house) consistent(t *projections.Totals) error {
	stock, err := t.Stock(h.ctx(), h.sale)
	if err != nil {
		return err
	}
	marks, err := t.At(projections.All()[1])
	if err != nil {
		return err
	}
	low, high := marks[0].Number, marks[0].Number
	for _, m := range marks {
		low, high = min(low, m.Number), max(high, m.Number)
	}
	// Every second event of this log is about stock.
	if rows := stock[0].Rows; rows < low/2-1 || rows > high/2+1 {
		return fmt.Errorf("stock_log has %d rows with checkpoints at %d to %d", rows, low, high)
	}
	return nil
}

// B78: another process in another zone folds to the same bytes.
func TestB78ARebuildInAnotherProcessAndZoneGivesTheSameBytes(t *testing.T) {
	if os.Getenv("REBUILD_URL") != "" {
		rebuildElsewhere(t)
		return
	}
	pool, url, namespace := pgtest.New(t)
	store, err := pgstore.New(pool, namespace, pgstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(context.Background())
	h := &house{t: t, pool: pool, store: store, sale: domain.SaleNumber(1).ID()}
	h.release(1 << 30)
	h.live(80)
	h.rebuild(projections.RebuildOptions{})
	want := h.dump()
	for _, zone := range []string{"UTC", "Asia/Shanghai", "America/St_Johns"} {
		child := exec.CommandContext(h.ctx(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		child.Env = append(os.Environ(), "TZ="+zone, "PGTZ="+zone, "REBUILD_URL="+url, "REBUILD_NAMESPACE="+namespace)
		if out, err := child.CombinedOutput(); err != nil || !strings.Contains(string(out), "rebuilt in "+zone) {
			t.Fatalf("in %s: %v\n%s", zone, err, out)
		}
		h.sameRows(h.dump(), want)
	}
}

func rebuildElsewhere(t *testing.T) {
	namespace := os.Getenv("REBUILD_NAMESPACE")
	pool, err := pg.Open(context.Background(), os.Getenv("REBUILD_URL"), pg.Options{Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	store, err := pgstore.New(pool, namespace, pgstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(context.Background())
	h := &house{t: t, pool: pool, store: store}
	h.rebuild(projections.RebuildOptions{Workers: 3, Page: 11, Batch: 4})
	if _, offset := time.Date(2026, 1, 1, 0, 0, 0, 0, time.Local).Zone(); (offset == 0) != (os.Getenv("TZ") == "UTC") {
		t.Errorf("this process lives %d s from UTC, not in %s", offset, os.Getenv("TZ"))
	}
	fmt.Println("rebuilt in " + os.Getenv("TZ"))
}
