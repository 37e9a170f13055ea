package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/testenv"
)

// heldOrders fills a sale of one item with so many orders that are due.
func heldOrders(b *testing.B, n *Node, orders int) string {
	b.Helper()
	terms := Terms(int64(orders))
	terms.PaymentWindow = 1
	sale := n.Schedule(b, terms)
	var buying sync.WaitGroup
	for w := range 32 {
		buying.Go(func() {
			for i := w; i < orders; i += 32 {
				if _, err := n.Buy(sale, fmt.Sprintf("u%d", i)); err != nil {
					b.Errorf("buy: %v", err)
				}
			}
		})
	}
	buying.Wait()
	testenv.Eventually(b, 2*time.Minute, func() error {
		count := 0
		var after commands.Due
		for {
			page, err := n.Views.Due(context.Background(), after, 5000)
			if err != nil {
				return err
			}
			if count += len(page); len(page) < 5000 {
				break
			}
			after = page[len(page)-1]
		}
		if count < orders {
			return fmt.Errorf("%d of %d orders are due", count, orders)
		}
		return nil
	})
	return sale
}

// BenchmarkExpire ends 10,000 orders of one item that are due at once, until the
// gate has their units. Run it with -benchtime 1x.
func BenchmarkExpire(b *testing.B) {
	const orders = 10_000
	n := NewRig(b).Node(b, NodeOptions{})
	for b.Loop() {
		b.StopTimer()
		sale := heldOrders(b, n, orders)
		expirer := commands.NewExpirer(n.Env, n.Orders, n.Views, commands.ExpirerOptions{})
		b.StartTimer()
		s, err := expirer.Sweep(context.Background())
		if err != nil || s.Expired != orders {
			b.Fatalf("sweep: %+v, %v; want %d expired", s, err, orders)
		}
		n.WantLeft(b, sale, orders)
	}
	b.ReportMetric(float64(orders*b.N)/b.Elapsed().Seconds(), "orders/s")
}

// BenchmarkCancel ends one order after the other, units in the gate included.
func BenchmarkCancel(b *testing.B) {
	n := NewRig(b).Node(b, NodeOptions{})
	sale := n.Schedule(b, Terms(int64(b.N)+1000))
	orders := make([]string, b.N)
	for i := range orders {
		orders[i] = n.accepted(b, sale, fmt.Sprintf("u%d", i), 1)
	}
	n.AwaitStatus(b, fmt.Sprintf("u%d", len(orders)-1), orders[len(orders)-1], domain.OrderStatusPlaced)
	b.ResetTimer()
	for i, order := range orders {
		if _, err := n.Orders.Cancel(context.Background(), fmt.Sprintf("u%d", i), order, ""); err != nil {
			b.Fatal(err)
		}
	}
}
