package payments_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/infra/payments"
)

// shop is what a simulator tells: it answers with the statuses in turn, the last
// one for ever, and keeps what it heard.
type shop struct {
	mu       sync.Mutex
	statuses []int
	heard    []payments.Event
	forged   int
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	message, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if payments.Verify(r.Header.Get(payments.Header), message, time.Now(), secret) != nil {
		s.forged++
	}
	var e payments.Event
	_ = json.Unmarshal(message, &e) // an event that is none shows in the tests
	s.heard = append(s.heard, e)
	status := s.statuses[0]
	if len(s.statuses) > 1 {
		s.statuses = s.statuses[1:]
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"status":"paid"}`)
}

func (s *shop) events(t *testing.T) []payments.Event {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forged > 0 {
		t.Errorf("%d messages were not signed as they should be", s.forged)
	}
	return append([]payments.Event{}, s.heard...)
}

func simulate(t *testing.T, statuses ...int) (*payments.Simulator, *shop) {
	t.Helper()
	shop := &shop{statuses: statuses}
	server := httptest.NewServer(shop)
	t.Cleanup(server.Close)
	sim, err := payments.NewSimulator(payments.SimulatorOptions{Secret: secret, Webhook: server.URL + "/hook", RetryFirst: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sim.Close)
	return sim, shop
}

func TestAMessageIsSentUntilItIsTaken(t *testing.T) {
	sim, shop := simulate(t, 503, 500, 409, 429, 200)
	receipt, err := sim.Pay(t.Context(), payments.Charge{OrderID: "o", Amount: "1.00", Currency: "CNY"})
	if err != nil || receipt.Status != 200 || string(receipt.Answer) != `{"status":"paid"}` {
		t.Fatalf("got %+v, %v", receipt, err)
	}
	heard := shop.events(t)
	if len(heard) != 5 {
		t.Fatalf("heard %d times, want 5", len(heard))
	}
	for _, e := range heard {
		if e != receipt.Event || e.Type != payments.Succeeded || e.ID == "" || e.PaymentID == "" {
			t.Errorf("got %+v, want the same message %+v each time", e, receipt.Event)
		}
	}
}

func TestAMessageIsRepeatedAsOftenAsToldAndFailsWhereTold(t *testing.T) {
	sim, shop := simulate(t, 200)
	if _, err := sim.Pay(t.Context(), payments.Charge{OrderID: "o", Amount: "1.00", Currency: "CNY", Fails: true, Repeat: 3, EventID: "e"}); err != nil {
		t.Fatal(err)
	}
	heard := shop.events(t)
	if len(heard) != 3 || heard[2].Type != payments.Failed || heard[2].ID != "e" {
		t.Errorf("got %+v, want the same failure three times", heard)
	}
}

func TestARefusalThatWillNotChangeIsNotAskedForAgain(t *testing.T) {
	for _, status := range []int{400, 401, 404, 413, 415, 422, 302} {
		sim, shop := simulate(t, status)
		var refused *payments.RefusedError
		if _, err := sim.Pay(t.Context(), payments.Charge{OrderID: "o"}); !errors.As(err, &refused) || refused.Status != status {
			t.Errorf("%d: got %v, want that it was refused", status, err)
		}
		if n := len(shop.events(t)); n != 1 {
			t.Errorf("%d: sent %d times, want once", status, n)
		}
	}
}

func TestNobodyWaitsForAShopThatIsAwayLongerThanTheyWant(t *testing.T) {
	sim, _ := simulate(t, 503)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := sim.Pay(ctx, payments.Charge{OrderID: "o"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that the time is over", err)
	}
	ended := make(chan error)
	go func() {
		_, err := sim.Pay(t.Context(), payments.Charge{OrderID: "o", Delay: time.Hour})
		ended <- err
	}()
	sim.Close()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: got %v, want canceled", err)
	}
}

// at gets or posts to the simulator's own page.
func at(t *testing.T, sim *payments.Simulator, form url.Values, accept string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/pay?order=o%22%3E%3Cb%3E&amount=1.00&currency=CNY", nil)
	if form != nil {
		r = httptest.NewRequest(http.MethodPost, "/pay", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	sim.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestAnOrderIsPaidAtThePage(t *testing.T) {
	sim, shop := simulate(t, 200)
	status, page := at(t, sim, nil, "text/html")
	if status != 200 || !strings.Contains(page, "Payment simulator") || strings.Contains(page, "<b>") {
		t.Errorf("got %d and\n%s\nwant the page, with the order as text", status, page)
	}
	status, answer := at(t, sim, url.Values{"order": {"o"}, "amount": {"2.00"}, "currency": {"CNY"}, "repeat": {"2"}}, "")
	if status != 200 || !strings.Contains(answer, `"status":"paid"`) {
		t.Errorf("got %d %s, want the shop's answer", status, answer)
	}
	if heard := shop.events(t); len(heard) != 2 || heard[0].OrderID != "o" || heard[0].Amount != "2.00" {
		t.Errorf("heard %+v, want the payment twice", heard)
	}
	status, answer = at(t, sim, url.Values{"order": {"o"}, "amount": {"2.00"}, "currency": {"CNY"}, "delay": {"1h"}}, "")
	if status != 202 || !strings.Contains(answer, `"payment_id":"pay_`) {
		t.Errorf("a delayed one: got %d %s, want 202 and its number", status, answer)
	}
	for name, form := range map[string]url.Values{
		"no order":  {"amount": {"1"}, "currency": {"CNY"}},
		"delay":     {"order": {"o"}, "amount": {"1"}, "currency": {"CNY"}, "delay": {"-1s"}},
		"repeat":    {"order": {"o"}, "amount": {"1"}, "currency": {"CNY"}, "repeat": {"0"}},
		"outcome":   {"order": {"o"}, "amount": {"1"}, "currency": {"CNY"}, "outcome": {"maybe"}},
		"much text": {"order": {strings.Repeat("x", 20<<10)}},
	} {
		if status, answer := at(t, sim, form, ""); status != 400 {
			t.Errorf("%s: got %d %s, want 400", name, status, answer)
		}
	}
}
