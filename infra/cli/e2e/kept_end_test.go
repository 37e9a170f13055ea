package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/testenv"
)

// TestAnAcknowledgedOrderOutlivesTheEndOfItsSale: Redis forgot orders of which units
// are left, and the sale ends before the node that answered can offer them again.
func TestAnAcknowledgedOrderOutlivesTheEndOfItsSale(t *testing.T) {
	actor := commands.Actor{By: "test", Note: "looking"}
	for name, end := range map[string]func(*Node, string) error{
		"closed by an operator": func(n *Node, sale string) error {
			_, err := n.Operator.Close(context.Background(), sale, actor)
			return err
		},
		"ended by the switch": func(n *Node, sale string) error {
			board := commands.NewSwitchboard(n.Env, n.Sales, n.Store, n.Operator)
			_, err := board.Flip(context.Background(), commands.Flip{Name: domain.ForceEnded, Sale: sale, On: true}, actor)
			return err
		},
		"by its window": func(n *Node, sale string) error {
			_, err := n.revise(sale, n.version(t, sale), func(terms *domain.SaleTerms) { terms.ClosesAt = time.Now().Add(time.Second) })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := makePromises(t, Terms(10))
			if err := end(p.full, p.sale); err != nil {
				t.Fatalf("end the sale: %v", err)
			}
			testenv.Eventually(t, 30*time.Second, func() error {
				sale, err := p.full.Sales.Fold(context.Background(), p.sale)
				if err == nil && !sale.Ended() && !sale.Over(time.Now()) {
					err = fmt.Errorf("the sale goes on")
				}
				return err
			})
			p.away.Heal()
			p.decided(t, p.full, domain.OrderStatusPlaced)
			p.full.AwaitOpen(t, p.sale)
			StandingChecks(t, p.full, p.sale, p.accepted)
			p.full.WantLeft(t, p.sale, 5)
			if res, err := p.full.Buy(p.sale, "promised-0"); err != nil || res.Outcome != domain.Repeat || res.Order.ID != p.orders[0] {
				t.Errorf("again: got %v %s, %v; want a repeat of %s", res.Outcome, res.Order.ID, err, p.orders[0])
			}
			if res, err := p.full.Buy(p.sale, "somebody"); err != nil || res.Outcome != domain.Ended {
				t.Errorf("somebody else: got %v, %v; want ended", res.Outcome, err)
			}
			nothingFound(t, p.full, p.sale)
		})
	}
}

// TestAnAcknowledgedOrderIsJudgedByTheLimitOfThen: the limit was lifted when the order
// was accepted, and is back when the node offers it to a gate that forgot it.
func TestAnAcknowledgedOrderIsJudgedByTheLimitOfThen(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	n := rig.Node(t, NodeOptions{})
	sale := n.Schedule(t, Terms(10))
	n.Stop()
	away := testenv.Proxy(t, rig.Redis.URL)
	holder := rig.Node(t, NodeOptions{APIOnly: true, RedisURL: away.URL()})
	lift := func(on bool) {
		t.Helper()
		board := commands.NewSwitchboard(holder.Env, holder.Sales, holder.Store, holder.Operator)
		flip := commands.Flip{Name: domain.SkipPurchaseLimit, Sale: sale, On: on}
		if _, err := board.Flip(t.Context(), flip, commands.Actor{By: "test", Note: "a guest"}); err != nil {
			t.Fatal(err)
		}
	}
	lift(true)
	copied := rig.Redis.Snapshot()
	res, err := holder.BuyLines(sale, "guest", "", domain.Line{SKU: "item", Quantity: 3})
	if err != nil || res.Outcome != domain.Reserved {
		t.Fatalf("got %v, %v", res.Outcome, err)
	}
	lift(false)
	away.Cut()
	rig.Redis.Kill()
	rig.Redis.Restore(copied)
	rig.Redis.Restart()
	full := rig.Node(t, NodeOptions{})
	full.AwaitOpen(t, sale)
	away.Heal()
	full.AwaitStatus(t, "guest", res.Order.ID, domain.OrderStatusPlaced)
	full.WantLeft(t, sale, 7)
	nothingFound(t, full, sale)
}

func nothingFound(t *testing.T, n *Node, sale string) {
	t.Helper()
	found, err := n.Reconciler.Reconcile(context.Background(), sale)
	if err != nil || len(found.Sales) != 1 || len(found.Sales[0].Findings) > 0 {
		t.Errorf("reconcile: %+v, %v", found, err)
	}
}
