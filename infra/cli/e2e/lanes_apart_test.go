package e2e

import (
	"fmt"
	"testing"

	"seckill/domain"
	"seckill/infra/redisgate"
	"seckill/infra/testenv"
)

// sellOut lets buyers prefix-0 … buy one unit each until there is none.
func sellOut(t *testing.T, n *Node, sale, prefix string, most int, c *tally) {
	t.Helper()
	for i := range most {
		buyer := fmt.Sprintf("%s-%d", prefix, i)
		res, err := n.Buy(sale, buyer)
		if err == nil && res.Outcome == domain.SoldOut {
			return
		}
		if c.add(buyer, res, err); err != nil || res.Outcome != domain.Reserved {
			t.Fatalf("buyer %s: got %v, %v; want reserved or sold out", buyer, res.Outcome, err)
		}
	}
}

func TestSalesOnSeveralRedisGoOnWithoutEachOther(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	other := testenv.PrivateRedis(t, testenv.RedisOptions{})
	node := rig.Node(t, NodeOptions{Elsewhere: []redisgate.LaneRange{{From: 32, To: 63, URL: other.URL}}})
	lane := func(sale string) int { return domain.Place{Store: node.Env.Store, Sale: sale}.Lane() }
	here, there := node.Schedule(t, Terms(20)), node.Schedule(t, Terms(20))
	for lane(here) >= 32 {
		here = node.Schedule(t, Terms(20))
	}
	for lane(there) < 32 {
		there = node.Schedule(t, Terms(20))
	}
	sold := map[string]*tally{here: newTally(), there: newTally()}
	sell(t, node, here, "before", 5, sold[here])
	sell(t, node, there, "before", 5, sold[there])
	other.Kill()
	sell(t, node, here, "meanwhile", 5, sold[here])
	node.AwaitDecided(t, sold[here].accepted) // recorded, too
	switch res, err := node.Buy(there, "early"); {
	case err != nil: // 503
	case res.Order.Status == domain.OrderStatusQueued: // nobody knows yet
		sold[there].add("early", res, nil)
	default:
		t.Errorf("a sale whose Redis is dead answered %+v", res)
	}
	other.Restart()
	node.AwaitOpen(t, there)
	for sale, c := range sold {
		sellOut(t, node, sale, "after", 20, c)
		StandingChecks(t, node, sale, c.accepted)
		if got := readFold(t, node.Store).placed(sale); got != 20 {
			t.Errorf("%d orders of sale %s placed, want all 20", got, sale)
		}
	}
}

// TestAProcessThatWasForgottenOnTheOldRedisSellsNothingTwice: lanes move to another
// Redis while one process still sells at the old one.
func TestAProcessThatWasForgottenOnTheOldRedisSellsNothingTwice(t *testing.T) {
	t.Parallel()
	rig, first, sale := selling(t, 60)
	forgotten := rig.Node(t, NodeOptions{APIOnly: true})
	c := newTally()
	sell(t, first, sale, "first", 20, c)
	first.AwaitDecided(t, c.accepted)
	first.Stop()

	other := testenv.PrivateRedis(t, testenv.RedisOptions{})
	moved := rig.Node(t, NodeOptions{Elsewhere: []redisgate.LaneRange{{From: 0, To: 63, URL: other.URL}}})
	moved.AwaitOpen(t, sale)
	doubtful := newTally() // told by a process that nobody listens to any more
	sell(t, forgotten, sale, "doubtful", 5, doubtful)
	sellOut(t, moved, sale, "second", 60, c)
	StandingChecks(t, moved, sale, c.accepted)
	if got := readFold(t, moved.Store).placed(sale); got != 60 {
		t.Errorf("%d orders placed, want all 60", got)
	}
	forgotten.Stop()
	moved.AwaitDecided(t, doubtful.accepted) // whoever asks hears that they are lost
	moved.Stop()

	back := rig.Node(t, NodeOptions{})
	back.AwaitOpen(t, sale)
	StandingChecks(t, back, sale, c.accepted)
	log := readFold(t, back.Store)
	if got := log.placed(sale); got != 60 {
		t.Errorf("%d orders placed after all came back, want 60", got)
	}
	for order := range doubtful.accepted {
		if o := log.orders[order]; o.Status != domain.OrderStatusRejected {
			t.Errorf("an order of the forgotten process ended %s, want rejected", o.Status)
		}
	}
}
