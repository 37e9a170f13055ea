package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/domain"
	"seckill/infra/testenv"
)

// TestASyncSaleAnswersOnceTheLogHasTheOrder: 201 placed with where to look, at once
// true for every reader; and the same again is a repeat of it.
func TestASyncSaleAnswersOnceTheLogHasTheOrder(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	child := ServeRig(t, rig)
	client := NewClient(child.URL)
	observer := rig.Node(t, NodeOptions{APIOnly: true})
	sale := createIn(t, client, domain.StrategyRedisSync, 3)
	accepted := map[string]string{}
	for i := range 3 {
		buyer := fmt.Sprintf("b-%d", i)
		first := purchase(t, client, sale, buyer, oneItem, http.StatusCreated, "Idempotency-Key", "k")
		order := first.Text("order_id")
		accepted[order] = buyer
		if path := "/api/v1/orders/" + order; first.Text("status") != "placed" || first.Header.Get("Location") != path || first.Text("poll_url") != path || first.Header.Get("Retry-After") != "" {
			t.Errorf("%s: %s, Location %q, Retry-After %q; want placed, where to look, and nothing to wait for", buyer, first.Raw, first.Header.Get("Location"), first.Header.Get("Retry-After"))
		}
		if f := readFold(t, observer.Store); f.orders[order].Status != domain.OrderStatusPlaced {
			t.Errorf("the log has %q of an order that was told as placed", f.orders[order].Status)
		}
		if told, err := client.Order(buyer, order, ""); err != nil || told.Text("status") != "placed" {
			t.Errorf("the order of %s right afterwards: %d %s, %v; want placed", buyer, told.Status, told.Raw, err)
		}
		again := purchase(t, client, sale, buyer, oneItem, http.StatusOK, "Idempotency-Key", "k")
		if again.Text("order_id") != order || again.Text("status") != "placed" || again.Body["repeat"] != true {
			t.Errorf("the same again: %s, want order %s placed, as a repeat", again.Raw, order)
		}
	}
	late := purchase(t, client, sale, "late", oneItem, http.StatusConflict)
	if late.Text("code") != "sold_out" {
		t.Errorf("code %q after the last unit, want sold_out", late.Text("code"))
	}
	StandingChecks(t, observer, sale, accepted)
}

// TestASyncSaleWithoutARecorderAnswersQueued: the budget ends, the order is queued,
// and placed when somebody records. Nodes that record nothing learn it too.
func TestASyncSaleWithoutARecorderAnswersQueued(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	child := Serve(t, ChildOptions{Env: rig.Settings(t), Args: []string{"--roles", "api"}})
	client := NewClient(child.URL)
	sale := createIn(t, client, domain.StrategyRedisSync, 5)
	first := purchase(t, client, sale, "early", oneItem, http.StatusAccepted)
	order := first.Text("order_id")
	if first.Text("status") != "queued" || first.Header.Get("Retry-After") == "" || first.Header.Get("Location") == "" {
		t.Errorf("without a recorder: %s (Retry-After %q); want it queued, to be asked for", first.Raw, first.Header.Get("Retry-After"))
	}
	full := rig.Node(t, NodeOptions{})
	if told := await(t, client, "early", order); told.Text("status") != "placed" {
		t.Errorf("the order ended %s, want placed", told.Raw)
	}
	second := purchase(t, client, sale, "late", oneItem, http.StatusCreated)
	StandingChecks(t, full, sale, map[string]string{order: "early", second.Text("order_id"): "late"})
}

// TestASyncSaleWithoutTheLogAnswersQueued: nothing that the gate accepted is lost, and
// answers wait for the record again once there is a log.
func TestASyncSaleWithoutTheLogAnswersQueued(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t)
	rig := rigOn(t, server.URL, testenv.PrivateRedis(t, testenv.RedisOptions{}))
	child := ServeRig(t, rig)
	client := NewClient(child.URL)
	sale := createIn(t, client, domain.StrategyRedisSync, 200)
	accepted := map[string]string{}
	accepted[purchase(t, client, sale, "before", oneItem, http.StatusCreated).Text("order_id")] = "before"
	server.Kill()
	buyAll(t, client, sale, "killed", 60, accepted)
	server.Start()
	child.AwaitReady()
	observer := rig.Node(t, NodeOptions{APIOnly: true})
	StandingChecks(t, observer, sale, accepted)
	if got := readFold(t, observer.Store).placed(sale); got != 61 {
		t.Errorf("%d orders placed, want all 61", got)
	}
	testenv.Eventually(t, 60*time.Second, func() error {
		answer, err := client.Buy(sale, "after", "k")
		if err == nil && (answer.Text("status") != "placed") {
			err = errStatus(answer)
		}
		return err
	})
}

// TestASyncSaleTellsWhatTheLogRejected: a gate that has more units than there are
// sells them, the log does not, and the buyer who waited hears so in the answer.
func TestASyncSaleTellsWhatTheLogRejected(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	child := ServeRig(t, rig)
	client := NewClient(child.URL)
	sale := createIn(t, client, domain.StrategyRedisSync, 1)
	first := purchase(t, client, sale, "first", oneItem, http.StatusCreated)
	rig.addUnits(t, sale, 1)
	second := purchase(t, client, sale, "second", oneItem, http.StatusAccepted)
	if second.Text("status") != "rejected" || second.Text("reason") != "guard" || second.Header.Get("Retry-After") != "" || second.Header.Get("Location") == "" {
		t.Errorf("the unit that is none: %s, Retry-After %q; want it rejected by the guard, and where to look", second.Raw, second.Header.Get("Retry-After"))
	}
	if told, err := client.Order("second", second.Text("order_id"), ""); err != nil || told.Text("status") != "rejected" {
		t.Errorf("the order afterwards: %s, %v; want rejected", told.Raw, err)
	}
	if f := readFold(t, rig.reader(t)); f.placed(sale) != 1 || f.orders[first.Text("order_id")].Status != domain.OrderStatusPlaced {
		t.Errorf("%d orders placed, want the first one alone", f.placed(sale))
	}
}

// addUnits makes the gate believe in more units of the test item than there are.
func (r *Rig) addUnits(t *testing.T, sale string, units int64) {
	t.Helper()
	opts, err := redis.ParseURL(r.Redis.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(opts)
	defer func() { _ = client.Close() }() // a test's own connection
	keys, err := client.Keys(context.Background(), "*"+sale+"*item*").Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("keys of the stock: %v, %v; want one", keys, err)
	}
	if err := client.HIncrBy(context.Background(), keys[0], "available", units).Err(); err != nil {
		t.Fatalf("add units: %v", err)
	}
}
