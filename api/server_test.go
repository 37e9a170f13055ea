package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

func TestWhatIsMissingIsSaidAllAtOnce(t *testing.T) {
	_, err := New(Deps{}, Options{})
	for _, name := range []string{"Purchaser", "Finder", "Shower", "Operator", "Verifier", "Log", "Now"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %s named", err, name)
		}
	}
}

func TestReadyMeansThatEveryCheckHolds(t *testing.T) {
	var mu sync.Mutex
	var broken error
	h := newHouse(t, func(d *Deps, _ *Options) {
		d.Checks = []Check{
			{Name: "postgres", Ready: func(context.Context) error { return nil }},
			{Name: "gate", Ready: func(context.Context) error { mu.Lock(); defer mu.Unlock(); return broken }},
		}
	})
	if got := h.ask(http.MethodGet, "/readyz", "", "Authorization", ""); got.Status != 200 || got.json()["status"] != "ready" {
		t.Errorf("got %d %s, want 200 ready", got.Status, got.Body)
	}
	mu.Lock()
	broken = errors.New("redis://user:hunter2@host is away")
	mu.Unlock()
	got := h.ask(http.MethodGet, "/readyz", "", "Authorization", "")
	got.problem(503, domain.CodeNotReady)
	if !strings.Contains(got.Body, `"field":"gate"`) || strings.Contains(got.Body, "postgres") || strings.Contains(got.Body, "hunter2") {
		t.Errorf("got %s, want the gate named, and no more", got.Body)
	}
	if got := h.ask(http.MethodGet, "/healthz", "", "Authorization", ""); got.Status != 200 {
		t.Errorf("got status %d for /healthz while a store is away, want 200", got.Status)
	}
}

func TestANodeIsReadyWhileAllHoldsOfOneOfSeveralDatabases(t *testing.T) {
	away := map[string]bool{}
	check := func(name, database string) Check {
		return Check{Name: name, Database: database, Ready: func(context.Context) error {
			if away[name+database] {
				return errors.New("away")
			}
			return nil
		}}
	}
	h := newHouse(t, func(d *Deps, _ *Options) {
		d.Checks = []Check{check("event_store", "main"), check("gate", "main"), check("event_store", "b"), check("gate", "b"), check("tokens", "")}
	})
	away["event_storeb"] = true
	got := h.ask(http.MethodGet, "/readyz", "", "Authorization", "")
	if got.Status != 200 || !strings.Contains(got.Body, `{"name":"event_store","database":"b","ready":false}`) || !strings.Contains(got.Body, `{"name":"event_store","database":"main","ready":true}`) {
		t.Errorf("got %d %s, want 200 and b's event store named", got.Status, got.Body)
	}
	away["gatemain"] = true
	got = h.ask(http.MethodGet, "/readyz", "", "Authorization", "")
	got.problem(503, domain.CodeNotReady)
	if !strings.Contains(got.Body, `"field":"b.event_store"`) || !strings.Contains(got.Body, `"field":"main.gate"`) || strings.Contains(got.Body, "b.gate") {
		t.Errorf("got %s, want what is away of each database", got.Body)
	}
	clear(away)
	away["tokens"] = true
	h.ask(http.MethodGet, "/readyz", "", "Authorization", "").problem(503, domain.CodeNotReady)
}

func TestACheckThatPanicsIsNotReady(t *testing.T) {
	h := newHouse(t, func(d *Deps, _ *Options) {
		d.Checks = []Check{{Name: "odd", Ready: func(context.Context) error { panic("hunter2") }}}
	})
	h.ask(http.MethodGet, "/readyz", "").problem(503, domain.CodeNotReady)
}

func TestTheAddressOfAClientIsThatOfItsConnectionUnlessAProxyIsTrusted(t *testing.T) {
	spoofed := httptest.NewRequest(http.MethodGet, "/", nil)
	spoofed.RemoteAddr = "192.0.2.1:999"
	spoofed.Header.Set("X-Real-Ip", "203.0.113.9")
	spoofed.Header.Set("X-Forwarded-For", "203.0.113.9")
	h := newHouse(t, nil)
	if got := h.server.echo.IPExtractor(spoofed); got != "192.0.2.1" {
		t.Errorf("got %s by default, want the connection's 192.0.2.1", got)
	}
	h = newHouse(t, func(_ *Deps, o *Options) { o.TrustedProxies = []string{"192.0.2.0/24"} })
	if got := h.server.echo.IPExtractor(spoofed); got != "203.0.113.9" {
		t.Errorf("got %s through a trusted proxy, want 203.0.113.9", got)
	}
	spoofed.RemoteAddr = "127.0.0.1:999"
	if got := h.server.echo.IPExtractor(spoofed); got != "127.0.0.1" {
		t.Errorf("got %s from a proxy that is not listed, want the connection's 127.0.0.1", got)
	}
	if _, err := clientAddress([]string{"10.0.0.1"}); err == nil {
		t.Error("a proxy that is no network was taken")
	}
}

// counter remembers what it was told.
type counter struct {
	mu        sync.Mutex
	purchases map[string]int
	requests  map[string]map[int]int
}

func (c *counter) Purchase(outcome string, _ time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.purchases[outcome]++
}

func (c *counter) Request(route string, status int, _ time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.requests[route] == nil {
		c.requests[route] = map[int]int{}
	}
	c.requests[route][status]++
}

func TestEveryAnswerIsCountedUnderItsRouteAndEveryPurchaseUnderItsOutcome(t *testing.T) {
	count := &counter{purchases: map[string]int{}, requests: map[string]map[int]int{}}
	h := newHouse(t, func(d *Deps, _ *Options) {
		d.Metrics = count
		d.Scrape = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("seckill_up 1\n")) })
	})
	h.buy(oneShoe)
	h.buy("garbage")
	h.buy(oneShoe, "Authorization", "")
	h.purchaser.answer = func(commands.PurchaseRequest) (commands.PurchaseResult, error) {
		return commands.PurchaseResult{Outcome: domain.SoldOut}, nil
	}
	h.buy(oneShoe)
	h.ask(http.MethodGet, "/api/v1/sales/"+testSale, "")
	h.ask(http.MethodGet, "/nothing", "")
	if got := h.ask(http.MethodGet, "/metrics", "", "Authorization", ""); got.Body != "seckill_up 1\n" {
		t.Errorf("got %q, want what the handler that was passed in wrote", got.Body)
	}
	count.mu.Lock()
	defer count.mu.Unlock()
	for outcome, n := range map[string]int{"reserved": 1, "invalid_request": 1, "unauthenticated": 1, "sold_out": 1} {
		if count.purchases[outcome] != n {
			t.Errorf("got %d purchases %s, want %d", count.purchases[outcome], outcome, n)
		}
	}
	buy := count.requests["POST /api/v1/sales/{sale}/purchases"]
	if buy[202] != 1 || buy[400] != 1 || buy[401] != 1 || buy[409] != 1 || count.requests["GET /api/v1/sales/{sale}"][200] != 1 || count.requests["other"][404] != 1 {
		t.Errorf("got requests %v, want each under its route and status", count.requests)
	}
}

func TestTheServerHasLimitsThatCutNoLongPoll(t *testing.T) {
	s := newHouse(t, nil).server.HTTPServer()
	if s.ReadHeaderTimeout == 0 || s.IdleTimeout == 0 || s.MaxHeaderBytes == 0 {
		t.Errorf("got %+v, want header, idle and size limits", s)
	}
	if s.ReadTimeout == 0 || s.WriteTimeout <= maxWait {
		t.Errorf("got ReadTimeout %s and WriteTimeout %s; want one for bodies, and more than a poll of %s", s.ReadTimeout, s.WriteTimeout, maxWait)
	}
}

func TestALongPollIsNotCutByTheTimeARequestHasToArrive(t *testing.T) {
	t.Parallel()
	h := newHouse(t, nil)
	h.finder.wait = func(ctx context.Context, _, id string, _ int64, _ time.Duration) (commands.OrderAnswer, error) {
		select {
		case <-ctx.Done():
		case <-time.After(bodyBudget + time.Second):
		}
		return orderIn(domain.OrderStatusPlaced), ctx.Err()
	}
	if got := h.ask(http.MethodGet, "/api/v1/orders/"+testOrder+"?wait=20s", ""); got.Status != 200 {
		t.Errorf("got %d %s, want the order", got.Status, got.Body)
	}
}

func TestABodyThatNeverArrivesIsGivenUp(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as a body may take")
	}
	h := newHouse(t, nil)
	for name, want := range map[string]int{"Authorization": http.StatusRequestTimeout, "X-No-Authorization": http.StatusUnauthorized} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := h.stall(t, name); got != want {
				t.Errorf("got status %d, want %d", got, want)
			}
		})
	}
}

// stall sends a purchase whose body never comes, with a token in a header, and
// gives the status of the problem document that answers it.
func (h *house) stall(t *testing.T, header string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.url+"/api/v1/sales/"+testSale+"/purchases", &slowBody{ctx: ctx})
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = 100
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set(header, "Bearer "+tokenOf(t, "buyer-1", ""))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got := res.Header.Get("Content-Type"); got != problemType {
		t.Errorf("got Content-Type %s, want a problem document", got)
	}
	return res.StatusCode
}

// slowBody never ends before its context.
type slowBody struct{ ctx context.Context }

func (b *slowBody) Read([]byte) (int, error) {
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}
