package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/infra/testenv"
)

// shoppers buy and look at their orders through one address until they are told to
// go home, and note everything that a buyer should never see.
type shoppers struct {
	t      *testing.T
	client *Client
	sale   string
	// excused says which answers beside the good ones a purchase or look may get; the
	// shopper tries again.
	excused func(Answer, error) bool

	followed atomic.Int64 // orders seen placed

	mu       sync.Mutex
	promised map[string]string // order → buyer, of what was accepted
	wg       sync.WaitGroup
}

// polite lets a node ask for patience, and nothing else.
func polite(a Answer, err error) bool {
	return err == nil && a.Status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") != ""
}

// crowdOf starts n of them. Each is many buyers, one after the other.
func crowdOf(ctx context.Context, t *testing.T, client *Client, sale string, n int, excused func(Answer, error) bool) *shoppers {
	s := &shoppers{t: t, client: client, sale: sale, excused: excused, promised: map[string]string{}}
	for w := range n {
		s.wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				s.one(fmt.Sprintf("shopper-%d-%d", w, i), i%2 == 0)
			}
		})
	}
	return s
}

// shopperPatience bounds how long a buyer tries.
const shopperPatience = 60 * time.Second

// try calls until the answer is good, within the patience of a buyer.
func (s *shoppers) try(what string, call func() (Answer, error)) (Answer, bool) {
	var answer Answer
	var err error
	for until := time.Now().Add(shopperPatience); time.Now().Before(until); {
		if answer, err = call(); err == nil && answer.Status < 300 {
			return answer, true
		}
		if !s.excused(answer, err) {
			break
		}
		time.Sleep(50 * time.Millisecond) // a person's pause; nothing is waited for
	}
	s.t.Errorf("%s: %d %s %v", what, answer.Status, answer.Raw, err)
	return answer, false
}

// one buys a unit and follows the order until it is placed, and a little longer.
func (s *shoppers) one(buyer string, withKey bool) {
	headers := []string{}
	if withKey {
		headers = []string{"Idempotency-Key", "key-of-" + buyer}
	}
	bought, ok := s.try(buyer+" buys", func() (Answer, error) {
		return s.client.Call(http.MethodPost, "/api/v1/sales/"+s.sale+"/purchases", buyer, "", map[string]any{"sku": "item", "quantity": 1}, headers...)
	})
	if !ok {
		return
	}
	order := bought.Text("order_id")
	s.mu.Lock()
	s.promised[order] = buyer
	s.mu.Unlock()
	seen := bought.Text("status")
	for until := time.Now().Add(shopperPatience); seen == "queued" && time.Now().Before(until); {
		if seen, ok = s.look(buyer, order, "?wait=2s"); !ok {
			return
		}
	}
	s.followed.Add(1)
	for range 2 { // each by another node
		again, ok := s.look(buyer, order, "")
		if ok && (again != "placed" || seen != "placed") {
			s.t.Errorf("%s was told %q of order %s and then %q", buyer, seen, order, again)
		}
	}
}

func (s *shoppers) look(buyer, order, query string) (status string, ok bool) {
	answer, ok := s.try(buyer+" looks", func() (Answer, error) { return s.client.Order(buyer, order, query) })
	return answer.Text("status"), ok
}

// home waits until all have gone home; then promised are the orders they hold.
func (s *shoppers) home() { s.wg.Wait() }

// inBuckets names the sale of several buckets.
const inBuckets = "redis-async in buckets"

// crowdsOf starts n shoppers at a sale of each strategy, and at one of several buckets.
func crowdsOf(ctx context.Context, t *testing.T, client *Client, n int, excused func(Answer, error) bool) map[string]*shoppers {
	t.Helper()
	crowds := map[string]*shoppers{}
	for strategy, buckets := range map[string]int{"redis-async": 1, "redis-sync": 1, "postgres": 1, inBuckets: 4} {
		body := saleBody(100_000)
		body["strategy"], body["buckets"] = strategy, buckets
		if strategy == inBuckets {
			body["strategy"] = "redis-async"
		}
		made, err := client.Call(http.MethodPost, "/api/v1/admin/sales", "operator", "admin", body)
		if err != nil || made.Status != http.StatusCreated {
			t.Fatalf("create a sale: %d %s %v", made.Status, made.Raw, err)
		}
		crowds[strategy] = crowdOf(ctx, t, client, made.Text("id"), n, excused)
	}
	return crowds
}

// checkCrowds looks at what became of everything that was accepted.
func checkCrowds(t *testing.T, r *Rig, crowds map[string]*shoppers) {
	t.Helper()
	node := r.Node(t, NodeOptions{APIOnly: true})
	for strategy, crowd := range crowds {
		t.Logf("%s: %d orders", strategy, len(crowd.promised))
		if strategy == "postgres" { // which no gate knows
			node.AwaitDecided(t, crowd.promised)
		} else {
			StandingChecks(t, node, crowd.sale, crowd.promised)
		}
		if log := readFold(t, node.Store); len(crowd.promised) < 10 || log.placed(crowd.sale) != len(crowd.promised) {
			t.Errorf("%s: %d orders are placed, %d were accepted", strategy, log.placed(crowd.sale), len(crowd.promised))
		}
	}
}

// Each process is told to stop and started again while buyers buy through a
// balancer: nobody sees an error that is not a request for patience, and no order is
// lost or taken back.
func TestARollingRestartUnderLoadLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	env := append(r.Settings(t), "SECKILL_DRAIN_FOR=500ms")
	nodes := []*Child{Serve(t, ChildOptions{Env: env}), Serve(t, ChildOptions{Env: env})}
	b := newBalancer(t, nodes)
	client := NewClient(b.url)
	client.http.Transport = &http.Transport{MaxIdleConnsPerHost: 64}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	crowds := crowdsOf(ctx, t, client, 3, polite)
	for round := range 2 {
		for i, node := range nodes {
			if code := node.Stop(); code != 0 {
				t.Errorf("round %d: node %d ends with %d when it is told to stop", round, i, code)
			}
			node.Start()
			node.AwaitReady()
		}
	}
	stop()
	for _, crowd := range crowds {
		crowd.home()
	}
	if n := b.broken.Load(); n > 0 {
		t.Errorf("%d requests broke", n)
	}
	checkCrowds(t, r, crowds)
}

// An API node that is told to stop waits for what it acknowledged, and where nobody
// records it in time, it says so and ends in order; the journal has it.
func TestAnAPINodeThatStopsSaysWhatIsNotRecordedYet(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	env := r.Settings(t)
	front := Serve(t, ChildOptions{Env: env, Args: []string{"--roles", "api,scheduler,projector"}})
	client := NewClient(front.URL)
	sale := client.CreateSale(t, 10)
	var order string
	testenv.Eventually(t, 30*time.Second, func() error {
		answer, err := client.Buy(sale, "buyer", "key")
		if order = answer.Text("order_id"); err == nil && answer.Status != http.StatusAccepted {
			err = errStatus(answer)
		}
		return err
	})
	if code := front.Stop(); code != 0 || !strings.Contains(front.Log(), "stopped before all acknowledged purchases were recorded") {
		t.Errorf("a node that stops while nobody records ends with %d and says:\n%s", code, front.Log())
	}
	again := ServeRig(t, r)
	if status := await(t, NewClient(again.URL), "buyer", order).Text("status"); status != "placed" {
		t.Errorf("the order is %s, want it placed", status)
	}
	if code := again.Stop(); code != 0 || strings.Contains(again.Log(), "stopped before all") {
		t.Errorf("a node that keeps nothing ends with %d and says:\n%s", code, again.Log())
	}
	StandingChecks(t, r.Node(t, NodeOptions{APIOnly: false}), sale, map[string]string{order: "buyer"})
}
