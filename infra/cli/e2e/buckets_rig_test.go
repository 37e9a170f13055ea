package e2e

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// buckets makes terms dealt over several buckets.
func buckets(n int, change ...func(*domain.SaleTerms)) func(*domain.SaleTerms) {
	return func(t *domain.SaleTerms) {
		t.Buckets = n
		for _, f := range change {
			f(t)
		}
	}
}

// buyersOf gives buyers whose home bucket is one of some.
func buyersOf(sale string, of, count int, homes ...int) []string {
	var all []string
	for i := 0; len(all) < count; i++ {
		buyer := fmt.Sprintf("buyer-%d", i)
		home := domain.HomeBucket(sale, buyer, of)
		for _, h := range homes {
			if h == home {
				all = append(all, buyer)
				break
			}
		}
	}
	return all
}

// buyUntilTold sends every buyer, workers at once, and each again as long as he is told
// busy or that the gate is not ready: such an answer is no "no".
func buyUntilTold(t testing.TB, nodes []*Node, sale string, buyers []string, workers int, lines ...domain.Line) *tally {
	t.Helper()
	if len(lines) == 0 {
		lines = []domain.Line{{SKU: "item", Quantity: 1}}
	}
	c := newTally()
	var next atomic.Int64
	var all sync.WaitGroup
	deadline := time.Now().Add(120 * time.Second)
	for range workers {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(buyers) {
					return
				}
				for {
					res, err := nodes[i%len(nodes)].BuyLines(sale, buyers[i], "", lines...)
					again := isProblem(err, domain.CodeBusy) || (err == nil && res.Outcome == domain.NotReady)
					if again && time.Now().Before(deadline) {
						continue
					}
					c.add(buyers[i], res, err)
					break
				}
			}
		})
	}
	all.Wait()
	return c
}

// unitsLeft sums what all buckets of a sale have of the test item.
func (n *Node) unitsLeft(t testing.TB, sale string) (sum int64, each []int64) {
	t.Helper()
	folded, err := n.Sales.Fold(context.Background(), sale)
	if err != nil {
		t.Fatal(err)
	}
	levels, err := n.Gate.Levels(context.Background(), commands.Places(n.Env.Store, folded.Sale), []string{"item"})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range levels {
		if !l.Selling {
			each = append(each, -1)
			continue
		}
		each = append(each, l.Stocks[0].Available)
		sum += l.Stocks[0].Available
	}
	return sum, each
}

// movesOf counts the two sides of the moves of a sale in the log.
func (n *Node) movesOf(t testing.TB, sale string) (out, in, refused int, units int64) {
	t.Helper()
	for after := int64(0); ; {
		page, err := n.Store.Find(context.Background(), eventstore.Filter{SaleID: sale}, after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for i := range page {
			after = page[i].Position
			ev, err := domain.Decode(page[i].Type, page[i].Schema, page[i].Payload)
			if err != nil {
				t.Fatal(err)
			}
			switch e := ev.(type) {
			case *domain.StockMovedOut:
				out, units = out+1, units+e.Quantity
			case *domain.StockMovedIn:
				in++
			case *domain.StockRefused:
				if e.MoveID != "" {
					refused++
				}
			}
		}
		if len(page) < 1000 {
			return out, in, refused, units
		}
	}
}

// lanesOf gives the lane of one bucket of a sale, or those of the others that are not
// the same.
func lanesOf(n *Node, sale string, of, bucket int, others bool) []int {
	own := domain.Place{Store: n.Env.Store, Sale: sale, Bucket: bucket}.Lane()
	if !others {
		return []int{own}
	}
	seen := map[int]bool{own: true}
	var lanes []int
	for b := range of {
		if lane := (domain.Place{Store: n.Env.Store, Sale: sale, Bucket: b}).Lane(); !seen[lane] {
			seen[lane] = true
			lanes = append(lanes, lane)
		}
	}
	return lanes
}
