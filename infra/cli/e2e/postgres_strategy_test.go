package e2e

import (
	"context"
	"encoding/json"
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

// TestB16KilledBetweenAnyTwoStepsWithoutAGate kills the process at each point that a
// purchase passes where there is no gate.
func TestB16KilledBetweenAnyTwoStepsWithoutAGate(t *testing.T) {
	for _, point := range []string{
		"purchase.before-gate:7", "append.locked:4", "append.before-commit:4", "append.after-commit:4", "purchase.after-gate:7",
	} {
		t.Run(point, func(t *testing.T) { killedAt(t, domain.StrategyPostgres, point) })
	}
}

// TestTheLifeOfASaleWithoutAGate does everything that is done to a sale, over HTTP and
// from the command line.
func TestTheLifeOfASaleWithoutAGate(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	child := ServeRig(t, rig)
	client := NewClient(child.URL)
	sale := createIn(t, client, domain.StrategyPostgres, 5)
	admin := func(method, path string, body any, status int, code string) Answer {
		t.Helper()
		answer, err := client.Call(method, "/api/v1/admin/sales/"+sale+path, "operator", "admin", body)
		if err != nil || answer.Status != status || answer.Text("code") != code {
			t.Fatalf("%s %s: got %d %s, %v; want %d %s", method, path, answer.Status, answer.Raw, err, status, code)
		}
		return answer
	}
	release := func(quantity, status int, code string) Answer {
		t.Helper()
		return admin(http.MethodPost, "/items/item/releases", map[string]any{"quantity": quantity}, status, code)
	}
	preheat := admin(http.MethodPost, "/preheat", nil, http.StatusOK, "")
	if preheat.Body["verified"] != true {
		t.Errorf("preheat: %s, want verified", preheat.Raw)
	}
	orders := map[string]string{}
	buy := func(buyer string, status int, code string) string {
		t.Helper()
		answer := purchase(t, client, sale, buyer, oneItem, status, "Idempotency-Key", "k")
		if answer.Text("code") != code || status == http.StatusCreated && (answer.Text("status") != "placed" || answer.Header.Get("Location") == "") {
			t.Fatalf("%s buys: %s, want %s", buyer, answer.Raw, code)
		}
		if id := answer.Text("order_id"); id != "" {
			orders[id] = buyer
			return id
		}
		return ""
	}
	first := buy("b1", http.StatusCreated, "")
	if told, err := client.Order("b1", first, ""); err != nil || told.Text("status") != "placed" {
		t.Errorf("the order right afterwards: %s, %v; want placed", told.Raw, err)
	}
	if again := buy("b1", http.StatusOK, ""); again != first {
		t.Errorf("the same again: order %s, want %s", again, first)
	}
	mismatch := purchase(t, client, sale, "b1", `{"sku":"item","quantity":2}`, http.StatusUnprocessableEntity, "Idempotency-Key", "k")
	if mismatch.Text("code") != string(domain.CodeIdempotencyMismatch) {
		t.Errorf("the same key with another body: %s", mismatch.Raw)
	}
	release(-3, http.StatusOK, "")
	release(-2, http.StatusConflict, string(domain.CodeBelowReserved))
	release(2, http.StatusOK, "")
	admin(http.MethodPost, "/pause", nil, http.StatusOK, "")
	buy("b2", http.StatusServiceUnavailable, string(domain.CodePaused))
	buy("b1", http.StatusOK, "")
	admin(http.MethodPost, "/resume", nil, http.StatusOK, "")
	for _, buyer := range []string{"b2", "b3", "b4"} {
		buy(buyer, http.StatusCreated, "")
	}
	buy("b5", http.StatusConflict, string(domain.CodeSoldOut))
	testenv.Eventually(t, 30*time.Second, func() error {
		shown, err := client.Call(http.MethodGet, "/api/v1/sales/"+sale, "", "", nil)
		items, _ := shown.Body["items"].([]any)
		if err != nil || shown.Text("state") != "open" || len(items) != 1 || items[0].(map[string]any)["sold_out"] != true {
			return fmt.Errorf("the sale is shown as %s, %v; want it open and sold out", shown.Raw, err)
		}
		return nil
	})
	cancel := func(order, buyer string) {
		t.Helper()
		answer, err := client.Call(http.MethodPost, "/api/v1/orders/"+order+"/cancellation", buyer, "", nil)
		if err != nil || answer.Status != http.StatusOK || answer.Text("status") != "cancelled" {
			t.Fatalf("cancel the order of %s: %d %s, %v", buyer, answer.Status, answer.Raw, err)
		}
	}
	cancel(first, "b1")
	buy("b5", http.StatusCreated, "")
	// Scheduled, preheated by an operator, paused, resumed.
	admin(http.MethodPut, "", map[string]any{"version": 4, "strategy": "redis-sync"}, http.StatusUnprocessableEntity, "invalid_request")
	StandingChecks(t, rig.Node(t, NodeOptions{APIOnly: true}), sale, orders)

	admin(http.MethodPost, "/cleanup", nil, http.StatusConflict, string(domain.CodeNotEnded))
	admin(http.MethodPost, "/close", nil, http.StatusOK, "")
	buy("b6", http.StatusGone, string(domain.CodeSaleEnded))
	for order, buyer := range orders {
		if order != first {
			cancel(order, buyer)
		}
	}
	report := Run(t, rig.Settings(t), "reconcile", "--sale", sale, "--json")
	if report.Code != 0 {
		t.Errorf("reconcile: exit %d:\n%s%s", report.Code, report.Stdout, report.Stderr)
	}
	var books struct {
		Sales []struct{ Released, Available, Reserved, Returned, Drift int }
	}
	if err := json.Unmarshal([]byte(report.Stdout), &books); err != nil || len(books.Sales) != 1 {
		t.Fatalf("reconcile: %s, %v", report.Stdout, err)
	}
	// 5 and 2 released, 3 withdrawn, 5 bought and given back.
	if got := books.Sales[0]; got.Released != 7 || got.Reserved != 8 || got.Returned != 5 || got.Available != 4 || got.Drift != 0 {
		t.Errorf("the books: %+v, want 7 released, 8 reserved, 5 returned, 4 available, no drift", got)
	}
	cleaned := admin(http.MethodPost, "/cleanup", nil, http.StatusOK, "")
	items, _ := cleaned.Body["items"].([]any)
	for _, item := range items {
		if item.(map[string]any)["done"] != true {
			t.Errorf("clean-up: %v is not done", item)
		}
	}
	if len(items) < 6 {
		t.Errorf("clean-up: %s, want the whole checklist", cleaned.Raw)
	}
	if audit := Run(t, rig.Settings(t), "audit", "verify"); audit.Code != 0 {
		t.Errorf("audit verify: exit %d:\n%s%s", audit.Code, audit.Stdout, audit.Stderr)
	}
	if past := Run(t, rig.Settings(t), "replay", "--sale", sale, "--as-of", "0s", "--json"); past.Code != 0 {
		t.Errorf("replay --as-of: exit %d:\n%s%s", past.Code, past.Stdout, past.Stderr)
	}
}
