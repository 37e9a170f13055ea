package load

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"
)

// api imitates the purchase and order calls as the contract writes them.
type api struct {
	mu    sync.Mutex
	left  int
	early int
	polls map[string]int
}

func (s *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	buyer := r.Header.Get("Authorization")[len("Bearer "):]
	if r.Method == http.MethodGet {
		id := r.URL.Path[len("/api/v1/orders/"):]
		s.polls[id]++
		status := "queued"
		if s.polls[id] > 1 {
			status = "placed"
		}
		answer(w, http.StatusOK, map[string]any{"order_id": id, "status": status})
		return
	}
	var body struct {
		SKU      string `json:"sku"`
		Quantity int    `json:"quantity"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || body.SKU != "phone" || body.Quantity != 1 {
		answer(w, http.StatusUnprocessableEntity, map[string]any{"code": "invalid_request"})
		return
	}
	switch {
	case s.early > 0:
		s.early--
		answer(w, http.StatusTooEarly, map[string]any{"code": "too_early", "retry_after_ms": 60})
	case s.left == 0:
		answer(w, http.StatusConflict, map[string]any{"code": "sold_out"})
	default:
		s.left--
		answer(w, http.StatusAccepted, map[string]any{"order_id": "order-of-" + buyer, "status": "queued"})
	}
}

func answer(w http.ResponseWriter, status int, body map[string]any) {
	if body["code"] != nil {
		body["status"] = status // a problem document's
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func TestACrowdBuysWhatThereIsAndKnowsWhoGotIt(t *testing.T) {
	s := &api{left: 3, early: 2, polls: map[string]int{}}
	addr := serve(t, s.ServeHTTP)
	tokens := make([]string, 10)
	for i := range tokens {
		tokens[i] = fmt.Sprintf("t%d", i)
	}
	crowd := NewCrowd(addr, "sale", "phone", tokens)
	m := run(t, Attack{Addr: addr, Arrivals: make([]time.Duration, 10), Build: crowd.Build, Judge: crowd.Judge})
	if m.OK != 3 || m.Outcomes["sold_out"] != 7 || m.Retries != 2 {
		t.Fatalf("got %d accepted, %v, %d retries; want 3, 7 sold_out, 2", m.OK, m.Outcomes, m.Retries)
	}
	orders := crowd.Orders()
	for buyer, id := range orders {
		if want := "order-of-" + tokens[buyer]; id != want {
			t.Errorf("buyer %d has order %s, want %s", buyer, id, want)
		}
	}
	follow := &Followers{Host: addr, Pause: 50 * time.Millisecond, Until: time.Now().Add(time.Minute)}
	for buyer, id := range orders {
		follow.Orders, follow.Tokens = append(follow.Orders, id), append(follow.Tokens, tokens[buyer])
	}
	m = run(t, Attack{Addr: addr, Arrivals: make([]time.Duration, 3), Build: follow.Build, Judge: follow.Judge})
	if m.Outcomes["placed"] != 3 || m.Retries != 3 {
		t.Errorf("got %v after %d further looks, want 3 placed after 3", m.Outcomes, m.Retries)
	}
}

func TestAFaultOfTheServerIsNoRefusal(t *testing.T) {
	cases := map[string]http.HandlerFunc{
		"status 500":                         func(w http.ResponseWriter, _ *http.Request) { answer(w, 500, map[string]any{"code": "internal"}) },
		"status 200 without a readable body": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") },
		"status 200":                         func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, map[string]any{}) },
	}
	for want, handler := range cases {
		addr := serve(t, handler)
		crowd := NewCrowd(addr, "sale", "phone", []string{"t"})
		m := run(t, Attack{Addr: addr, Arrivals: make([]time.Duration, 1), Build: crowd.Build, Judge: crowd.Judge})
		if m.Failed != 1 || m.Outcomes[want] != 1 {
			t.Errorf("got %v, want one fault %q", m.Outcomes, want)
		}
	}
}

func TestABuyerWhoIsAlwaysToldToComeAgainGivesUp(t *testing.T) {
	addr := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusServiceUnavailable, map[string]any{"code": "busy", "retry_after_ms": 1})
	})
	crowd := NewCrowd(addr, "sale", "phone", []string{"t"})
	crowd.Tries = 3
	m := run(t, Attack{Addr: addr, Arrivals: make([]time.Duration, 1), Build: crowd.Build, Judge: crowd.Judge})
	if m.Refused != 1 || m.Outcomes["busy"] != 1 || m.Retries != 2 {
		t.Errorf("got %v after %d retries, want one busy after 2", m.Outcomes, m.Retries)
	}
}
