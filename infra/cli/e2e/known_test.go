package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/testenv"
)

func TestB67NodesWhoseClocksAreOffOpenASaleByOneClock(t *testing.T) {
	rig := NewRig(t)
	main := rig.Node(t, NodeOptions{})
	nodes := []*Node{
		main, rig.Node(t, NodeOptions{APIOnly: true, Ahead: 2 * time.Second}), rig.Node(t, NodeOptions{APIOnly: true, Ahead: -2 * time.Second}),
	}
	now := func() time.Time {
		at, err := main.Gate.Time(context.Background())
		if err != nil {
			t.Error(err)
		}
		return at
	}
	terms := Terms(1000)
	opens := now().Add(2 * time.Second)
	terms.OpensAt = opens
	sale := main.Schedule(t, terms)
	c := newTally()
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() {
			for round := 0; ; round++ {
				buyer := fmt.Sprintf("buyer-%d-%d", i, round%50) // nobody's turn is counted before the opening
				before := now()
				res, err := n.Buy(sale, buyer)
				after := now()
				c.add(buyer, res, err)
				switch {
				case err != nil:
					t.Errorf("node %d: %v", i, err)
				case res.Outcome == domain.TooEarly && before.Before(opens) && res.OpensAt.Sub(opens).Abs() < time.Microsecond:
					continue
				case res.Outcome == domain.Reserved && !after.Before(opens):
				default:
					t.Errorf("node %d between %s and %s: got %s, opens at %s; the sale opens at %s", i, before, after, res.Outcome, res.OpensAt, opens)
				}
				return
			}
		})
	}
	all.Wait()
	for i, n := range nodes {
		if n.Known.of(commands.KnownEarly) == 0 {
			t.Errorf("node %d never refused from memory, and had two seconds for it", i)
		}
	}
	StandingChecks(t, main, sale, c.accepted)
	if got := readFold(t, main.Store).placed(sale); got != len(nodes) {
		t.Errorf("%d orders placed, want one for each node's first buyer after the opening", got)
	}
}

func TestB09AUnitThatCameBackThroughOneNodeIsSoldByAnotherAtOnce(t *testing.T) {
	rig := NewRig(t)
	a := rig.Node(t, NodeOptions{})
	b := rig.Node(t, NodeOptions{APIOnly: true})
	nodes := []*Node{a, b}
	sale := a.Schedule(t, Terms(1))
	owner := "owner-0"
	order := a.Placed(t, sale, owner, 1)
	accepted := map[string]string{order: owner}
	for round := range 8 {
		c := crowd(sale, nodes, 20)
		c.want(t, domain.SoldOut, 20)
		b.AwaitStatus(t, owner, order, domain.OrderStatusPlaced)
		if _, err := nodes[round%2].Orders.Cancel(context.Background(), owner, order, "trace"); err != nil {
			t.Fatalf("round %d: cancel: %v", round, err)
		}
		// Nobody who comes after the answer may be refused by what a node remembers: of
		// many, one has it.
		won := newTally()
		var all sync.WaitGroup
		for i := range 30 {
			all.Go(func() {
				buyer := fmt.Sprintf("round-%d-%d", round, i)
				res, err := nodes[i%2].Buy(sale, buyer)
				won.add(buyer, res, err)
			})
		}
		all.Wait()
		won.want(t, domain.Reserved, 1)
		won.want(t, domain.SoldOut, 29)
		for id, buyer := range won.accepted {
			order, owner = id, buyer
			accepted[id] = buyer
		}
		if t.Failed() {
			return
		}
	}
	for i, n := range nodes {
		if n.Known.of(commands.KnownSoldOut) == 0 {
			t.Errorf("node %d asked the gate to reserve for everybody", i)
		}
	}
	StandingChecks(t, a, sale, accepted)
}

func TestOwnersAskingASoldOutSaleMeetTheirOrderOnEveryNode(t *testing.T) {
	rig := NewRig(t)
	a := rig.Node(t, NodeOptions{})
	b := rig.Node(t, NodeOptions{APIOnly: true})
	sale := a.Schedule(t, Terms(5))
	accepted := map[string]string{}
	for i := range 5 {
		owner := fmt.Sprintf("owner-%d", i)
		accepted[a.accepted(t, sale, owner, 1)] = owner
	}
	crowd(sale, []*Node{a, b}, 10).want(t, domain.SoldOut, 10)
	for order, owner := range accepted {
		for i, n := range []*Node{a, b} {
			if res, err := n.Buy(sale, owner); err != nil || !res.Repeat || res.Order.ID != order {
				t.Errorf("%s on node %d: got %s of order %q, %v; want a repeat of %s", owner, i, res.Outcome, res.Order.ID, err, order)
			}
		}
	}
	StandingChecks(t, a, sale, accepted)
}

func TestARepeatIsAnsweredFromWhatTheNodeRemembersWithTheStatusOfNow(t *testing.T) {
	n, sale := opened(t, 5, nil)
	line := domain.Line{SKU: "item", Quantity: 1}
	first, err := n.BuyLines(sale, "u", "key", line)
	if err != nil || first.Outcome != domain.Reserved {
		t.Fatalf("got %s, %v; want reserved", first.Outcome, err)
	}
	order := first.Order.ID
	n.AwaitStatus(t, "u", order, domain.OrderStatusPlaced)
	repeat := func(key string, want domain.OrderStatus, remembered bool) {
		t.Helper()
		before := n.Known.of(commands.KnownRepeat)
		res, err := n.BuyLines(sale, "u", key, line)
		if err != nil || !res.Repeat || res.Order.ID != order || res.Order.Status != want {
			t.Errorf("key %q: got %s of order %q %s, %v; want a repeat of %s %s", key, res.Outcome, res.Order.ID, res.Order.Status, err, order, want)
		}
		if (n.Known.of(commands.KnownRepeat) > before) != remembered {
			t.Errorf("key %q: answered from memory is %t, want %t", key, !remembered, remembered)
		}
	}
	repeat("", domain.OrderStatusPlaced, false) // the gate says that it was accepted, and the log that it is placed
	repeat("", domain.OrderStatusPlaced, true)
	repeat("key", domain.OrderStatusPlaced, true)
	repeat("other", domain.OrderStatusPlaced, false)
	res, err := n.BuyLines(sale, "u", "key", domain.Line{SKU: "item", Quantity: 2})
	if err != nil || res.Outcome != domain.KeyMismatch {
		t.Errorf("the key with another body: got %s, %v; want a mismatch", res.Outcome, err)
	}
	if _, err := n.Orders.Cancel(context.Background(), "u", order, "trace"); err != nil {
		t.Fatal(err)
	}
	n.AwaitStatus(t, "u", order, domain.OrderStatusCancelled)
	repeat("", domain.OrderStatusCancelled, true)
	StandingChecks(t, n, sale, map[string]string{order: "u"})
}

func TestWhoMayBuyAgainIsNeverToldOfTheOrderThatEnded(t *testing.T) {
	rig := NewRig(t)
	a := rig.Node(t, NodeOptions{})
	b := rig.Node(t, NodeOptions{APIOnly: true})
	terms := Terms(1)
	terms.Rebuy = true
	sale := a.Schedule(t, terms)
	accepted := map[string]string{}
	for round := range 3 {
		order := b.Placed(t, sale, "u", 1)
		accepted[order] = "u"
		for range 2 {
			if res, err := b.Buy(sale, "u"); err != nil || !res.Repeat || res.Order.ID != order {
				t.Fatalf("round %d: got %s of %q, %v; want a repeat of %s", round, res.Outcome, res.Order.ID, err, order)
			}
		}
		if _, err := a.Orders.Cancel(context.Background(), "u", order, "trace"); err != nil {
			t.Fatal(err)
		}
	}
	StandingChecks(t, a, sale, accepted)
}

func TestASaleThatOneNodeStoppedIsStoppedForAllWithoutAsking(t *testing.T) {
	rig := NewRig(t)
	a := rig.Node(t, NodeOptions{})
	b := rig.Node(t, NodeOptions{APIOnly: true})
	sale := a.Schedule(t, Terms(5))
	state := func(n *Node) domain.SaleState {
		folded, err := n.Sales.Get(context.Background(), sale)
		if err != nil {
			t.Error(err)
		}
		return folded.StateAt(time.Now())
	}
	if got := state(b); got != domain.SaleStateOpen {
		t.Fatalf("got %s, want open", got)
	}
	if _, err := a.Operator.Pause(context.Background(), sale, domain.PausedByOperator, commands.Actor{By: "test"}); err != nil {
		t.Fatal(err)
	}
	if got := state(a); got != domain.SaleStatePaused {
		t.Errorf("on the node that stopped it: got %s, want paused", got)
	}
	testenv.Eventually(t, 30*time.Second, func() error {
		if got := state(b); got != domain.SaleStatePaused {
			return errors.New("on the other node it is " + string(got))
		}
		return nil
	})
}
