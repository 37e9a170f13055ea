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

// forgotten lets a node acknowledge three orders of a sale of ten that Redis then
// forgets, and others buy everything that is left before the node can offer them
// again. It gives the three in the order they were accepted, and all who bought.
func forgotten(t *testing.T, overdraft int64) (full, holder *Node, sale string, lost []string, accepted map[string]string) {
	t.Helper()
	rig := NewRig(t)
	full = rig.Node(t, NodeOptions{})
	terms := Terms(10)
	terms.Items[0].Overdraft = overdraft
	sale = full.Schedule(t, terms)
	c := newTally()
	sell(t, full, sale, "recorded", 4, c)
	full.AwaitDecided(t, c.accepted)
	full.Stop()
	copied := rig.Redis.Snapshot()

	away := testenv.Proxy(t, rig.Redis.URL)
	holder = rig.Node(t, NodeOptions{APIOnly: true, RedisURL: away.URL()})
	for i := range 3 {
		buyer := fmt.Sprintf("promised-%d", i)
		res, err := holder.Buy(sale, buyer)
		if err != nil || res.Outcome != domain.Reserved {
			t.Fatalf("%s: got %v, %v", buyer, res.Outcome, err)
		}
		c.add(buyer, res, err)
		lost = append(lost, res.Order.ID)
	}
	away.Cut() // this node does not see the gate again until the others have bought
	rig.Redis.Kill()
	rig.Redis.Restore(copied)
	rig.Redis.Restart()
	full = rig.Node(t, NodeOptions{})
	full.AwaitOpen(t, sale)
	rest := crowd(sale, []*Node{full}, 30)
	rest.want(t, domain.Reserved, 6)
	for order, buyer := range rest.accepted {
		c.accepted[order] = buyer
	}
	away.Heal()
	testenv.Eventually(t, 30*time.Second, func() error {
		if n := holder.Kept.Size(); n != 0 {
			return fmt.Errorf("the node still holds %d promises", n)
		}
		return nil
	})
	return full, holder, sale, lost, c.accepted
}

func TestAPromiseThatRedisForgotIsKeptAsFarAsTheOverdraftGoes(t *testing.T) {
	for overdraft := range int64(4) {
		t.Run(fmt.Sprint(overdraft), func(t *testing.T) {
			full, _, sale, promised, accepted := forgotten(t, overdraft)
			StandingChecks(t, full, sale, accepted)
			f := readFold(t, full.Store)
			for i, order := range promised {
				o := f.orders[order]
				if int64(i) < overdraft && (o.Status != domain.OrderStatusPlaced || o.Entry != "" || o.Amount.Minor != 1990) {
					t.Errorf("promise %d: got %s (%s) by entry %q, want it kept by no entry", i+1, o.Status, o.Reason, o.Entry)
				}
				if int64(i) >= overdraft && (o.Status != domain.OrderStatusRejected || o.Reason != domain.RejectedLost) {
					t.Errorf("promise %d: got %s (%s), want it lost", i+1, o.Status, o.Reason)
				}
			}
			if got := f.placed(sale); got != 10+int(min(overdraft, 3)) {
				t.Errorf("%d orders placed, want 10 and %d", got, min(overdraft, 3))
			}
			nothingElseOversells(t, full, sale)
		})
	}
}

// nothingElseOversells: with an overdraft that is used or not, the gate sells what
// it has and no more, before and after it is built again.
func nothingElseOversells(t *testing.T, n *Node, sale string) {
	t.Helper()
	before := readFold(t, n.Store).placed(sale)
	if _, err := n.Keeper.Rehydrate(context.Background(), sale, nil); err != nil {
		t.Fatalf("rehydrate: %v", err)
	}
	n.AwaitOpen(t, sale)
	for i := range 5 {
		if res, err := n.Buy(sale, fmt.Sprintf("too-late-%d", i)); err != nil || res.Outcome != domain.SoldOut {
			t.Errorf("got %v, %v; want sold out", res.Outcome, err)
		}
	}
	for _, buyer := range []string{"promised-0", "recorded-0"} {
		res, err := n.Buy(sale, buyer)
		if err != nil || (res.Outcome != domain.Repeat && res.Outcome != domain.SoldOut) {
			t.Errorf("%s again: got %v, %v; want a repeat, or sold out where the promise was lost", buyer, res.Outcome, err)
		}
	}
	if after := readFold(t, n.Store).placed(sale); after != before {
		t.Errorf("%d orders placed, then %d", before, after)
	}
	if _, err := n.Reconciler.Reconcile(context.Background(), ""); err != nil {
		t.Errorf("reconcile: %v", err)
	}
}

// TestUnitsThatComeBackPayTheOverdraftBackFirst: a release covers what was sold
// beyond the stock before anybody buys of it.
func TestUnitsThatComeBackPayTheOverdraftBackFirst(t *testing.T) {
	full, _, sale, _, accepted := forgotten(t, 2)
	if _, err := full.Operator.Release(context.Background(), commands.Release{Sale: sale, SKU: "item", Quantity: 3}, commands.Actor{By: "test"}); err != nil {
		t.Fatal(err)
	}
	rest := crowd(sale, []*Node{full}, 40) // those who bought already meet their orders
	for order, buyer := range rest.accepted {
		accepted[order] = buyer
	}
	StandingChecks(t, full, sale, accepted)
	if f := readFold(t, full.Store); f.placed(sale) != 13 {
		t.Errorf("%d orders placed, want 13: ten, two beyond, and one of the three released", f.placed(sale))
	}
}
