package e2e

import (
	"testing"

	"seckill/domain"
	"seckill/infra/testenv"
)

// TestAnOwnerMeetsTheOwnOrderThoughTheGateDoesNotAnswer: what the gate would say
// cannot be seen, but the log knows the buyer's order. Who has none is told to wait.
func TestAnOwnerMeetsTheOwnOrderThoughTheGateDoesNotAnswer(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	away := testenv.Proxy(t, rig.Redis.URL)
	n := rig.Node(t, NodeOptions{})
	sale := n.Schedule(t, Terms(10))
	order := n.Placed(t, sale, "owner", 1)
	stranger := rig.Node(t, NodeOptions{APIOnly: true, RedisURL: away.URL()}) // has not seen the order
	if res, err := stranger.Buy(sale, "first"); err != nil || res.Outcome != domain.Reserved {
		t.Fatalf("got %v, %v", res.Outcome, err)
	}
	away.BlackHole()
	res, err := stranger.Buy(sale, "owner")
	if err != nil || res.Outcome != domain.Repeat || res.Order.ID != order || res.Order.Status != domain.OrderStatusPlaced {
		t.Errorf("the owner: got %v %s %s, %v; want a repeat of %s", res.Outcome, res.Order.ID, res.Order.Status, err, order)
	}
	if res, err := stranger.Buy(sale, "newcomer"); err != nil || res.Outcome != domain.Reserved || res.Order.Status != domain.OrderStatusQueued {
		t.Errorf("somebody else: got %v %s, %v; want queued", res.Outcome, res.Order.Status, err)
	}
	away.Heal()
}
