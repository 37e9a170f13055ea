package e2e

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/infra/testenv"
)

// press buys once and gives the status, which must be an order's or a limit's.
func press(t *testing.T, c *Client, sale, buyer string) int {
	t.Helper()
	answer, err := c.Buy(sale, buyer, "click")
	if err != nil {
		t.Fatal(err)
	}
	switch answer.Status {
	case http.StatusAccepted, http.StatusCreated, http.StatusOK:
	case http.StatusTooManyRequests:
		if wait, ok := answer.Body["retry_after_ms"].(float64); answer.Text("code") != "rate_limited" || !ok || wait <= 0 || answer.Header.Get("Retry-After") == "" {
			t.Errorf("got %s with Retry-After %q, want rate_limited and a time", answer.Raw, answer.Header.Get("Retry-After"))
		}
	default:
		t.Fatalf("got status %d: %s", answer.Status, answer.Raw)
	}
	return answer.Status
}

// B69: the limit is one over two processes; what they let pass is counted over
// the time that it took, plus the free attempt of the second process.
func TestB69TwoProcessesHoldOneLimitAndShowWhoPassedIt(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	on := []string{"SECKILL_LIMIT_PURCHASES=5", "SECKILL_LIMIT_POLLS=20"}
	one, two := ServeRig(t, rig, on...), ServeRig(t, rig, append(on, "SECKILL_CACHE_REDIS_URL="+rig.Redis.URL)...)
	clients := []*Client{NewClient(one.URL), NewClient(two.URL)}
	sale := clients[0].CreateSale(t, 100)
	awaitSelling(t, clients[1], sale)
	for _, c := range clients {
		awaitMetric(t, c, "seckill_limit_store_up 1\n")
	}

	began, passed, refused := time.Now(), 0, 0
	for i := range 120 {
		if press(t, clients[i%2], sale, "greedy") == http.StatusTooManyRequests {
			refused++
		} else {
			passed++
		}
	}
	windows := int(time.Since(began)/time.Second) + 1
	most := 6 * windows
	// On a busy machine Redis may take longer than 50 ms: then each holds its own.
	sharing := !strings.Contains(one.log.tail(1<<20)+two.log.tail(1<<20), "their store is away")
	if !sharing {
		most = 2 * 5 * windows
	}
	if passed > most || refused == 0 {
		t.Errorf("within %d s %d attempts passed and %d were refused; want at most %d to pass", windows, passed, refused, most)
	}
	for i := range 20 {
		if press(t, clients[i%2], sale, fmt.Sprintf("patient-%d", i)) == http.StatusTooManyRequests {
			t.Errorf("a buyer who pressed once was refused")
		}
	}
	testenv.Eventually(t, 30*time.Second, func() error { // each node shows whom the others refused
		for _, c := range clients {
			answer, err := c.Call(http.MethodGet, "/api/v1/admin/limits", "operator", "admin", nil)
			if err != nil {
				return err
			}
			if !strings.Contains(answer.Raw, `"buyer_id":"greedy"`) || answer.Body["all_nodes"] != true {
				return errors.New("not everywhere: " + answer.Raw)
			}
		}
		return nil
	})
	for _, c := range clients {
		answer, err := c.Call(http.MethodGet, "/api/v1/admin/limits", "operator", "admin", nil)
		if err != nil || answer.Status != http.StatusOK {
			t.Fatalf("limits: %d %s %v", answer.Status, answer.Raw, err)
		}
		if strings.Contains(answer.Raw, "patient") {
			t.Errorf("a patient buyer is marked: %s", answer.Raw)
		}
	}
}

func TestWhileTheStoreOfLimitsIsAwaySalesGoOnUnderEachNodesOwnLimit(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	store := testenv.PrivateRedis(t, testenv.RedisOptions{})
	child := ServeRig(t, rig, "SECKILL_LIMIT_PURCHASES=5", "SECKILL_CACHE_REDIS_URL="+store.URL)
	client := NewClient(child.URL)
	sale := client.CreateSale(t, 10)
	awaitSelling(t, client, sale)
	ticketed := (&funnel{t, client}).sale(5, map[string]any{"require_ticket": true})
	f := &funnel{t, client}
	ticket := f.want("a ticket", 201, "", f.asks(ticketed, "u1", nil)).Text("ticket")
	for _, name := range []string{"limits", "tickets"} {
		awaitMetric(t, client, fmt.Sprintf("seckill_breaker_state{store=%q} 0\n", name))
		awaitMetric(t, client, fmt.Sprintf("seckill_pool_wait_seconds_total{pool=%q} ", "redis_"+name))
	}
	store.Kill()
	awaitMetric(t, client, "seckill_limit_store_up 0\n")
	awaitMetric(t, client, "seckill_breaker_state{store=\"limits\"} 2\n")
	for i := range 8 {
		f.want("a ticket while the book is away", 503, "busy", f.asks(ticketed, fmt.Sprintf("late-%d", i), nil))
	}
	f.want("a purchase with the ticket that is out", 202, "", f.buys(ticketed, "u1", "", "Purchase-Ticket", ticket))
	refused := 0
	for range 60 {
		if press(t, client, sale, "greedy") == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused == 0 {
		t.Error("of 60 attempts at once none was refused")
	}
	store.Restart()
	awaitMetric(t, client, "seckill_limit_store_up 1\n")
	awaitMetric(t, client, "seckill_breaker_state{store=\"limits\"} 0\n")
	testenv.Eventually(t, 30*time.Second, func() error {
		answer, err := f.asks(ticketed, "late-1", nil)()
		if err == nil && answer.Status != http.StatusCreated {
			err = errStatus(answer)
		}
		return err
	})
}

func awaitSelling(t *testing.T, c *Client, sale string) {
	t.Helper()
	testenv.Eventually(t, 30*time.Second, func() error {
		answer, err := c.Buy(sale, "first", "click")
		if err != nil {
			return err
		}
		if answer.Status != http.StatusAccepted && answer.Status != http.StatusOK {
			return errStatus(answer)
		}
		return nil
	})
}

func awaitMetric(t *testing.T, c *Client, line string) {
	t.Helper()
	testenv.Eventually(t, 30*time.Second, func() error {
		answer, err := c.Call(http.MethodGet, "/metrics", "", "", nil)
		if err != nil {
			return err
		}
		if !strings.Contains(answer.Raw, line) {
			return errors.New("not in /metrics: " + line)
		}
		return nil
	})
}
