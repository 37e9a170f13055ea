package e2e

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/domain"
)

// BenchmarkSoldOutOfManyBuckets refuses ever new buyers of a sale whose units are gone,
// 256 at once, and tells what a refusal costs by how many buckets it is proven over.
func BenchmarkSoldOutOfManyBuckets(b *testing.B) {
	for _, of := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprintf("buckets=%d", of), func(b *testing.B) {
			n := NewRig(b).Node(b, NodeOptions{})
			terms := Terms(10)
			terms.Buckets = of
			sale := n.Schedule(b, terms)
			for i := range 12 {
				for told := false; !told; {
					res, err := n.Buy(sale, fmt.Sprintf("first-%d", i))
					told = err == nil && (res.Outcome == domain.Reserved || res.Outcome == domain.SoldOut)
				}
			}
			var next, refused atomic.Int64
			var all sync.WaitGroup
			began := time.Now()
			b.ResetTimer()
			for range 256 {
				all.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if res, err := n.Buy(sale, fmt.Sprintf("late-%d", i)); err == nil && res.Outcome == domain.SoldOut {
							refused.Add(1)
						}
					}
				})
			}
			all.Wait()
			b.StopTimer()
			if refused.Load() != int64(b.N) {
				b.Errorf("%d of %d buyers were told sold out", refused.Load(), b.N)
			}
			b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "refusals/s")
		})
	}
}
