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

// promises lets a node acknowledge three orders of a sale that Redis then forgets.
// The holder is cut off from the gate until away is healed; full runs all the rest.
type promises struct {
	full, holder *Node
	away         *testenv.FaultProxy
	sale         string
	orders       []string // in the order they were accepted
	accepted     map[string]string
}

func makePromises(t *testing.T, terms domain.SaleTerms) *promises {
	t.Helper()
	rig := NewRig(t)
	before := rig.Node(t, NodeOptions{})
	p := &promises{sale: before.Schedule(t, terms)}
	c := newTally()
	sell(t, before, p.sale, "recorded", 2, c)
	before.AwaitDecided(t, c.accepted)
	before.Stop()
	copied := rig.Redis.Snapshot()
	p.away = testenv.Proxy(t, rig.Redis.URL)
	p.holder = rig.Node(t, NodeOptions{APIOnly: true, RedisURL: p.away.URL()})
	for i := range 3 {
		buyer := fmt.Sprintf("promised-%d", i)
		res, err := p.holder.BuyLines(p.sale, buyer, "key of "+buyer, domain.Line{SKU: "item", Quantity: 1})
		if err != nil || res.Outcome != domain.Reserved {
			t.Fatalf("%s: got %v, %v", buyer, res.Outcome, err)
		}
		c.add(buyer, res, err)
		p.orders = append(p.orders, res.Order.ID)
	}
	p.away.Cut()
	rig.Redis.Kill()
	rig.Redis.Restore(copied)
	rig.Redis.Restart()
	p.full = rig.Node(t, NodeOptions{})
	p.full.AwaitOpen(t, p.sale)
	p.accepted = c.accepted
	return p
}

// openFor waits until the gate has never seen the first of the orders and has been
// open for long enough that a poll may declare it lost.
func (p *promises) openFor(t *testing.T, long time.Duration) {
	t.Helper()
	ref, err := domain.ParseOrderID(p.orders[0])
	if err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, 30*time.Second, func() error {
		known, err := p.full.Gate.Order(context.Background(), ref)
		if err == nil && (known.State != commands.OrderUnknown || known.OpenFor < long) {
			err = fmt.Errorf("the gate says %v, open for %s", known.State, known.OpenFor)
		}
		return err
	})
}

// queued checks that every buyer is told that the order is queued: by the node that
// acknowledged it for what that one waits for, by another for its sale.
func (p *promises) queued(t *testing.T, holderWaits domain.Waiting) {
	t.Helper()
	for i, order := range p.orders {
		for n, waits := range map[*Node]domain.Waiting{p.holder: holderWaits, p.full: domain.WaitingForSale} {
			told, err := n.Finder.Find(context.Background(), fmt.Sprintf("promised-%d", i), order)
			if err != nil || told.Status != domain.OrderStatusQueued || told.WaitingFor != waits {
				t.Errorf("promise %d: got %s (%s), waiting for %q, %v; want queued for the %s", i, told.Status, told.Reason, told.WaitingFor, err, waits)
			}
		}
	}
}

// decided waits until every promise is decided as wanted.
func (p *promises) decided(t *testing.T, ask *Node, status domain.OrderStatus) {
	t.Helper()
	testenv.Eventually(t, 30*time.Second, func() error {
		for i, order := range p.orders {
			told, err := ask.Finder.Find(context.Background(), fmt.Sprintf("promised-%d", i), order)
			if err != nil || told.Status != status {
				return fmt.Errorf("promise %d: %s (%s), %v; want %s", i, told.Status, told.Reason, err, status)
			}
		}
		return nil
	})
}

func TestAnAcknowledgedOrderOutlivesAPauseOfItsSale(t *testing.T) {
	actor := commands.Actor{By: "test", Note: "looking"}
	switching := func(on bool) func(*Node, string) error {
		return func(n *Node, sale string) error {
			board := commands.NewSwitchboard(n.Env, n.Sales, n.Store, n.Operator)
			_, err := board.Flip(context.Background(), commands.Flip{Name: domain.PausePurchases, On: on}, actor)
			return err
		}
	}
	for name, way := range map[string]struct{ stop, resume func(*Node, string) error }{
		"an operator": {
			func(n *Node, sale string) error {
				_, err := n.Operator.Pause(context.Background(), sale, domain.PausedByOperator, actor)
				return err
			},
			func(n *Node, sale string) error {
				_, err := n.Operator.Resume(context.Background(), sale, domain.PausedByOperator, actor)
				return err
			},
		},
		"the switch of all sales": {switching(true), switching(false)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := makePromises(t, Terms(10))
			if err := way.stop(p.full, p.sale); err != nil {
				t.Fatalf("pause: %v", err)
			}
			p.away.Heal()
			p.openFor(t, 6*time.Second)
			p.queued(t, domain.WaitingForSale)
			for i, order := range p.orders {
				res, err := p.holder.Buy(p.sale, fmt.Sprintf("promised-%d", i))
				if err != nil || res.Outcome != domain.Repeat || res.Order.ID != order || res.Order.Status != domain.OrderStatusQueued {
					t.Errorf("promise %d asks again: got %v %s %s, %v; want a repeat, queued", i, res.Outcome, res.Order.ID, res.Order.Status, err)
				}
			}
			if res, err := p.holder.BuyLines(p.sale, "promised-0", "key of promised-0", domain.Line{SKU: "item", Quantity: 2}); err != nil || res.Outcome != domain.KeyMismatch {
				t.Errorf("another body under the key of a promise: got %v, %v; want a mismatch", res.Outcome, err)
			}
			if n := p.holder.Kept.Size(); n != 3 {
				t.Errorf("the node holds %d promises, want 3", n)
			}
			if res, err := p.full.Buy(p.sale, "somebody"); err != nil || res.Outcome != domain.Paused {
				t.Errorf("meanwhile: got %v, %v; want paused", res.Outcome, err)
			}
			if err := way.resume(p.full, p.sale); err != nil {
				t.Fatalf("resume: %v", err)
			}
			p.decided(t, p.full, domain.OrderStatusPlaced)
			StandingChecks(t, p.full, p.sale, p.accepted)
		})
	}
}

// TestANodeThatComesBackAfterAPauseStillKeepsItsPromises: the gate is well and the
// sale goes on, but the node that acknowledged the orders does not reach it yet.
func TestANodeThatComesBackAfterAPauseStillKeepsItsPromises(t *testing.T) {
	t.Parallel()
	p := makePromises(t, Terms(10))
	actor := commands.Actor{By: "test"}
	if _, err := p.full.Operator.Pause(t.Context(), p.sale, domain.PausedByOperator, actor); err != nil {
		t.Fatal(err)
	}
	p.openFor(t, 6*time.Second)
	if _, err := p.full.Operator.Resume(t.Context(), p.sale, domain.PausedByOperator, actor); err != nil {
		t.Fatal(err)
	}
	p.queued(t, domain.WaitingForGate) // a poll right after the pause decides nothing
	p.away.Heal()
	p.decided(t, p.full, domain.OrderStatusPlaced)
	StandingChecks(t, p.full, p.sale, p.accepted)
}

// TestAnAcknowledgedOrderWhoseNodeIsGoneIsLostAfterThePause: nobody offers it again,
// so it does not stay queued once its sale goes on.
func TestAnAcknowledgedOrderWhoseNodeIsGoneIsLostAfterThePause(t *testing.T) {
	t.Parallel()
	p := makePromises(t, Terms(10))
	actor := commands.Actor{By: "test"}
	if _, err := p.full.Operator.Pause(t.Context(), p.sale, domain.PausedByOperator, actor); err != nil {
		t.Fatal(err)
	}
	p.openFor(t, 6*time.Second)
	p.queued(t, domain.WaitingForGate)
	p.holder.Stop()
	if _, err := p.full.Operator.Resume(t.Context(), p.sale, domain.PausedByOperator, actor); err != nil {
		t.Fatal(err)
	}
	p.decided(t, p.full, domain.OrderStatusRejected)
	StandingChecks(t, p.full, p.sale, p.accepted)
}

// TestAPauseThatOutlivesItsSaleKeepsNobodyWaiting: the sale is over by the gate's
// clock, so no end of the pause would sell anything; what was accepted before is kept.
func TestAPauseThatOutlivesItsSaleKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	terms := Terms(10)
	p := makePromises(t, terms)
	if _, err := p.full.Operator.Pause(t.Context(), p.sale, domain.PausedByOperator, commands.Actor{By: "test"}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.full.revise(p.sale, p.full.version(t, p.sale), func(terms *domain.SaleTerms) { terms.ClosesAt = time.Now().Add(8 * time.Second) }); err != nil {
		t.Fatal(err)
	}
	p.away.Heal()
	p.openFor(t, 5*time.Second)
	p.queued(t, domain.WaitingForSale)
	testenv.Eventually(t, 30*time.Second, func() error {
		if n := p.holder.Kept.Size(); n != 0 {
			return fmt.Errorf("the node still holds %d promises", n)
		}
		return nil
	})
	p.decided(t, p.full, domain.OrderStatusPlaced)
	StandingChecks(t, p.full, p.sale, p.accepted)
}
