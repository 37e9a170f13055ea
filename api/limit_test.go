package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/limits"
)

// testLimits are limits by a clock that tests move.
type testLimits struct {
	*limits.Gate
	mu sync.Mutex
	at time.Time
}

func newTestLimits(t *testing.T, purchases, polls int) *testLimits {
	t.Helper()
	l := &testLimits{at: time.Now()}
	all := map[string]limits.Endpoint{}
	for endpoint, n := range map[string]int{limitPurchases: purchases, limitPolls: polls} {
		w, err := limits.NewWindow(limits.Options{Limit: n, Now: l.now})
		if err != nil {
			t.Fatal(err)
		}
		all[endpoint] = limits.Endpoint{Buyer: w}
	}
	l.Gate = limits.NewGate(all, limits.NewMarks(l.now), limits.Told{})
	return l
}

func (l *testLimits) now() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at
}

func (l *testLimits) move(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.at = l.at.Add(d)
}

func (l *testLimits) Look(context.Context) LimitsView {
	v := LimitsView{Node: "test", Endpoints: []EndpointLimit{{Endpoint: limitPurchases, PerBuyer: 5}}, Marked: []LimitMark{}}
	marks, _ := l.Marks().List()
	for _, m := range marks {
		v.Marked = append(v.Marked, LimitMark{BuyerID: m.Buyer, Endpoint: m.Endpoint, Refused: m.Refused, FirstAt: m.First, LastAt: m.Last, Until: m.Until})
	}
	return v
}

func limitedHouse(t *testing.T, l Limits) *house {
	t.Helper()
	return newHouse(t, func(d *Deps, o *Options) { d.Limits, o.RefusalLogEvery = l, -1 })
}

func TestWhoTriesTooOftenIsToldWhenToComeAgain(t *testing.T) {
	h := limitedHouse(t, newTestLimits(t, 5, 20))
	waits := map[string]bool{}
	for i := range 25 {
		got := h.buy(`{"sku":"shoe-42","quantity":1}`)
		if i < 5 {
			if got.Status != http.StatusAccepted {
				t.Fatalf("attempt %d: got status %d", i+1, got.Status)
			}
			continue
		}
		doc := got.problem(http.StatusTooManyRequests, domain.CodeRateLimited)
		wait, _ := doc["retry_after_ms"].(float64)
		if wait < 1000 || wait > 3000 {
			t.Errorf("got retry_after_ms %v, want from the whole window on and at most 2 s more", doc["retry_after_ms"])
		}
		seconds, err := strconv.Atoi(got.Header.Get("Retry-After"))
		if err != nil || seconds < 1 || float64(seconds)*1000 < wait {
			t.Errorf("got Retry-After %q beside %v ms", got.Header.Get("Retry-After"), wait)
		}
		waits[fmt.Sprint(wait)] = true
	}
	if len(waits) < 5 {
		t.Errorf("20 refusals had %d different waits; want them apart", len(waits))
	}
	if n := len(h.purchaser.requests()); n != 5 {
		t.Errorf("%d attempts went on, want 5", n)
	}
	h.buy(`{"sku":"shoe-42","quantity":1}`, "Authorization", "Bearer "+tokenOf(t, "buyer-2", "")).wantStatus(http.StatusAccepted)
}

func (r *reply) wantStatus(want int) {
	r.t.Helper()
	if r.Status != want {
		r.t.Errorf("got status %d, want %d\n%s", r.Status, want, r.Body)
	}
}

func TestALimitIsAskedAfterTheSignInAndBeforeTheBody(t *testing.T) {
	asked := 0
	h := limitedHouse(t, limitsFunc(func(string, string) time.Duration { asked++; return time.Second }))
	h.buy(`{"sku":`, "Authorization", "").problem(http.StatusUnauthorized, domain.CodeUnauthenticated)
	if asked != 0 {
		t.Error("a limit was asked for nobody")
	}
	h.buy(`{"sku":`).problem(http.StatusTooManyRequests, domain.CodeRateLimited)
	h.ask(http.MethodGet, "/api/v1/orders/"+testOrder+"?wait=nonsense", "").problem(http.StatusTooManyRequests, domain.CodeRateLimited)
	h.ask(http.MethodGet, "/api/v1/orders", "").problem(http.StatusTooManyRequests, domain.CodeRateLimited)
	h.ask(http.MethodGet, "/api/v1/sales/"+testSale, "").wantStatus(http.StatusOK)
	if asked != 3 {
		t.Errorf("limits were asked %d times, want 3", asked)
	}
}

type limitsFunc func(endpoint, buyer string) time.Duration

func (f limitsFunc) Take(_ context.Context, endpoint, buyer string) time.Duration {
	return f(endpoint, buyer)
}

func (limitsFunc) Look(context.Context) LimitsView { return LimitsView{} }

// from sends a purchase of a buyer from an address, without a network.
func (h *house) from(address, buyer string) int {
	h.t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/api/v1/sales/"+testSale+"/purchases", strings.NewReader(`{"sku":"shoe-42","quantity":1}`))
	r.RemoteAddr = address
	r.Header.Set("Authorization", "Bearer "+tokenOf(h.t, buyer, ""))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.server.ServeHTTP(w, r)
	return w.Code
}

func TestB69TenThousandBuyersBehindOneAddressAreNotLimitedForThat(t *testing.T) {
	h := limitedHouse(t, newTestLimits(t, 5, 20))
	for i := range 10_000 {
		if got := h.from("203.0.113.9:4711", fmt.Sprintf("buyer-%05d", i)); got != http.StatusAccepted {
			t.Fatalf("buyer %d: got status %d", i, got)
		}
	}
}

func TestB69OneBuyerFromFiftyAddressesIsLimited(t *testing.T) {
	l := newTestLimits(t, 5, 20)
	h := limitedHouse(t, l)
	refused := 0
	for i := range 300 {
		switch got := h.from(fmt.Sprintf("198.51.100.%d:4711", i%50), "alice"); got {
		case http.StatusAccepted:
		case http.StatusTooManyRequests:
			refused++
		default:
			t.Fatalf("got status %d", got)
		}
		l.move(time.Second / 6)
	}
	if refused < 50 || refused > 75 {
		t.Errorf("of 300 attempts at 6 a second %d were refused, want one in six", refused)
	}
}

func TestOperatorsSeeWhoAskedTooOften(t *testing.T) {
	h := limitedHouse(t, newTestLimits(t, 5, 20))
	for range 8 {
		h.buy(`{"sku":"shoe-42","quantity":1}`)
	}
	h.ask(http.MethodGet, pathLimits, "").problem(http.StatusForbidden, domain.CodeForbidden)
	got := h.admin(http.MethodGet, pathLimits, "").json()
	marked, _ := got["marked"].([]any)
	if len(marked) != 1 {
		t.Fatalf("got %v, want one marked buyer", got)
	}
	mark, _ := marked[0].(map[string]any)
	if mark["buyer_id"] != "buyer-1" || mark["endpoint"] != "purchases" || mark["refused"] != 3.0 {
		t.Errorf("got mark %v, want buyer-1 with 3", mark)
	}
}

func TestWithoutLimitsNobodyIsLimitedAndTheListIsEmpty(t *testing.T) {
	h := newHouse(t, nil)
	for range 30 {
		h.buy(`{"sku":"shoe-42","quantity":1}`).wantStatus(http.StatusAccepted)
	}
	if marked, ok := h.admin(http.MethodGet, pathLimits, "").json()["marked"].([]any); !ok || len(marked) != 0 {
		t.Errorf("got %v, want an empty list", marked)
	}
}
