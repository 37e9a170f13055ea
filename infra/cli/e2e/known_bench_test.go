package e2e

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// BenchmarkRefusals turns distinct buyers away in the ways that a node has, from 256
// goroutines, from the purchase command down: with a new order id, a script and a
// journal body each where the gate is asked to reserve.
func BenchmarkRefusals(b *testing.B) {
	n := NewRig(b).Node(b, NodeOptions{})
	asking := commands.NewPurchaser(n.Env, n.Sales, n.Gate, n.Finder, n.Kept, commands.PurchaserOptions{})
	later := Terms(1)
	later.OpensAt = time.Now().Add(30 * time.Minute)
	gone, early := n.Schedule(b, Terms(1)), n.Schedule(b, later)
	n.accepted(b, gone, "owner", 1)
	for _, way := range []struct {
		name      string
		purchaser *commands.Purchaser
		sale      string
		want      domain.Outcome
	}{
		{"sold out, by reserving", asking, gone, domain.SoldOut},
		{"sold out, by a look", n.Purchaser, gone, domain.SoldOut},
		{"too early, by reserving", asking, early, domain.TooEarly},
		{"too early, from memory", n.Purchaser, early, domain.TooEarly},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			var next atomic.Int64
			var all sync.WaitGroup
			for range 256 {
				all.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						result, err := way.purchaser.Purchase(b.Context(), commands.PurchaseRequest{
							Buyer: fmt.Sprintf("buyer-%d", i), Sale: way.sale, Lines: []domain.Line{{SKU: "item", Quantity: 1}},
						})
						if err != nil || result.Outcome != way.want {
							b.Errorf("got %s, %v; want %s", result.Outcome, err, way.want)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "refusals/s")
		})
	}
}
