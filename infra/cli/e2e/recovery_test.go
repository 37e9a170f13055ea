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

// sell lets buyers prefix-0 … buy until n are accepted.
func sell(t *testing.T, n *Node, sale, prefix string, count int, c *tally) {
	t.Helper()
	for i := range count {
		buyer := fmt.Sprintf("%s-%d", prefix, i)
		res, err := n.Buy(sale, buyer)
		if err != nil || res.Outcome != domain.Reserved {
			t.Fatalf("buyer %s: got %v, %v; want reserved", buyer, res.Outcome, err)
		}
		c.add(buyer, res, err)
	}
}

// available is what the gate has left of the test item in bucket 0.
func (n *Node) available(t *testing.T, sale string) int64 {
	t.Helper()
	seen, err := n.Gate.Peek(context.Background(), domain.Place{Store: n.Env.Store, Sale: sale}, []string{"item"})
	if err != nil {
		t.Fatalf("look at the gate: %v", err)
	}
	return seen.Stocks[0].Available
}

func TestB25AnotherPreheatNeverOverwritesLiveStock(t *testing.T) {
	rig, node, sale := selling(t, 100)
	c := newTally()
	sell(t, node, sale, "first", 30, c)
	if err := node.Keeper.Preheat(context.Background(), sale); err != nil {
		t.Fatalf("preheat a live sale: %v", err)
	}
	if got := node.available(t, sale); got != 70 {
		t.Errorf("%d left after another preheat, want 70", got)
	}
	rig.Redis.Kill()
	rig.Redis.Restart()
	node.AwaitOpen(t, sale)
	if err := node.Keeper.Preheat(context.Background(), sale); err != nil {
		t.Fatalf("preheat after a restart: %v", err)
	}
	if got := node.available(t, sale); got != 70 {
		t.Errorf("%d left after a restart and a preheat, want 70", got)
	}
	StandingChecks(t, node, sale, c.accepted)
}

func TestB26ThreeNodesMeetAnEmptyRedisAndOneRebuildCounts(t *testing.T) {
	rig, first, sale := selling(t, 100)
	c := newTally()
	sell(t, first, sale, "first", 30, c)
	first.AwaitDecided(t, c.accepted)
	first.Stop()
	rig.Redis.Kill()
	rig.Redis.Wipe()
	rig.Redis.Restart()

	var nodes []*Node
	for range 3 {
		nodes = append(nodes, rig.Node(t, NodeOptions{}))
	}
	nodes[0].AwaitOpen(t, sale)
	if got := nodes[0].available(t, sale); got != 70 {
		t.Errorf("%d left after the rebuild, want 70", got)
	}
	late := crowd(sale, nodes, 200)
	late.want(t, domain.Reserved, 70)
	for order, buyer := range late.accepted {
		c.accepted[order] = buyer
	}
	StandingChecks(t, nodes[0], sale, c.accepted)
	if got := readFold(t, nodes[0].Store).placed(sale); got != 100 {
		t.Errorf("%d orders placed, want 100", got)
	}
}

func TestB21AnOlderCopyOfRedisSellsNothingTwice(t *testing.T) {
	rig, node, sale := selling(t, 100)
	c := newTally()
	sell(t, node, sale, "early", 40, c)
	copied := rig.Redis.Snapshot()
	sell(t, node, sale, "late", 10, c)
	node.AwaitDecided(t, c.accepted)
	rig.Redis.Kill()
	rig.Redis.Restore(copied)
	rig.Redis.Restart()

	node.AwaitOpen(t, sale)
	if got := node.available(t, sale); got != 50 {
		t.Errorf("%d left after the older copy came back, want 50 by the log", got)
	}
	rest := crowd(sale, []*Node{node}, 120)
	rest.want(t, domain.Reserved, 50)
	for order, buyer := range rest.accepted {
		c.accepted[order] = buyer
	}
	// What a buyer bought before the copy was taken, and after it, is a repeat.
	for _, buyer := range []string{"early-3", "late-3"} {
		res, err := node.Buy(sale, buyer)
		if err != nil || res.Outcome != domain.Repeat {
			t.Errorf("%s buys again: got %v, %v; want a repeat", buyer, res.Outcome, err)
		}
	}
	StandingChecks(t, node, sale, c.accepted)
}

func TestB21PurchasesMeetNotReadyWhileTheLaneRecovers(t *testing.T) {
	rig, node, sale := selling(t, 10)
	c := newTally()
	sell(t, node, sale, "first", 3, c)
	node.AwaitDecided(t, c.accepted)
	testenv.Eventually(t, 20*time.Second, func() error { // the view has them
		page, err := node.Finder.List(context.Background(), sale, "first-1", 1, "")
		if err == nil && len(page.Orders) == 0 {
			err = fmt.Errorf("not in the view yet")
		}
		return err
	})
	node.Stop()
	rig.Redis.Kill()
	rig.Redis.Restart()
	api := rig.Node(t, NodeOptions{APIOnly: true}) // nobody recovers
	res, err := api.Buy(sale, "new")
	if err != nil || res.Outcome != domain.NotReady {
		t.Errorf("a new buyer: got %v, %v; want not_ready", res.Outcome, err)
	}
	res, err = api.Buy(sale, "first-1")
	if err != nil || res.Outcome != domain.Repeat {
		t.Errorf("an owner: got %v, %v; want a repeat", res.Outcome, err)
	}
	shower := &commands.Shower{Env: api.Env, Sales: api.Sales, Gate: api.Gate, Guards: api.Store}
	shown, err := shower.Show(context.Background(), sale)
	if err != nil || shown.State != domain.SaleStatePaused {
		t.Errorf("the sale shows %v, %v; want paused", shown.State, err)
	}
	node = rig.Node(t, NodeOptions{})
	node.AwaitOpen(t, sale)
	StandingChecks(t, node, sale, c.accepted)
}

// TestWhatRedisForgotIsOfferedAgain: purchases that were acknowledged and not
// yet recorded when Redis fell back to an older copy are offered again by the
// node that acknowledged them.
func TestWhatRedisForgotIsOfferedAgain(t *testing.T) {
	rig, full, sale := selling(t, 100)
	c := newTally()
	sell(t, full, sale, "recorded", 20, c)
	full.AwaitDecided(t, c.accepted)
	full.Stop()
	copied := rig.Redis.Snapshot()
	api := rig.Node(t, NodeOptions{APIOnly: true})
	sell(t, api, sale, "forgotten", 15, c) // nobody records
	rig.Redis.Kill()
	rig.Redis.Restore(copied)
	rig.Redis.Restart()

	full = rig.Node(t, NodeOptions{})
	full.AwaitOpen(t, sale)
	StandingChecks(t, full, sale, c.accepted)
	f := readFold(t, full.Store)
	if got := f.placed(sale); got != 35 {
		t.Errorf("%d orders placed, want all 35: the forgotten ones were offered again", got)
	}
	testenv.Eventually(t, 20*time.Second, func() error {
		if n := api.Kept.Size(); n != 0 {
			return fmt.Errorf("the node still holds %d purchases", n)
		}
		return nil
	})
}

// TestWhatNobodyRemembersIsLostWhenItsBuyerAsks: the node that acknowledged is
// gone too. The order id itself proves that we issued it.
func TestWhatNobodyRemembersIsLostWhenItsBuyerAsks(t *testing.T) {
	rig, full, sale := selling(t, 100)
	full.Stop()
	copied := rig.Redis.Snapshot()
	api := rig.Node(t, NodeOptions{APIOnly: true})
	c := newTally()
	sell(t, api, sale, "forgotten", 3, c)
	api.Stop()
	rig.Redis.Kill()
	rig.Redis.Restore(copied)
	rig.Redis.Restart()

	full = rig.Node(t, NodeOptions{})
	full.AwaitOpen(t, sale)
	StandingChecks(t, full, sale, c.accepted)
	for order, o := range readFold(t, full.Store).orders {
		if o.Status != domain.OrderStatusRejected || o.Reason != domain.RejectedLost {
			t.Errorf("order %s is %s (%s), want rejected as lost", order, o.Status, o.Reason)
		}
	}
	// The buyer may try again.
	res, err := full.Buy(sale, "forgotten-1")
	if err != nil || res.Outcome != domain.Reserved {
		t.Errorf("buying again: got %v, %v; want reserved", res.Outcome, err)
	}
	// Somebody else's id, or one we never issued, is not found.
	for order := range c.accepted {
		if _, err := full.Finder.Find(context.Background(), "somebody", order); err == nil {
			t.Errorf("order %s was shown to somebody else", order)
		}
		break
	}
}

func TestRedisKilledInTheMiddleOfACrowdLosesNothing(t *testing.T) {
	rig, node, sale := selling(t, 300)
	c := newTally()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 100 {
				buyer := fmt.Sprintf("b-%d-%d", i, j)
				res, err := node.Buy(sale, buyer)
				c.add(buyer, res, err)
			}
		})
	}
	testenv.Eventually(t, 20*time.Second, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.accepted) < 50 {
			return fmt.Errorf("%d accepted so far", len(c.accepted))
		}
		return nil
	})
	rig.Redis.Kill()
	rig.Redis.Restart()
	all.Wait()
	node.AwaitOpen(t, sale)
	rest := crowd(sale, []*Node{node}, 400)
	for order, buyer := range rest.accepted {
		c.accepted[order] = buyer
	}
	StandingChecks(t, node, sale, c.accepted)
	if got := readFold(t, node.Store).placed(sale); got != 300 {
		t.Errorf("%d orders placed, want every one of 300 units sold", got)
	}
}

// TestALostItemHashIsBuiltAgainAlone: the lane keeps its epoch.
func TestALostItemHashIsBuiltAgainAlone(t *testing.T) {
	rig, node, sale := selling(t, 10)
	c := newTally()
	sell(t, node, sale, "first", 4, c)
	node.AwaitDecided(t, c.accepted)
	before := node.lane(t, sale)
	rig.deleteKeys(t, "*:stock:"+sale+":*")
	res, err := node.Buy(sale, "meanwhile")
	if err != nil || (res.Outcome != domain.NotReady && res.Outcome != domain.Reserved) {
		t.Errorf("meanwhile: got %v, %v; want not_ready, or reserved when it was quick", res.Outcome, err)
	}
	c.add("meanwhile", res, err)
	node.AwaitOpen(t, sale)
	if after := node.lane(t, sale); after.Epoch != before.Epoch {
		t.Errorf("the lane went from epoch %d to %d; a lost item is rebuilt alone", before.Epoch, after.Epoch)
	}
	StandingChecks(t, node, sale, c.accepted)
}

// TestALostSaleRecordIsARecoveryOfItsLane: with the record go the order records.
func TestALostSaleRecordIsARecoveryOfItsLane(t *testing.T) {
	rig, node, sale := selling(t, 10)
	c := newTally()
	sell(t, node, sale, "first", 4, c)
	before := node.lane(t, sale)
	rig.deleteKeys(t, "*:sale:"+sale+":*")
	testenv.Eventually(t, 30*time.Second, func() error {
		if after := node.lane(t, sale); after.Epoch == before.Epoch || !after.Selling() {
			return fmt.Errorf("lane still at epoch %d, selling %t", after.Epoch, after.Selling())
		}
		return nil
	})
	node.AwaitOpen(t, sale)
	res, err := node.Buy(sale, "first-2")
	if err != nil || res.Outcome != domain.Repeat {
		t.Errorf("an owner after the recovery: got %v, %v; want a repeat", res.Outcome, err)
	}
	StandingChecks(t, node, sale, c.accepted)
}
