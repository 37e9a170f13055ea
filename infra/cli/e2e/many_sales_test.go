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
	"seckill/infra/testenv"
)

// TestManyLiveSalesAreEachSoldToTheirLastUnit lets buyers come to hundreds of sales at
// once, more to each than it has units: each is sold exactly, and the log, the gate and
// every view say so.
func TestManyLiveSalesAreEachSoldToTheirLastUnit(t *testing.T) {
	const sales, stock, buyers = 300, 4, 6
	r := NewRig(t)
	n := r.Node(t, NodeOptions{})
	ids := scheduleMany(t, n, sales, func(i int) domain.SaleTerms {
		in := []domain.Strategy{domain.StrategyRedisAsync, domain.StrategyRedisAsync, domain.StrategyRedisAsync, domain.StrategyRedisSync, domain.StrategyPostgres}
		return termsIn(in[i%len(in)], stock)
	})
	for _, id := range ids {
		n.AwaitOpen(t, id)
	}
	sold, accepted := buyFromAll(t, n, ids, buyers)
	for i, id := range ids {
		if sold[i].outcomes[domain.Reserved] != stock || sold[i].outcomes[domain.SoldOut] != buyers-stock {
			t.Errorf("sale %s: got %v, want %d sold and %d told sold out", id, sold[i].outcomes, stock, buyers-stock)
		}
	}
	StandingChecks(t, n, ids[0], accepted)
	f := readFold(t, n.Store)
	for _, id := range ids {
		if got := f.placed(id); got != stock {
			t.Errorf("sale %s: the log has %d orders placed, want %d", id, got, stock)
		}
		checkViewsOf(t, n, id, stock)
	}
}

// buyFromAll sends so many buyers to each sale, those of all sales mixed.
func buyFromAll(t *testing.T, n *Node, ids []string, buyers int) (sold []*tally, accepted map[string]string) {
	t.Helper()
	sold = make([]*tally, len(ids))
	for i := range sold {
		sold[i] = newTally()
	}
	var next atomic.Int64
	var buying sync.WaitGroup
	deadline := time.Now().Add(120 * time.Second)
	for range 64 {
		buying.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(ids)*buyers); i = next.Add(1) - 1 {
				sale, buyer := int(i)%len(ids), fmt.Sprintf("buyer-%d", i)
				for {
					res, err := n.Buy(ids[sale], buyer)
					if again := isProblem(err, domain.CodeBusy) || err == nil && res.Outcome == domain.NotReady; again && time.Now().Before(deadline) {
						continue
					}
					sold[sale].add(buyer, res, err)
					break
				}
			}
		})
	}
	buying.Wait()
	accepted = map[string]string{}
	for _, c := range sold {
		for order, buyer := range c.accepted {
			accepted[order] = buyer
		}
	}
	return sold, accepted
}

// checkViewsOf waits until every view has exactly what was sold of a sale of one item.
func checkViewsOf(t *testing.T, n *Node, sale string, units int64) {
	t.Helper()
	testenv.Eventually(t, 60*time.Second, func() error {
		s, err := n.Views.Snapshot(context.Background(), sale)
		if err != nil {
			return err
		}
		var counted int64
		for _, c := range s.Counts {
			counted += c.Placed
		}
		if int64(len(s.Orders)) != units || counted != units || len(s.Stock) != 1 || s.Stock[0].Left != 0 {
			return fmt.Errorf("sale %s: %d orders in the view, %d in the summary, stock log %+v; want %d and nothing left", sale, len(s.Orders), counted, s.Stock, units)
		}
		return nil
	})
}

// scheduleMany makes sales, several at a time.
func scheduleMany(t testing.TB, n *Node, count int, terms func(i int) domain.SaleTerms) []string {
	t.Helper()
	sales := make([]string, count)
	var next atomic.Int64
	var making sync.WaitGroup
	for range 16 {
		making.Go(func() {
			for i := next.Add(1) - 1; i < int64(count); i = next.Add(1) - 1 {
				sale, err := n.Operator.Schedule(context.Background(), terms(int(i)), commands.Actor{By: "test"})
				if err != nil {
					t.Errorf("schedule sale %d: %v", i, err)
					return
				}
				sales[i] = sale.ID
			}
		})
	}
	making.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return sales
}
