package e2e

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"seckill/domain"
	"seckill/infra/testenv"
)

// TestPurchasesGoOnWhilePostgresIsAway kills, and then freezes, the PostgreSQL of
// a served sale. The gate goes on deciding; what it decided is recorded later.
func TestPurchasesGoOnWhilePostgresIsAway(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t)
	rig := rigOn(t, server.URL, testenv.PrivateRedis(t, testenv.RedisOptions{}))
	child := ServeRig(t, rig)
	client := NewClient(child.URL)
	sale := client.CreateSale(t, 200)
	accepted := map[string]string{}
	buyAll(t, client, sale, "before", 10, accepted)

	server.Kill()
	buyAll(t, client, sale, "killed", 40, accepted)
	readAll(t, client, sale, accepted)
	server.Start()
	child.AwaitReady()
	observer := rig.Node(t, NodeOptions{APIOnly: true})
	StandingChecks(t, observer, sale, accepted)

	thaw := server.Freeze()
	buyAll(t, client, sale, "frozen", 10, accepted)
	thaw()
	child.AwaitReady()
	StandingChecks(t, observer, sale, accepted)
	f := readFold(t, observer.Store)
	for order, buyer := range accepted {
		if o := f.orders[order]; o.Status != domain.OrderStatusPlaced {
			t.Errorf("order %s of %s ended %s (%s), want placed", order, buyer, o.Status, o.Reason)
		}
	}
	if got := f.placed(sale); got != 60 {
		t.Errorf("%d orders placed, want all 60", got)
	}
}

// buyAll lets that many buyers buy at once. Each is answered 202 within the
// client's patience.
func buyAll(t *testing.T, c *Client, sale, prefix string, n int, accepted map[string]string) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			buyer := fmt.Sprintf("%s-%d", prefix, i)
			answer, err := c.Buy(sale, buyer, buyer)
			if err != nil || answer.Status != http.StatusAccepted {
				t.Errorf("%s: got %d %s, %v; want 202", buyer, answer.Status, answer.Raw, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			accepted[answer.Text("order_id")] = buyer
		})
	}
	all.Wait()
}

// readAll reads what buyers read: it is told, or that it cannot be at the moment.
func readAll(t *testing.T, c *Client, sale string, accepted map[string]string) {
	t.Helper()
	want := func(what string, answer Answer, err error) {
		t.Helper()
		told := answer.Status == http.StatusOK || answer.Status == http.StatusServiceUnavailable && answer.Header.Get("Retry-After") != ""
		if err != nil || !told {
			t.Errorf("%s: got %d %s (Retry-After %q), %v; want 200, or 503 with Retry-After", what, answer.Status, answer.Raw, answer.Header.Get("Retry-After"), err)
		}
	}
	for _, path := range []string{"/api/v1/sales", "/api/v1/sales/" + sale} {
		answer, err := c.Call(http.MethodGet, path, "", "", nil)
		want(path, answer, err)
	}
	answer, err := c.Call(http.MethodGet, "/api/v1/orders?sale="+sale, "before-1", "", nil)
	want("own orders", answer, err)
	for order, buyer := range accepted {
		answer, err := c.Order(buyer, order, "")
		want("the order of "+buyer, answer, err)
	}
}
