package e2e

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/payments"
	"seckill/infra/testenv"
)

// How much TestAccountsBalanceWhateverDies does; `make accounts` asks for 100,000.
var (
	accountsPurchases = flag.Int("accounts.purchases", 2000, "purchases of the accounts test")
	accountsSeed      = flag.Uint64("accounts.seed", 0, "seed of the accounts test; 0 draws one")
)

// accounts is one run: an installation of two API processes and two others, a
// sale, and everything that its buyers were told.
type accounts struct {
	t        *testing.T
	seed     uint64
	rig      *Rig
	server   *testenv.PostgresServer
	apis     []*Child
	backs    []*Child
	clients  []*Client
	sale     string
	stock    int
	deadline time.Time

	asked atomic.Int64 // purchases that have been answered

	mu       sync.Mutex
	promised map[string]string // order → buyer
	paid     map[string]bool   // orders whose payment the webhook took
}

// TestAccountsBalanceWhateverDies buys, cancels, pays, fails to pay and lets
// expire at random, while every process is killed again and again and Redis comes
// back once as it was earlier. Nobody mends anything by hand.
func TestAccountsBalanceWhateverDies(t *testing.T) {
	a := newAccounts(t)
	t.Logf("seed %d, %d purchases, stock %d", a.seed, *accountsPurchases, a.stock)
	var buyers sync.WaitGroup
	next := atomic.Int64{}
	for w := range min(96, max(24, *accountsPurchases/400)) { // at once
		buyers.Go(func() {
			chance := rand.New(rand.NewPCG(a.seed, uint64(w)+1))
			for i := next.Add(1); i <= int64(*accountsPurchases); i = next.Add(1) {
				a.live(chance, int(i))
			}
		})
	}
	done := make(chan struct{})
	go func() { buyers.Wait(); close(done) }()
	kills := a.havoc(rand.New(rand.NewPCG(a.seed, 0)), done)
	a.settle(kills)
}

func newAccounts(t *testing.T) *accounts {
	a := &accounts{t: t, seed: *accountsSeed, promised: map[string]string{}, paid: map[string]bool{}}
	if a.seed == 0 {
		a.seed = rand.Uint64()
	}
	a.stock = max(20, *accountsPurchases/5)
	a.server = testenv.PrivatePostgres(t)
	a.rig = rigOn(t, a.server.URL, testenv.PrivateRedis(t, testenv.RedisOptions{}))
	env := withBank(t, a.rig)
	for range 2 {
		a.apis = append(a.apis, NewChild(t, ChildOptions{Env: env, Args: []string{"--roles", "api"}}))
		a.backs = append(a.backs, NewChild(t, ChildOptions{Env: env, Args: []string{"--roles", "recorder,relay,projector,scheduler"}}))
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	for _, c := range a.all() {
		c.Start()
	}
	for _, c := range a.all() {
		c.AwaitReady()
	}
	for _, c := range a.apis {
		client := NewClient(c.URL)
		client.http.Transport = transport
		a.clients = append(a.clients, client)
	}
	body := saleBody(a.stock)
	body["limit_per_buyer"], body["rebuy"], body["payment_window"] = 2, true, 6
	answer, err := a.clients[0].Call(http.MethodPost, "/api/v1/admin/sales", "operator", "admin", body)
	if err != nil || answer.Status != http.StatusCreated {
		t.Fatalf("create a sale: %d %s %v", answer.Status, answer.Raw, err)
	}
	a.sale = answer.Text("id")
	a.deadline = time.Now().Add(2*time.Minute + time.Duration(*accountsPurchases)*20*time.Millisecond)
	return a
}

func (a *accounts) all() []*Child { return append(append([]*Child{}, a.apis...), a.backs...) }

// try calls one API process after the other until one gives an answer that is
// final for the caller.
func (a *accounts) try(what string, chance *rand.Rand, call func(*Client) (Answer, error), final func(Answer) bool) (Answer, bool) {
	var last string
	for time.Now().Before(a.deadline) {
		answer, err := call(a.clients[chance.IntN(len(a.clients))])
		if err == nil && final(answer) {
			return answer, true
		}
		last = fmt.Sprintf("%d %s %v", answer.Status, answer.Raw, err)
		time.Sleep(time.Duration(20+chance.IntN(80)) * time.Millisecond) // a person's pause; nothing is waited for
	}
	a.t.Errorf("%s: no final answer, the last was %s", what, last)
	return Answer{}, false
}

// live is one purchase, and what its buyer does with it.
func (a *accounts) live(chance *rand.Rand, i int) {
	defer a.asked.Add(1)
	buyer := fmt.Sprintf("b-%d", chance.IntN(max(1, *accountsPurchases/2)))
	line := map[string]any{"sku": "item", "quantity": 1 + chance.IntN(2)}
	bought, ok := a.try("buy", chance, func(c *Client) (Answer, error) {
		return c.Call(http.MethodPost, "/api/v1/sales/"+a.sale+"/purchases", buyer, "", line, "Idempotency-Key", fmt.Sprintf("key-%d", i))
	}, func(got Answer) bool { return got.Status < 300 || got.Status == http.StatusConflict })
	if !ok || bought.Status == http.StatusConflict {
		return
	}
	order := bought.Text("order_id")
	a.mu.Lock()
	a.promised[order] = buyer
	a.mu.Unlock()
	switch what := chance.IntN(100); {
	case what < 25:
		a.cancel(chance, buyer, order)
	case what < 60:
		a.pay(chance, order, buyer, payments.Succeeded)
	case what < 75:
		a.pay(chance, order, buyer, payments.Failed)
	case what < 80: // both at once
		var both sync.WaitGroup
		both.Go(func() { a.cancel(rand.New(rand.NewPCG(a.seed, uint64(i)<<8)), buyer, order) })
		both.Go(func() { a.pay(rand.New(rand.NewPCG(a.seed, uint64(i)<<8|1)), order, buyer, payments.Succeeded) })
		both.Wait()
	}
}

// settled tells whether the answer to an action on an order is final: the order
// is what it will be, or the action was taken.
func settled(got Answer) bool {
	order, _ := got.Body["order"].(map[string]any)
	status, _ := order["status"].(string)
	return got.Status == http.StatusOK || (got.Status == http.StatusConflict && got.Text("code") == "wrong_state" && status != "queued")
}

func (a *accounts) cancel(chance *rand.Rand, buyer, order string) {
	a.try("cancel "+order, chance, func(c *Client) (Answer, error) {
		return c.Call(http.MethodPost, "/api/v1/orders/"+order+"/cancellation", buyer, "", map[string]any{})
	}, settled)
}

// pay is the provider's callback; it comes again until it is answered, and one
// time more every now and then.
func (a *accounts) pay(chance *rand.Rand, order, buyer, kind string) {
	shown, ok := a.try("read "+order, chance, func(c *Client) (Answer, error) { return c.Order(buyer, order, "?wait=2s") },
		func(got Answer) bool { return got.Status == http.StatusOK && got.Text("status") != "queued" })
	if !ok || shown.Text("status") == "rejected" {
		return
	}
	for range 1 + chance.IntN(2) {
		answer, ok := a.try(kind+" "+order, chance, func(c *Client) (Answer, error) {
			return c.tell(payments.Event{ID: "evt-" + kind + order, Type: kind, OrderID: order, PaymentID: "pay-" + order,
				Amount: shown.Text("amount"), Currency: shown.Text("currency")}, bankSecret, time.Now())
		}, func(got Answer) bool { return got.Status == http.StatusOK })
		if ok && kind == payments.Succeeded && answer.Status == http.StatusOK {
			a.mu.Lock()
			a.paid[order] = true
			a.mu.Unlock()
		}
	}
}

// havoc kills processes until the buyers are done, and gives how many kills there
// were of each.
func (a *accounts) havoc(chance *rand.Rand, done <-chan struct{}) map[string]int {
	kills := map[string]int{}
	var copied *testenv.Snapshot
	restored := false
	// In a long run the kills stand a little further apart: there are enough of them.
	apart := min(max(1, *accountsPurchases/20_000), 4)
	for round := 0; ; round++ {
		select {
		case <-done:
			if restored {
				return kills
			}
		case <-time.After(time.Duration(apart*(300+chance.IntN(700))) * time.Millisecond):
		}
		share := float64(a.asked.Load()) / float64(*accountsPurchases)
		switch {
		case copied == nil && share > 0.25:
			s := a.rig.Redis.Snapshot()
			copied = &s
		case copied != nil && !restored && share > 0.5:
			a.rig.Redis.Kill()
			a.rig.Redis.Restore(*copied)
			a.rig.Redis.Restart()
			restored = true
			kills["redis restored"]++
		case round%9 == 8:
			a.rig.Redis.Kill()
			a.rig.Redis.Restart()
			kills["redis"]++
		case round%13 == 12:
			a.server.Kill()
			a.server.Start()
			kills["postgres"]++
		default:
			victims := a.all()
			n := chance.IntN(len(victims))
			victims[n].Kill()
			victims[n].Start()
			kills[[]string{"api", "api", "back", "back"}[n]]++
		}
	}
}

// settle waits until every order has its end, and draws the balance.
func (a *accounts) settle(kills map[string]int) {
	t := a.t
	for _, c := range a.all() {
		if !c.Alive() {
			c.Start()
		}
		c.AwaitReady()
	}
	observer := a.rig.Node(t, NodeOptions{APIOnly: true})
	observer.AwaitOpen(t, a.sale)
	observer.AwaitDecided(t, a.promised)
	testenv.Eventually(t, 2*time.Minute, func() error {
		for id, o := range readFold(t, observer.Store).orders {
			if o.Status == domain.OrderStatusPlaced {
				return fmt.Errorf("order %s waits for its payment until %s", id, o.PayBy)
			}
		}
		return nil
	})
	StandingChecks(t, observer, a.sale, a.promised)
	a.balance(observer.Store)
	f := readFold(t, observer.Store)
	states := map[domain.OrderStatus]int{}
	for _, o := range f.orders {
		states[o.Status]++
	}
	t.Logf("%d orders promised, %v; killed: %v", len(a.promised), states, kills)
	for order := range a.paid {
		if o := f.orders[order]; o.Status != domain.OrderStatusPaid && !o.RefundDue {
			t.Errorf("order %s was paid for; it is %s and no refund is due", order, o.Status)
		}
	}
}

// balance follows every unit through the log: each reserved line is kept by a
// paid order or came back exactly once.
func (a *accounts) balance(log eventstore.Reader) {
	type line struct{ reserved, returned int64 }
	lines := map[string]*line{}
	var released, sold, left int64
	f := readFold(a.t, log)
	after := int64(0)
	for {
		page, err := log.ReadAll(context.Background(), after, 1000)
		if err != nil {
			a.t.Fatalf("read the log: %v", err)
		}
		for i := range page {
			r := &page[i]
			after = r.Position
			if !strings.HasPrefix(r.Stream, "stock-") {
				continue
			}
			ev, err := domain.Decode(r.Type, r.Schema, r.Payload)
			if err != nil {
				a.t.Fatal(err)
			}
			l := lines[r.OrderID]
			if l == nil {
				l = &line{}
				lines[r.OrderID] = l
			}
			switch e := ev.(type) {
			case *domain.StockReleased:
				released += e.Quantity
				left += e.Quantity
			case *domain.StockReserved:
				l.reserved += e.Quantity
				left -= e.Quantity
			case *domain.StockReturned:
				l.returned += e.Quantity
				left += e.Quantity
			}
		}
		if len(page) == 0 {
			break
		}
	}
	for id, l := range lines {
		o := f.orders[id]
		want := line{}
		if o.Status == domain.OrderStatusPaid {
			want = line{reserved: o.Lines[0].Quantity}
			sold += o.Lines[0].Quantity
		} else if o.Status == domain.OrderStatusCancelled || o.Status == domain.OrderStatusExpired {
			want = line{o.Lines[0].Quantity, o.Lines[0].Quantity}
		}
		if *l != want {
			a.t.Errorf("order %s is %s: %d units reserved and %d returned, want %d and %d", id, o.Status, l.reserved, l.returned, want.reserved, want.returned)
		}
	}
	if released != int64(a.stock) || sold+left != released {
		a.t.Errorf("%d units were released (stock %d), %d sold and %d are left", released, a.stock, sold, left)
	}
	a.t.Logf("%d units: %d sold, %d left", released, sold, left)
}
