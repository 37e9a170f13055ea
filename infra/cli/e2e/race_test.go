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
)

// tally counts what a crowd was told; accepted maps order ids to buyers.
type tally struct {
	mu       sync.Mutex
	outcomes map[domain.Outcome]int
	errors   []error
	accepted map[string]string
	repeats  int
}

func newTally() *tally {
	return &tally{outcomes: map[domain.Outcome]int{}, accepted: map[string]string{}}
}

func (c *tally) add(buyer string, res commands.PurchaseResult, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.errors = append(c.errors, err)
		return
	}
	c.outcomes[res.Outcome]++
	if res.Outcome == domain.Reserved {
		c.accepted[res.Order.ID] = buyer
	}
	if res.Repeat {
		c.repeats++
	}
}

// crowd lets n buyers buy one unit each at once, spread over nodes.
func crowd(sale string, nodes []*Node, n int) *tally {
	c := newTally()
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			buyer := fmt.Sprintf("buyer-%d", i)
			res, err := nodes[i%len(nodes)].Buy(sale, buyer)
			c.add(buyer, res, err)
		})
	}
	all.Wait()
	return c
}

func (c *tally) want(t *testing.T, outcome domain.Outcome, n int) {
	t.Helper()
	if got := c.outcomes[outcome]; got != n {
		t.Errorf("%d buyers were told %s, want %d (all: %v, errors: %v)", got, outcome, n, c.outcomes, c.errors)
	}
}

func TestB01LastUnitGoesToOneOfFiveHundredOnFourNodes(t *testing.T) {
	everyStrategy(t, func(t *testing.T, in domain.Strategy) {
		rig := NewRig(t)
		main := rig.Node(t, NodeOptions{})
		nodes := []*Node{main}
		for range 3 {
			nodes = append(nodes, rig.Node(t, NodeOptions{APIOnly: true}))
		}
		sale := main.Schedule(t, termsIn(in, 1))
		c := crowd(sale, nodes, 500)
		c.want(t, domain.Reserved, 1)
		c.want(t, domain.SoldOut, 499)
		StandingChecks(t, main, sale, c.accepted)
		if got := readFold(t, main.Store).placed(sale); got != 1 {
			t.Errorf("%d orders placed, want 1", got)
		}
	})
}

func TestB02OneBuyerFiftyKeysAtOnce(t *testing.T) {
	everyStrategy(t, func(t *testing.T, in domain.Strategy) {
		for _, tc := range []struct {
			name   string
			orders int
			second domain.Outcome
		}{
			{"B02 one order per buyer: the others meet it", 1, domain.Repeat},
			{"B02 fifty orders, one unit per buyer: the others pass the limit", 50, domain.LimitExceeded},
		} {
			t.Run(tc.name, func(t *testing.T) {
				rig := NewRig(t)
				nodes := []*Node{rig.Node(t, NodeOptions{}), rig.Node(t, NodeOptions{APIOnly: true})}
				terms := termsIn(in, 100)
				terms.OrdersPerBuyer = tc.orders
				sale := nodes[0].Schedule(t, terms)
				c := newTally()
				var all sync.WaitGroup
				for i := range 50 {
					all.Go(func() {
						res, err := nodes[i%2].BuyLines(sale, "one", fmt.Sprintf("key-%d", i), domain.Line{SKU: "item", Quantity: 1})
						c.add("one", res, err)
					})
				}
				all.Wait()
				c.want(t, domain.Reserved, 1)
				c.want(t, tc.second, 49)
				StandingChecks(t, nodes[0], sale, c.accepted)
			})
		}
	})
}

func TestB08RepeatClicksTakeOneUnit(t *testing.T) {
	everyStrategy(t, func(t *testing.T, in domain.Strategy) {
		_, node, sale := sellingIn(t, in, 10)
		c := newTally()
		for range 100 {
			res, err := node.Buy(sale, "clicker")
			c.add("clicker", res, err)
		}
		c.want(t, domain.Reserved, 1)
		c.want(t, domain.Repeat, 99)
		for i := range 10 {
			buyer := fmt.Sprintf("other-%d", i)
			res, err := node.Buy(sale, buyer)
			c.add(buyer, res, err)
		}
		c.want(t, domain.Reserved, 10)
		c.want(t, domain.SoldOut, 1)
		StandingChecks(t, node, sale, c.accepted)
	})
}

func TestB11LimitCountsUnits(t *testing.T) {
	everyStrategy(t, func(t *testing.T, in domain.Strategy) {
		rig := NewRig(t)
		node := rig.Node(t, NodeOptions{})
		terms := termsIn(in, 10)
		terms.LimitPerBuyer, terms.OrdersPerBuyer = 2, 3
		sale := node.Schedule(t, terms)
		c := newTally()
		for i, tc := range []struct {
			quantity int64
			want     domain.Outcome
		}{{3, domain.LimitExceeded}, {2, domain.Reserved}, {1, domain.LimitExceeded}} {
			res, err := node.BuyLines(sale, "u", fmt.Sprintf("k%d", i), domain.Line{SKU: "item", Quantity: tc.quantity})
			c.add("u", res, err)
			if err != nil || res.Outcome != tc.want {
				t.Errorf("buying %d: got %v, %v; want %v", tc.quantity, res.Outcome, err, tc.want)
			}
		}
		StandingChecks(t, node, sale, c.accepted)
	})
}

func TestB63AThirdKeyMeetsTheFirstOrder(t *testing.T) {
	everyStrategy(t, func(t *testing.T, in domain.Strategy) {
		_, node, sale := sellingIn(t, in, 5)
		c := newTally()
		var ids []string
		for i := range 3 {
			res, err := node.BuyLines(sale, "u", fmt.Sprintf("screen-%d", i), domain.Line{SKU: "item", Quantity: 1})
			c.add("u", res, err)
			ids = append(ids, res.Order.ID)
		}
		c.want(t, domain.Reserved, 1)
		c.want(t, domain.Repeat, 2)
		if ids[0] == "" || ids[1] != ids[0] || ids[2] != ids[0] {
			t.Errorf("orders %v, want one order three times", ids)
		}
		StandingChecks(t, node, sale, c.accepted)
	})
}

func TestAPausedSaleSellsNothingAndAResumedOneGoesOn(t *testing.T) {
	everyStrategy(t, func(t *testing.T, in domain.Strategy) {
		_, node, sale := sellingIn(t, in, 3)
		ctx := context.Background()
		if _, err := node.Operator.Pause(ctx, sale, domain.PausedByOperator, commands.Actor{By: "op"}); err != nil {
			t.Fatal(err)
		}
		c := newTally()
		res, err := node.Buy(sale, "a")
		c.add("a", res, err)
		c.want(t, domain.Paused, 1)
		if _, err := node.Operator.Resume(ctx, sale, domain.PausedByOperator, commands.Actor{By: "op"}); err != nil {
			t.Fatal(err)
		}
		res, err = node.Buy(sale, "a")
		c.add("a", res, err)
		c.want(t, domain.Reserved, 1)
		if _, err := node.Operator.Close(ctx, sale, commands.Actor{By: "op"}); err != nil {
			t.Fatal(err)
		}
		res, err = node.Buy(sale, "b")
		c.add("b", res, err)
		c.want(t, domain.Ended, 1)
		res, err = node.Buy(sale, "a")
		c.add("a", res, err)
		c.want(t, domain.Repeat, 1) // an owner asking after the end meets the own order
		StandingChecks(t, node, sale, c.accepted)
	})
}

func TestASaleOpensByTheClockOfItsStore(t *testing.T) {
	everyStrategy(t, func(t *testing.T, in domain.Strategy) {
		rig := NewRig(t)
		node := rig.Node(t, NodeOptions{})
		terms := termsIn(in, 3)
		terms.OpensAt = time.Now().Add(time.Hour)
		terms.ClosesAt = terms.OpensAt.Add(time.Hour)
		sale := node.Schedule(t, terms)
		res, err := node.Buy(sale, "a")
		if err != nil || res.Outcome != domain.TooEarly || !res.OpensAt.Equal(terms.OpensAt.Truncate(time.Microsecond)) {
			t.Fatalf("got %v, opens at %v, %v; want too_early with the opening", res.Outcome, res.OpensAt, err)
		}
		StandingChecks(t, node, sale, nil)
	})
}

func TestASaleThatStartsEmptyIsSoldOutAndNothingElse(t *testing.T) {
	everyStrategy(t, func(t *testing.T, in domain.Strategy) {
		_, node, sale := sellingIn(t, in, 0)
		res, err := node.Buy(sale, "a")
		if err != nil || res.Outcome != domain.SoldOut {
			t.Errorf("got %v, %v; want sold_out", res.Outcome, err)
		}
		StandingChecks(t, node, sale, nil)
	})
}

func TestKeyAndRepeatAreJudgedBeforeTheItem(t *testing.T) {
	everyStrategy(t, func(t *testing.T, in domain.Strategy) {
		_, node, sale := sellingIn(t, in, 5)
		c := newTally()
		res, err := node.BuyLines(sale, "u", "k1", domain.Line{SKU: "item", Quantity: 1})
		c.add("u", res, err)
		other, err := node.BuyLines(sale, "u", "k1", domain.Line{SKU: "unknown", Quantity: 1})
		if err != nil || other.Outcome != domain.KeyMismatch {
			t.Errorf("the same key for an unknown item: %v, %v; want a mismatch of the key", other.Outcome, err)
		}
		other, err = node.BuyLines(sale, "u", "", domain.Line{SKU: "unknown", Quantity: 1})
		if err != nil || !other.Repeat || other.Order.ID != res.Order.ID {
			t.Errorf("an owner asks for an unknown item: %+v, %v; want the own order", other, err)
		}
		_, err = node.BuyLines(sale, "v", "k", domain.Line{SKU: "unknown", Quantity: 1})
		var problem *domain.Problem
		if !errors.As(err, &problem) || problem.Code != domain.CodeSKUNotFound {
			t.Errorf("somebody else asks for an unknown item: %v, want sku_not_found", err)
		}
		StandingChecks(t, node, sale, c.accepted)
	})
}
