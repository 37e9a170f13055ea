package e2e

import (
	"testing"
	"time"

	"seckill/commands"
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

// TestAKeyIsJudgedThoughTheGateDoesNotAnswer: the log knows of each order which key and
// body it came with. With orders to spare, too, a key stands for its own order alone.
func TestAKeyIsJudgedThoughTheGateDoesNotAnswer(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	away := testenv.Proxy(t, rig.Redis.URL)
	n := rig.Node(t, NodeOptions{})
	terms := Terms(10)
	terms.OrdersPerBuyer, terms.LimitPerBuyer = 3, 5
	sale := n.Schedule(t, terms)
	one, two := domain.Line{SKU: "item", Quantity: 1}, domain.Line{SKU: "item", Quantity: 2}
	var orders []string
	for _, key := range []string{"k1", "k2"} {
		res, err := n.BuyLines(sale, "owner", key, one)
		if err != nil || res.Outcome != domain.Reserved {
			t.Fatalf("%s: got %v, %v", key, res.Outcome, err)
		}
		n.AwaitStatus(t, "owner", res.Order.ID, domain.OrderStatusPlaced)
		orders = append(orders, res.Order.ID)
	}
	stranger := rig.Node(t, NodeOptions{APIOnly: true, RedisURL: away.URL()}) // has not seen the orders
	if res, err := stranger.BuyLines(sale, "first", "k", one); err != nil || res.Outcome != domain.Reserved {
		t.Fatalf("got %v, %v", res.Outcome, err)
	}
	away.BlackHole()
	defer away.Heal()
	ask := func(key string, line domain.Line) (res commands.PurchaseResult) {
		t.Helper()
		testenv.Eventually(t, 30*time.Second, func() (err error) { // busy: it was not even sent
			res, err = stranger.BuyLines(sale, "owner", key, line)
			return err
		})
		return res
	}
	for i, key := range []string{"k1", "k2"} {
		if res := ask(key, one); res.Outcome != domain.SameOrder || !res.Repeat || res.Order.ID != orders[i] {
			t.Errorf("%s again: got %v %s; want order %s", key, res.Outcome, res.Order.ID, orders[i])
		}
	}
	if res := ask("k1", two); res.Outcome != domain.KeyMismatch || res.Order.ID != "" {
		t.Errorf("another body: got %v %s; want a mismatch", res.Outcome, res.Order.ID)
	}
}
