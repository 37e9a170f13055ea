package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/testenv"
)

// TestB17TheReplyOfACommitIsLostAndThereIsNoGate loses the reply of commits that hold
// purchases. Nobody is told that it failed: the same again under the same key meets the
// one order, which is stored once.
func TestB17TheReplyOfACommitIsLostAndThereIsNoGate(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	proxy := testenv.Proxy(t, rig.URL)
	through := *rig
	through.URL = proxy.URL()
	node := through.Node(t, NodeOptions{})
	sale := node.Schedule(t, termsIn(domain.StrategyPostgres, 20))
	buy := func(buyer string) (string, error) {
		res, err := node.BuyLines(sale, buyer, "key", domain.Line{SKU: "item", Quantity: 1})
		if err == nil && res.Order.ID == "" {
			err = fmt.Errorf("told %s", res.Outcome)
		}
		return res.Order.ID, err
	}
	if _, err := buy("before"); err != nil {
		t.Fatal(err)
	}
	accepted := map[string]string{}
	for i := range 3 {
		buyer := fmt.Sprintf("b-%d", i)
		proxy.DropReplyTo("COMMIT")
		told, first := buy(buyer)
		if busy := (*domain.Problem)(nil); first != nil && (!errors.As(first, &busy) || busy.Code != domain.CodeBusy) {
			t.Errorf("%s, whose commit goes unanswered: %v, want an order or busy", buyer, first)
		}
		var order string
		testenv.Eventually(t, 60*time.Second, func() (err error) { order, err = buy(buyer); return err })
		if first == nil && told != order {
			t.Errorf("%s was told of order %s, and of %s under the same key", buyer, told, order)
		}
		accepted[order] = buyer
	}
	if proxy.Dropped() == 0 {
		t.Fatal("no reply was lost: the test tested nothing")
	}
	proxy.Heal()
	StandingChecks(t, node, sale, accepted)
	if got := readFold(t, node.Store).placed(sale); got != 4 {
		t.Errorf("%d orders placed, want 4", got)
	}
}

// pressed is what a crowd without a gate was told, by order.
type pressed struct {
	mu       sync.Mutex
	accepted map[string]string // 201 and 202
	placed   map[string]string // 201 alone: these are on disk
	codes    map[string]int
}

// press lets a buyer press until an answer with an order, or sold_out, as a buyer does.
func (s *pressed) press(ctx context.Context, c *Client, sale, buyer string) {
	for ctx.Err() == nil {
		answer, err := c.Buy(sale, buyer, buyer)
		if err != nil { // no answer: the same again under the same key
			continue
		}
		s.mu.Lock()
		s.codes[fmt.Sprint(answer.Status, " ", answer.Text("code"))]++
		order := answer.Text("order_id")
		switch answer.Status {
		case http.StatusCreated:
			s.placed[order] = buyer
			fallthrough
		case http.StatusAccepted, http.StatusOK:
			s.accepted[order] = buyer
		}
		s.mu.Unlock()
		if order != "" || answer.Text("code") == string(domain.CodeSoldOut) {
			return
		}
	}
}

// TestPostgresIsKilledUnderASaleThatHasNothingElse kills PostgreSQL twice, at once, in
// the middle of a crowd. What was told placed is placed, what was told queued is
// decided, and not a unit more than there is is sold.
func TestPostgresIsKilledUnderASaleThatHasNothingElse(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t)
	rig := rigOn(t, server.URL, testenv.PrivateRedis(t, testenv.RedisOptions{}))
	child := ServeRig(t, rig)
	client := NewClient(child.URL)
	const stock, buyers = 150, 400
	sale := createIn(t, client, domain.StrategyPostgres, stock)
	crowd := &pressed{accepted: map[string]string{}, placed: map[string]string{}, codes: map[string]int{}}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	next := make(chan string)
	for range 16 {
		all.Go(func() {
			for buyer := range next {
				crowd.press(ctx, client, sale, buyer)
			}
		})
	}
	for i := range buyers {
		if i == 40 || i == 110 {
			server.Kill()
			server.Start()
		}
		next <- fmt.Sprintf("buyer-%d", i)
	}
	close(next)
	all.Wait()
	child.AwaitReady()
	if ctx.Err() != nil {
		t.Fatalf("the crowd was not served in time: %v", crowd.codes)
	}
	t.Logf("told: %v", crowd.codes)
	observer := rig.Node(t, NodeOptions{APIOnly: true})
	StandingChecks(t, observer, sale, crowd.accepted)
	f := readFold(t, observer.Store)
	for order, buyer := range crowd.placed {
		if o := f.orders[order]; o.Status != domain.OrderStatusPlaced {
			t.Errorf("order %s of %s was told placed and is %q", order, buyer, o.Status)
		}
	}
	if got := f.placed(sale); got != stock {
		t.Errorf("%d orders are placed, want all %d units sold and no more", got, stock)
	}
}

// TestASaleWithoutAGateSellsWhileRedisIsAway kills Redis: such a sale does not notice.
func TestASaleWithoutAGateSellsWhileRedisIsAway(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	node := rig.Node(t, NodeOptions{})
	sale := node.Schedule(t, termsIn(domain.StrategyPostgres, 5))
	accepted := map[string]string{}
	buy := func(buyer string) {
		res, err := node.Buy(sale, buyer)
		if err != nil || res.Outcome != domain.Reserved || res.Order.Status != domain.OrderStatusPlaced {
			t.Fatalf("%s buys: got %s %s, %v; want placed", buyer, res.Outcome, res.Order.Status, err)
		}
		accepted[res.Order.ID] = buyer
	}
	buy("before")
	rig.Redis.Kill()
	for i := range 3 {
		buy(fmt.Sprintf("while-%d", i))
	}
	var order string
	for id, buyer := range accepted {
		if buyer == "before" {
			order = id
		}
	}
	if answer, err := node.Orders.Cancel(t.Context(), "before", order, ""); err != nil || answer.Status != domain.OrderStatusCancelled {
		t.Errorf("cancel: %s, %v", answer.Status, err)
	}
	buy("next")
	buy("last")
	if res, err := node.Buy(sale, "late"); err != nil || res.Outcome != domain.SoldOut {
		t.Errorf("when nothing is left: got %s, %v; want sold_out", res.Outcome, err)
	}
	rig.Redis.Restart()
	StandingChecks(t, node, sale, accepted)
}
