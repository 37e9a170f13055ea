package e2e

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/domain"
)

var reconcileOrders = flag.Int("reconcile.orders", 2000, "orders of the sale that is reconciled in a benchmark")

// BenchmarkReconcile tells how long one reconciliation of a sale takes, and how
// much memory per order it holds while it judges.
func BenchmarkReconcile(b *testing.B) {
	rig := NewRig(b)
	n := rig.Node(b, NodeOptions{})
	sale := n.Schedule(b, Terms(int64(*reconcileOrders)))
	var next, sold atomic.Int64
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for i := next.Add(1); int(i) <= *reconcileOrders; i = next.Add(1) {
				for { // a busy machine may refuse for a moment
					res, err := n.Buy(sale, fmt.Sprintf("buyer-%08d", i))
					if err == nil && (res.Outcome == domain.Reserved || res.Outcome == domain.Repeat) {
						sold.Add(1)
						break
					}
				}
			}
		})
	}
	all.Wait()
	(&plant{t: b, rig: rig}).projected(n)
	if report, err := n.Reconciler.Reconcile(context.Background(), sale); err != nil || report.Drift() != 0 {
		b.Fatalf("got %+v, %v", report, err)
	}
	peak, stop := watchHeap()
	b.ResetTimer()
	for range b.N {
		if _, err := n.Reconciler.Reconcile(context.Background(), sale); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	stop()
	b.ReportMetric(float64(*peak)/float64(*reconcileOrders), "peak-B/order")
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
