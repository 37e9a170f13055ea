package linearizability

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/infra/cli/e2e"
)

// market is one sale that a crowd plays with: what its buyers know, and everything that
// they asked.
type market struct {
	journal
	id    string
	stock int
	terms terms
	doors []*e2e.Client // of the API processes
	since time.Time
	seed  uint64        // no other market has it
	asked *atomic.Int64 // requests of all markets

	mu     sync.Mutex
	keys   []fact   // purchases that somebody may send again
	orders []fact   // that buyers know of
	over   []string // orders that their buyers know to be over
	serial int
}

// open schedules a sale that is on from now.
func (m *market) open(t testing.TB) {
	t.Helper()
	answer, err := m.doors[0].Call(http.MethodPost, "/api/v1/admin/sales", "operator", "admin", map[string]any{
		"title": "Test sale", "opens_at": time.Now().Add(-time.Minute).Format(time.RFC3339), "closes_at": time.Now().Add(time.Hour).Format(time.RFC3339),
		"strategy": m.terms.Strategy, "buckets": m.terms.Buckets, "limit_per_buyer": m.terms.Limit, "orders_per_buyer": m.terms.Orders, "rebuy": m.terms.Rebuy,
		"items": []any{map[string]any{"sku": "item", "title": "Item", "price": "19.90", "currency": "CNY", "stock": m.stock}},
	})
	if err != nil || answer.Status != http.StatusCreated {
		t.Fatalf("create a sale %+v: %d %s %v", m.terms, answer.Status, answer.Raw, err)
	}
	m.id = answer.Text("id")
}

// next gives a number that no other request of this market has.
func (m *market) next() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.serial++
	return m.serial
}

// trace gives the trace id of a request.
func (m *market) trace(n int) string { return fmt.Sprintf("%016x%016x", m.seed, n) }

// ask sends one request and notes when it began and ended.
func (m *market) ask(door int, a attempt, method, path, role string, body any, headers ...string) (attempt, e2e.Answer) {
	a.call = time.Since(m.since)
	answer, err := m.doors[door].Call(method, path, a.buyer, role, body, headers...)
	a.ret = time.Since(m.since)
	m.asked.Add(1)
	a.raw = fmt.Sprintf("%d %s", answer.Status, answer.Raw)
	if err != nil {
		a.raw = err.Error()
		return a, e2e.Answer{}
	}
	return a, answer
}

// unsaid tells whether an answer leaves open what happened. One that is neither in
// the contract nor that is a finding.
func (m *market) unsaid(a attempt, answer e2e.Answer) bool {
	open := []string{"busy", "not_ready", "paused", "in_progress", "version_conflict"}
	if answer.Status == 0 || slices.Contains(open, answer.Text("code")) {
		return true
	}
	m.found("%s %s was answered %s", a.buyer, a.trace, a.raw)
	return true
}

// buy asks for units. It gives what was told, for the buyer to remember.
func (m *market) buy(client, door int, f fact) attempt {
	a := attempt{client: client, kind: buys, buyer: f.buyer, key: f.key, units: f.units, trace: m.trace(m.next())}
	headers := []string{"Traceparent", "00-" + a.trace + "-00000000000000a1-01"}
	if f.key != "" {
		headers = append(headers, "Idempotency-Key", f.key)
	}
	a, answer := m.ask(door, a, http.MethodPost, "/api/v1/sales/"+m.id+"/purchases", "", map[string]any{"sku": "item", "quantity": f.units}, headers...)
	a.order = answer.Text("order_id")
	refusals := map[string]said{"sold_out": saidSoldOut, "limit_exceeded": saidLimit, "idempotency_mismatch": saidMismatch}
	switch refusal, refused := refusals[answer.Text("code")]; {
	case refused:
		a.said = refusal
	case a.order != "" && answer.Body["repeat"] == true:
		a.said = saidRepeat
	case a.order != "" && (answer.Status == http.StatusCreated || answer.Text("waiting_for") == "recorder"):
		a.said = saidAccepted
	case a.order != "":
		a.said = saidUnseen
	default:
		m.unsaid(a, answer)
	}
	m.add(a)
	m.remember(a)
	return a
}

// remember keeps what a buyer can do something with.
func (m *market) remember(a attempt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.key != "" {
		m.keys = append(m.keys, fact{buyer: a.buyer, key: a.key, units: a.units})
	}
	if a.order != "" && !slices.ContainsFunc(m.orders, func(f fact) bool { return f.id == a.order }) {
		m.orders = append(m.orders, fact{id: a.order, buyer: a.buyer})
	}
}

// known gives the orders that buyers know of, with their buyers.
func (m *market) known() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[string]string{}
	for _, f := range m.orders {
		all[f.id] = f.buyer
	}
	return all
}

// change does something to an order: what its buyer does, or, of a payment, an
// operator.
func (m *market) change(client, door int, k kind, f fact) {
	a := attempt{client: client, kind: k, buyer: f.buyer, order: f.id, trace: m.trace(m.next())}
	path, role, method := "/api/v1/orders/"+f.id, "", http.MethodGet
	var body any
	switch k {
	case cancels:
		path, method, body = path+"/cancellation", http.MethodPost, map[string]any{}
	case pays:
		a.buyer, role = "operator", "admin"
		path, method, body = "/api/v1/admin/orders/"+f.id+"/payment", http.MethodPost, map[string]any{"payment_id": "pay-" + a.trace}
	}
	a, answer := m.ask(door, a, method, path, role, body)
	status := answer.Text("status")
	if order, ok := answer.Body["order"].(map[string]any); ok { // of a refusal: the order as it is
		status, _ = order["status"].(string)
	}
	decided := answer.Status == http.StatusOK || answer.Text("code") == "wrong_state"
	switch {
	case decided && status == "cancelled":
		a.said = saidCancelled
	case decided && status == "paid":
		a.said = saidPaid
	case decided && (k == reads || status == "queued" || status == "rejected"), k == pays && answer.Text("code") == "order_not_found":
		a.said = saidNo // an operator may ask for an order that was taken down and came to nothing
	case k == pays && answer.Text("code") == "invalid_request":
		a.said = saidNoAmount
	default:
		m.unsaid(a, answer)
	}
	m.add(a)
	if a.said == saidCancelled || a.said == saidPaid {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.over = append(m.over, f.id)
	}
}

// restock puts units on sale, or takes some off, and asks again under the same key and
// trace until it is told what became of it. A release is noted as one request; of a
// withdrawal each, since one whose answer was lost may still be worked on while the next
// is told that too few are left.
func (m *market) restock(client int, units int, deadline time.Time, door func() int) {
	n := m.next()
	a := attempt{client: client, kind: arrives, buyer: "operator", units: units, trace: m.trace(n), key: fmt.Sprintf("stock-%d", n)}
	if units < 0 {
		a.kind, a.units = withdraws, -units
	}
	first := time.Duration(-1)
	for a.said == nothing && time.Now().Before(deadline) {
		if first >= 0 {
			time.Sleep(50 * time.Millisecond) // a person's pause; nothing is waited for
		}
		var answer e2e.Answer
		a, answer = m.ask(door(), a, http.MethodPost, "/api/v1/admin/sales/"+m.id+"/items/item/releases", "admin", map[string]any{"quantity": units},
			"Idempotency-Key", a.key, "Traceparent", "00-"+a.trace+"-00000000000000a1-01")
		if first < 0 {
			first = a.call
		}
		switch {
		case answer.Status == http.StatusOK:
			a.said = saidDone
		case answer.Text("code") == "below_reserved":
			a.said = saidShort
		default:
			m.unsaid(a, answer)
		}
		if a.kind == withdraws {
			m.add(a)
		}
	}
	if a.kind == arrives {
		a.call = first
		m.add(a)
	}
}
