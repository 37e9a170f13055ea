package e2e

import (
	"context"
	"flag"
	"runtime"
	"sync"
	"testing"
	"time"

	"seckill/commands"
	"seckill/projections"
)

var reconcileOrders = flag.Int("reconcile.orders", 2000, "orders of the sale that is reconciled in a benchmark")

// BenchmarkReconcile tells how long one reconciliation of a sale takes, and how
// much memory per order it holds while it judges. The orders are appended in pages,
// as a recorder does, each with an idempotency key and a ticket; the gate gets them by a
// rehydration and the views by a rebuild.
func BenchmarkReconcile(b *testing.B) {
	rig := NewRig(b)
	seeder := rig.Node(b, NodeOptions{APIOnly: true})
	terms := Terms(int64(*reconcileOrders))
	terms.ClosesAt, terms.PaymentWindow = time.Now().Add(24*time.Hour), 86400 // longer than a benchmark
	sale, err := seeder.Operator.Schedule(context.Background(), terms, commands.Actor{By: "test"})
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	seeder.seed(b, sale.ID, *reconcileOrders)
	b.Logf("%d orders in the log after %s", *reconcileOrders, time.Since(began).Round(time.Second))
	source := projections.Source{Store: int16(seeder.Env.Store), Log: seeder.Store}
	var gate, views error
	var both sync.WaitGroup
	both.Go(func() { _, gate = seeder.Keeper.Rehydrate(context.Background(), sale.ID, nil) })
	both.Go(func() {
		_, views = projections.Rebuild(context.Background(), rig.Pool, source, projections.All(), projections.RebuildOptions{})
	})
	both.Wait()
	if gate != nil || views != nil {
		b.Fatalf("rehydrate: %v; rebuild: %v", gate, views)
	}
	b.Logf("in gate and views after %s", time.Since(began).Round(time.Second))
	seeder.Stop()
	n := rig.Node(b, NodeOptions{})
	n.AwaitOpen(b, sale.ID)
	awaitViews(b, rig, n, 5*time.Minute)
	peak, stop := watchHeap()
	for b.Loop() {
		report, err := n.Reconciler.Reconcile(context.Background(), sale.ID)
		if err != nil || report.Drift() != 0 || report.Sales[0].Reserved != int64(*reconcileOrders) {
			b.Fatalf("got %+v, %v", report, err)
		}
	}
	stop()
	b.ReportMetric(float64(*peak)/float64(*reconcileOrders), "peak-B/order")
}

// awaitViews waits until every view has what the log has.
func awaitViews(t testing.TB, rig *Rig, n *Node, within time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	head, err := n.Store.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	progress := projections.Progress{DB: rig.Pool, Source: projections.Source{Store: int16(n.Env.Store), Log: n.Store}, Projections: projections.All()}
	if err := progress.WaitFor(ctx, head.Number); err != nil {
		t.Fatalf("wait for the views: %v", err)
	}
}

// watchHeap follows how far the heap grows.
func watchHeap() (peak *uint64, stop func()) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	base := m.HeapAlloc
	peak = new(uint64)
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-end:
				return
			case <-time.After(20 * time.Millisecond):
				runtime.ReadMemStats(&m)
				if m.HeapAlloc > base {
					*peak = max(*peak, m.HeapAlloc-base)
				}
			}
		}
	}()
	return peak, func() { close(end); <-done }
}
