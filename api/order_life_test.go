package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// fakeOrders remembers what it was asked and gives one order.
type fakeOrders struct {
	mu    sync.Mutex
	asked []any // the arguments of each call but contexts
	order commands.OrderAnswer
	err   error
	slow  time.Duration // how long a change takes
}

func (f *fakeOrders) answer(ctx context.Context, args ...any) (commands.OrderAnswer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, args)
	if f.slow > 0 {
		select {
		case <-ctx.Done():
			return commands.OrderAnswer{}, ctx.Err()
		case <-time.After(f.slow):
		}
	}
	if f.err != nil {
		return commands.OrderAnswer{}, f.err
	}
	return f.order, nil
}

func (f *fakeOrders) Look(_ context.Context, order string) (commands.OrderAnswer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.order, f.err
}

func (f *fakeOrders) Cancel(ctx context.Context, buyer, order, trace string) (commands.OrderAnswer, error) {
	return f.answer(ctx, buyer, order, trace)
}

func (f *fakeOrders) CancelFor(ctx context.Context, order string, c domain.Cancellation, actor commands.Actor) (commands.OrderAnswer, error) {
	return f.answer(ctx, order, c, actor)
}

func (f *fakeOrders) Settle(ctx context.Context, p commands.Payment, actor commands.Actor) (commands.OrderAnswer, error) {
	return f.answer(ctx, p, actor)
}

// last gives the arguments of the last call, which there must have been.
func (f *fakeOrders) last(t *testing.T) []any {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.asked) == 0 {
		t.Fatal("the command was not asked")
	}
	return f.asked[len(f.asked)-1].([]any)
}

func (f *fakeOrders) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.asked)
}

var price = domain.Money{Minor: 1990, Currency: "CNY"}

// boughtIn is an order of buyer-1 in a state, as the log would have it.
func boughtIn(status domain.OrderStatus) commands.OrderAnswer {
	o := orderIn(status)
	o.BuyerID, o.Amount, o.Version = "buyer-1", price, 2
	o.PayBy = time.Date(2026, 11, 11, 0, 15, 0, 0, time.UTC)
	o.Lines = []domain.OrderLine{{SKU: "shoe-42", Quantity: 1, Price: price}}
	return o
}

// orderHouse is a house in which every order is found in a state.
func orderHouse(t *testing.T, status domain.OrderStatus) *house {
	h := newHouse(t, nil)
	h.orders.order = boughtIn(status)
	h.finder.find = func(_ context.Context, buyer, _ string) (commands.OrderAnswer, error) {
		if buyer != "buyer-1" {
			return commands.OrderAnswer{}, &domain.Problem{Code: domain.CodeOrderNotFound}
		}
		return boughtIn(status), nil
	}
	h.finder.wait = func(context.Context, string, string, int64, time.Duration) (commands.OrderAnswer, error) {
		return boughtIn(status), nil
	}
	return h
}

const (
	cancelPath  = "/api/v1/orders/" + testOrder + "/cancellation"
	paymentPath = "/api/v1/orders/" + testOrder + "/payment"
)

func TestACancelledOrderIsAnsweredAsAnOrderIs(t *testing.T) {
	h := orderHouse(t, domain.OrderStatusCancelled)
	for _, body := range []string{"", "{}", " { } "} {
		got := h.ask(http.MethodPost, cancelPath, body)
		if got.Status != 200 {
			t.Fatalf("body %q: got %d %s", body, got.Status, got.Body)
		}
		if order := h.ask(http.MethodGet, "/api/v1/orders/"+testOrder, ""); got.Body != order.Body {
			t.Errorf("got %s, want the same as a GET gives: %s", got.Body, order.Body)
		}
		args := h.orders.last(t)
		if args[0] != "buyer-1" || args[1] != testOrder || args[2] != got.Header.Get("X-Trace-Id") {
			t.Errorf("asked with %v, want buyer, order and trace", args)
		}
	}
	for body, status := range map[string]int{`{"restock":false}`: 422, "[]": 422, "{": 400} {
		h.ask(http.MethodPost, cancelPath, body).problem(status, domain.CodeInvalidRequest)
	}
	h.ask(http.MethodPost, cancelPath, "", "Authorization", "").problem(401, domain.CodeUnauthenticated)
}

func TestAStateThatAllowsNoCancellationIsToldWithTheOrder(t *testing.T) {
	for status, sentence := range map[domain.OrderStatus]string{
		domain.OrderStatusPaid: "It is paid.", domain.OrderStatusExpired: "It expired", domain.OrderStatusRejected: "It was rejected.",
	} {
		h := orderHouse(t, status)
		h.orders.err = fmt.Errorf("wrapped: %w", &commands.WrongStateError{Order: boughtIn(status)})
		doc := h.ask(http.MethodPost, cancelPath, "").problem(409, domain.CodeWrongState)
		order, _ := doc["order"].(map[string]any)
		if doc["order_id"] != testOrder || order["order_id"] != testOrder || order["status"] != string(status) {
			t.Errorf("%s: got %v, want the order in it", status, doc)
		}
		if !strings.Contains(doc["detail"].(string), sentence) {
			t.Errorf("%s: got %q, want that it says %q", status, doc["detail"], sentence)
		}
		zh := h.ask(http.MethodPost, cancelPath, "", "Accept-Language", "zh").problem(409, domain.CodeWrongState)
		if detail := zh["detail"].(string); strings.Contains(detail, "It ") {
			t.Errorf("%s: %q is not all Chinese", status, detail)
		}
	}
}

func TestAnOrderThatIsStillRecordedIsNotCancelledYet(t *testing.T) {
	h := orderHouse(t, domain.OrderStatusQueued)
	h.orders.err = &domain.Problem{Code: domain.CodeInProgress}
	doc := h.ask(http.MethodPost, cancelPath, "").problem(409, domain.CodeWrongState)
	if order, _ := doc["order"].(map[string]any); order["status"] != "queued" {
		t.Errorf("got %v, want the queued order in it", doc)
	}
	// Decided between the two looks: nobody is told what is not so.
	h.finder.find = func(context.Context, string, string) (commands.OrderAnswer, error) {
		return boughtIn(domain.OrderStatusPlaced), nil
	}
	h.ask(http.MethodPost, cancelPath, "").problem(409, domain.CodeInProgress)
}

func TestAWaitingOrderIsToldWhereItIsPaid(t *testing.T) {
	h := orderHouse(t, domain.OrderStatusPlaced)
	got := h.ask(http.MethodPost, paymentPath, "{}")
	want := `{"order_id":"` + testOrder + `","amount":"19.90","currency":"CNY","pay_by":"2026-11-11T00:15:00Z","status":"placed",` +
		`"providers":[{"name":"bank","url":"https://bank.test/` + testOrder + `"},{"name":"wallet","url":"https://wallet.test/?o=` + testOrder + `&a=19.90"}]}` + "\n"
	if got.Status != 200 || got.Body != want {
		t.Errorf("got %d %s, want %s", got.Status, got.Body, want)
	}
	if n := h.orders.calls(); n != 0 {
		t.Errorf("the command was asked %d times: asking where to pay must change nothing", n)
	}
	other := h.ask(http.MethodPost, paymentPath, "", "Authorization", "Bearer "+tokenOf(t, "somebody", ""))
	other.problem(404, domain.CodeOrderNotFound)
}

func TestOnlyAWaitingOrderCanBePaid(t *testing.T) {
	for status, code := range map[domain.OrderStatus]domain.Code{
		domain.OrderStatusQueued: domain.CodeInProgress, domain.OrderStatusPaid: domain.CodeWrongState, domain.OrderStatusCancelled: domain.CodeWrongState,
		domain.OrderStatusExpired: domain.CodeWrongState, domain.OrderStatusRejected: domain.CodeWrongState,
	} {
		doc := orderHouse(t, status).ask(http.MethodPost, paymentPath, "").problem(409, code)
		if order, _ := doc["order"].(map[string]any); order["status"] != string(status) {
			t.Errorf("%s: got %v, want the order in it", status, doc)
		}
	}
}

func TestABuyerReadsWhatTheyWereJustTold(t *testing.T) {
	h := orderHouse(t, domain.OrderStatusCancelled)
	var after int64
	h.finder.wait = func(_ context.Context, buyer, order string, seen int64, wait time.Duration) (commands.OrderAnswer, error) {
		if buyer != "buyer-1" || order != testOrder || wait <= 0 || wait > time.Second {
			t.Errorf("waits for %s of %s for %s", order, buyer, wait)
		}
		after = seen
		return commands.OrderAnswer{}, errors.New("the view is away, which is no fault of the cancellation")
	}
	if got := h.ask(http.MethodPost, cancelPath, ""); got.Status != 200 || after != 1 {
		t.Errorf("got %d after waiting for more than version %d, want 200 and 1", got.Status, after)
	}
}

// A deadline that is left on the connection would end this request and all that
// come after it on the same one.
func TestAChangeThatTakesLongerThanABodyMayIsNotCutOff(t *testing.T) {
	t.Parallel()
	h := orderHouse(t, domain.OrderStatusCancelled)
	h.orders.slow = bodyBudget + time.Second
	if got := h.ask(http.MethodPost, cancelPath, "{}"); got.Status != 200 {
		t.Errorf("got %d %s, want it done although it took long", got.Status, got.Body)
	}
	h.finder.find = func(ctx context.Context, _, _ string) (commands.OrderAnswer, error) {
		return boughtIn(domain.OrderStatusCancelled), ctx.Err()
	}
	if got := h.ask(http.MethodGet, "/api/v1/orders/"+testOrder, ""); got.Status != 200 {
		t.Errorf("the next request on the connection: got %d %s", got.Status, got.Body)
	}
}

func TestWhatIsInTheArchiveIsGoneAndNoFault(t *testing.T) {
	archived := errors.New("taken out into a file")
	h := newHouse(t, func(_ *Deps, o *Options) { o.Archived = func(err error) bool { return errors.Is(err, archived) } })
	h.finder.find = func(context.Context, string, string) (commands.OrderAnswer, error) {
		return commands.OrderAnswer{}, fmt.Errorf("read: %w", archived)
	}
	h.shower.err = archived
	h.ask(http.MethodGet, "/api/v1/orders/"+testOrder, "").problem(410, domain.CodeArchived)
	h.ask(http.MethodGet, "/api/v1/sales/"+testSale, "").problem(410, domain.CodeArchived)
}
