package bench

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// fake is an installation as a rehearsal sees it, which does what it should not when it
// is told to.
type fake struct {
	t  *testing.T
	mu sync.Mutex

	stock     int64 // of each item
	skus      []string
	sold      map[string]int64
	orders    map[string]string // by buyer
	presses   int
	stallAt   int // the press at which it stands still
	stallFor  time.Duration
	from      time.Time // when it did
	till      time.Time
	twice     bool // gives who asks again another order
	oversells bool
	forgets   int64 // reservations that its books do not have
	left      int64 // what its books say is left although it was told sold out
	drift     int
	stuck     int64 // purchases that are never decided
	blind     bool  // has no metrics
	naive     bool  // lets attackers in
	closed    bool
	patience  time.Duration // of who plays
	tls       *tls.Config
	conns     int
	url       string
}

func newFake(t *testing.T) *fake {
	f := &fake{t: t, orders: map[string]string{}, sold: map[string]int64{}, patience: 20 * time.Second, conns: 2000}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	buyer, signed := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer buyer-")
	if strings.HasSuffix(path, "/purchases") && path != "/api/v1/sales/zzzzzzzz/purchases" && (signed || f.naive) {
		f.buy(w, r, buyer)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case path == "/healthz":
		reply(w, 200, map[string]any{"ok": true})
	case path == "/metrics" && !f.blind:
		fmt.Fprintf(w, "# HELP x y\nseckill_queued_orders %d\nseckill_recorder_lag_entries 0\nseckill_log_position 7\nseckill_relay_position 7\nseckill_projection_lag_events{projection=\"order_view\"} 0\n", f.stuck)
	case path == "/api/v1/admin/sales":
		var body struct {
			Items []struct {
				SKU   string
				Stock int64
			}
			EligibleTiers []string `json:"eligible_tiers"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body.EligibleTiers) != 1 || body.EligibleTiers[0] != "rehearsal" {
			f.t.Errorf("the sale is for %v (%v), want buyers of rehearsals alone", body.EligibleTiers, err)
		}
		for _, item := range body.Items {
			f.stock, f.skus = item.Stock, append(f.skus, item.SKU)
		}
		reply(w, 201, f.sale())
	case strings.HasSuffix(path, "/reconciliation"):
		reply(w, 200, f.books())
	case strings.HasSuffix(path, "/close"):
		f.closed = true
		reply(w, 200, map[string]any{"id": "thesale"})
	case strings.HasPrefix(path, "/api/v1/orders/"):
		id := strings.TrimPrefix(path, "/api/v1/orders/")
		if !strings.HasPrefix(id, "order-") {
			reply(w, 404, map[string]any{"code": "order_not_found"})
			return
		}
		reply(w, 200, map[string]any{"order_id": id, "status": "placed"})
	case strings.HasSuffix(path, "/zzzzzzzz/purchases"):
		reply(w, 404, map[string]any{"code": "sale_not_found"})
	case strings.HasSuffix(path, "/purchases"):
		reply(w, 401, map[string]any{"code": "unauthenticated"})
	default:
		reply(w, 200, f.sale())
	}
}

func (f *fake) sale() map[string]any {
	var items []any
	for _, sku := range f.skus {
		items = append(items, map[string]any{"sku": sku})
	}
	if f.skus == nil {
		items = append(items, map[string]any{"sku": "it"})
	}
	return map[string]any{"id": "thesale", "state": "open", "items": items}
}

func (f *fake) books() map[string]any {
	var items []any
	reserved := -f.forgets
	for _, sku := range f.skus {
		left := max(f.stock-f.sold[sku], 0)
		if f.left > 0 {
			left = f.left
		}
		reserved += f.sold[sku]
		items = append(items, map[string]any{"sku": sku, "released": f.stock, "reserved": f.sold[sku], "available": left})
	}
	all := map[string]any{"sale": "thesale", "released": f.stock * int64(len(f.skus)), "reserved": reserved, "drift": f.drift, "items": items}
	return map[string]any{"sales": []any{all}}
}

func (f *fake) buy(w http.ResponseWriter, r *http.Request, buyer string) {
	var body struct {
		SKU      string
		Quantity int64
	}
	err := json.NewDecoder(r.Body).Decode(&body)
	f.mu.Lock()
	f.presses++
	if f.presses == f.stallAt {
		f.from = time.Now()
		f.till = f.from.Add(f.stallFor)
	}
	stall := time.Until(f.till)
	f.mu.Unlock()
	if stall > 0 {
		time.Sleep(stall)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	order, has := f.orders[buyer]
	switch {
	case err != nil:
		reply(w, 400, map[string]any{"code": "invalid_request"})
	case body.Quantity != 1:
		reply(w, 422, map[string]any{"code": "invalid_request"})
	case has && !f.twice:
		reply(w, 200, map[string]any{"order_id": order, "status": "placed", "repeat": true})
	case f.sold[body.SKU] >= f.stock && !f.oversells:
		reply(w, 409, map[string]any{"code": "sold_out"})
	default:
		f.sold[body.SKU]++
		f.orders[buyer] = fmt.Sprintf("order-%s-%d", buyer, f.presses)
		reply(w, 202, map[string]any{"order_id": f.orders[buyer], "status": "queued"})
	}
}

func reply(w http.ResponseWriter, status int, body map[string]any) {
	if body["code"] != nil {
		body["detail"] = "No."
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the rehearsal is told by its reader
}
