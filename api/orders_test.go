package api

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/commands"
	"seckill/domain"
)

func placedOrder() commands.OrderAnswer {
	price := domain.Money{Minor: 1990, Currency: "CNY"}
	at := time.Date(2026, 11, 11, 8, 0, 0, 123456000, time.FixedZone("", 8*3600))
	return commands.OrderAnswer{
		Order: domain.Order{
			ID: testOrder, SaleID: testSale, BuyerID: "buyer-1", Lines: []domain.OrderLine{{SKU: "shoe-42", Quantity: 2, Price: price}},
			Amount: domain.Money{Minor: 3980, Currency: "CNY"}, Status: domain.OrderStatusPlaced, PayBy: at.Add(15 * time.Minute), Version: 1,
		},
		PlacedAt: at, TraceID: strings.Repeat("a", 32),
	}
}

func TestAnOrderHasExactlyTheFieldsOfTheContract(t *testing.T) {
	h := newHouse(t, nil)
	answer := placedOrder()
	h.finder.find = func(_ context.Context, buyer, id string) (commands.OrderAnswer, error) {
		if buyer != "buyer-1" || id != testOrder {
			return commands.OrderAnswer{}, fmt.Errorf("asked for %s of %s", id, buyer)
		}
		return answer, nil
	}
	want := map[string]any{
		"order_id": testOrder, "sale_id": testSale, "lines": []any{map[string]any{"sku": "shoe-42", "quantity": 2.0, "price": "19.90"}},
		"amount": "39.80", "currency": "CNY", "status": "placed", "reason": nil, "waiting_for": nil, "detail": nil, "refund_due": false,
		"placed_at": "2026-11-11T00:00:00.123456Z", "pay_by": "2026-11-11T00:15:00.123456Z", "version": 1.0, "trace_id": strings.Repeat("a", 32),
	}
	got := h.ask(http.MethodGet, "/api/v1/orders/"+testOrder, "")
	if diff := cmp.Diff(want, got.json()); got.Status != 200 || diff != "" || got.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("got %d %v; the order differs (-want +got):\n%s", got.Status, got.Header, diff)
	}

	answer = orderIn(domain.OrderStatusQueued)
	want = map[string]any{
		"order_id": testOrder, "sale_id": testSale, "lines": []any{}, "amount": nil, "currency": nil, "status": "queued", "reason": nil, "waiting_for": nil, "detail": nil,
		"refund_due": false, "placed_at": nil, "pay_by": nil, "version": 0.0, "trace_id": strings.Repeat("a", 32),
	}
	if diff := cmp.Diff(want, h.ask(http.MethodGet, "/api/v1/orders/"+testOrder, "").json()); diff != "" {
		t.Errorf("a queued order differs (-want +got):\n%s", diff)
	}

	answer = orderIn(domain.OrderStatusRejected)
	answer.Reason, answer.Lines = domain.RejectedLost, []domain.OrderLine{{SKU: "shoe-42", Quantity: 2}}
	rejected := h.ask(http.MethodGet, "/api/v1/orders/"+testOrder, "").json()
	if rejected["reason"] != "lost" || rejected["lines"].([]any)[0].(map[string]any)["price"] != nil {
		t.Errorf("got %v, want reason lost and a line without price", rejected)
	}
}

func TestAQueuedOrderSaysWhatItWaitsForAndARejectedOneApologises(t *testing.T) {
	h := newHouse(t, nil)
	answer := orderIn(domain.OrderStatusQueued)
	h.finder.find = func(context.Context, string, string) (commands.OrderAnswer, error) { return answer, nil }
	h.finder.list = func(context.Context, string, string, int, string) (commands.OrderPage, error) {
		return commands.OrderPage{Orders: []commands.OrderAnswer{answer}}, nil
	}
	for _, waits := range []domain.Waiting{domain.WaitingForRecorder, domain.WaitingForGate, domain.WaitingForLog, domain.WaitingForSale} {
		answer.WaitingFor = waits
		for _, language := range []string{"en", "zh"} {
			got := h.ask(http.MethodGet, "/api/v1/orders/"+testOrder, "", "Accept-Language", language).json()
			if got["waiting_for"] != string(waits) || got["detail"] != waits.Sentence(language) {
				t.Errorf("%s in %s: got %v, %v", waits, language, got["waiting_for"], got["detail"])
			}
		}
		h.purchaser.answer = func(commands.PurchaseRequest) (commands.PurchaseResult, error) {
			return commands.PurchaseResult{Outcome: domain.Reserved, Order: answer}, nil
		}
		bought := h.buy(`{"sku":"shoe-42","quantity":1}`, "Accept-Language", "zh").json()
		detail, _ := bought["detail"].(string)
		if bought["waiting_for"] != string(waits) || (detail == waits.Sentence("zh")) == (waits == domain.WaitingForRecorder) {
			t.Errorf("a purchase that waits for %s: got %v", waits, bought)
		}
	}
	answer = orderIn(domain.OrderStatusRejected)
	answer.Reason = domain.RejectedLost
	list := h.ask(http.MethodGet, "/api/v1/orders?sale="+testSale, "", "Accept-Language", "zh").json()["orders"].([]any)
	for language, got := range map[string]map[string]any{
		"en": h.ask(http.MethodGet, "/api/v1/orders/"+testOrder, "").json(), "zh": list[0].(map[string]any),
	} {
		if got["waiting_for"] != nil || got["detail"] != domain.RejectedLost.Sentence(language) {
			t.Errorf("a lost order in %s: got %v", language, got)
		}
	}
}

// B65: what names something is a string, also when it is all digits.
func TestAnOrderIDOfDigitsSurvivesJavaScript(t *testing.T) {
	h := newHouse(t, nil)
	const id = "2127021556583370752"
	h.finder.find = func(_ context.Context, _, asked string) (commands.OrderAnswer, error) {
		return commands.OrderAnswer{Order: domain.Order{ID: asked, SaleID: "12345678", Status: domain.OrderStatusQueued}}, nil
	}
	order := h.ask(http.MethodGet, "/api/v1/orders/"+id, "").json()
	if order["order_id"] != id || order["sale_id"] != "12345678" {
		t.Errorf("got %v and %v, want both ids as the strings they are", order["order_id"], order["sale_id"])
	}
}

func TestAnOrderOfSomebodyElseIs404(t *testing.T) {
	h := newHouse(t, nil)
	h.finder.find = func(context.Context, string, string) (commands.OrderAnswer, error) {
		return commands.OrderAnswer{}, &domain.Problem{Code: domain.CodeOrderNotFound}
	}
	h.ask(http.MethodGet, "/api/v1/orders/"+testOrder, "").problem(404, domain.CodeOrderNotFound)
	h.ask(http.MethodGet, "/api/v1/orders/"+testOrder, "", "Authorization", "").problem(401, domain.CodeUnauthenticated)
}

func TestAPollWaitsAsLongAsItIsAskedTo(t *testing.T) {
	h := newHouse(t, nil)
	type asked struct {
		After int64
		Wait  time.Duration
	}
	var waits []asked
	h.finder.find = func(context.Context, string, string) (commands.OrderAnswer, error) {
		waits = append(waits, asked{})
		return placedOrder(), nil
	}
	h.finder.wait = func(_ context.Context, _, _ string, after int64, wait time.Duration) (commands.OrderAnswer, error) {
		waits = append(waits, asked{after, wait})
		return placedOrder(), nil
	}
	for _, query := range []string{"", "?wait=0s", "?wait=5s&after=3", "?wait=1500ms", "?wait=30s&after=0"} {
		if got := h.ask(http.MethodGet, "/api/v1/orders/"+testOrder+query, ""); got.Status != 200 {
			t.Errorf("%s: got status %d, want 200\n%s", query, got.Status, got.Body)
		}
	}
	want := []asked{{}, {}, {3, 5 * time.Second}, {0, 1500 * time.Millisecond}, {0, 30 * time.Second}}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("waits differ (-want +got):\n%s", diff)
	}
	for _, query := range []string{"?wait=5", "?wait=31s", "?wait=-1s", "?wait=soon", "?after=-1", "?after=x", "?after=99999999999999999999"} {
		h.ask(http.MethodGet, "/api/v1/orders/"+testOrder+query, "").problem(422, domain.CodeInvalidRequest)
	}
}

func TestDrainingAnswersWaitingPollsAtOnceWithWhatIsKnown(t *testing.T) {
	h := newHouse(t, nil)
	waiting := make(chan struct{})
	h.finder.wait = func(ctx context.Context, _, _ string, _ int64, _ time.Duration) (commands.OrderAnswer, error) {
		close(waiting)
		<-ctx.Done()
		return commands.OrderAnswer{}, ctx.Err()
	}
	h.finder.find = func(ctx context.Context, _, _ string) (commands.OrderAnswer, error) { return placedOrder(), ctx.Err() }
	answered := make(chan *reply, 1)
	go func() { answered <- h.ask(http.MethodGet, "/api/v1/orders/"+testOrder+"?wait=30s&after=1", "") }()
	<-waiting
	h.server.Drain()
	select {
	case got := <-answered:
		if got.Status != 200 || got.json()["status"] != "placed" {
			t.Errorf("got %d %s, want 200 and the placed order", got.Status, got.Body)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("a poll still waits 10 s after draining began")
	}
	if got := h.ask(http.MethodGet, "/api/v1/orders/"+testOrder+"?wait=30s&after=1", ""); got.Status != 200 {
		t.Errorf("got status %d for a later poll, want 200", got.Status)
	}
	h.ask(http.MethodGet, "/readyz", "").problem(503, domain.CodeNotReady)
}

func TestACallerWhoHangsUpIsNoFault(t *testing.T) {
	counted := make(chan int, 10)
	h := newHouse(t, func(d *Deps, _ *Options) { d.Metrics = statusCounter{counted} })
	waiting := make(chan struct{})
	h.finder.wait = func(ctx context.Context, _, _ string, _ int64, _ time.Duration) (commands.OrderAnswer, error) {
		close(waiting)
		<-ctx.Done()
		return commands.OrderAnswer{}, fmt.Errorf("look at the view: %w", ctx.Err())
	}
	ctx, hangUp := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, h.url+"/api/v1/orders/"+testOrder+"?wait=30s", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+tokenOf(t, "buyer-1", ""))
	go func() {
		<-waiting
		hangUp()
	}()
	if res, err := http.DefaultClient.Do(req); err == nil {
		res.Body.Close()
		t.Fatal("the poll was answered, want it cut off")
	}
	select {
	case <-counted:
	case <-time.After(10 * time.Second):
		t.Fatal("the request did not end within 10 s of its caller hanging up")
	}
	if log := h.log.String(); strings.Contains(log, "ERROR") {
		t.Errorf("hanging up was logged as a fault:\n%s", log)
	}
}

// statusCounter hands the status of every answer on.
type statusCounter struct{ statuses chan int }

func (statusCounter) Purchase(string, time.Duration) {}

func (s statusCounter) Request(_ string, status int, _ time.Duration) { s.statuses <- status }

func TestOwnOrdersArePagedNewestFirst(t *testing.T) {
	h := newHouse(t, nil)
	var asked []any
	h.finder.list = func(_ context.Context, sale, buyer string, limit int, cursor string) (commands.OrderPage, error) {
		asked = []any{sale, buyer, limit, cursor}
		return commands.OrderPage{Orders: []commands.OrderAnswer{placedOrder()}, Next: "c2"}, nil
	}
	got := h.ask(http.MethodGet, "/api/v1/orders?sale="+testSale+"&limit=7&cursor=c1", "").json()
	if got["next_cursor"] != "c2" || len(got["orders"].([]any)) != 1 {
		t.Errorf("got %v, want one order and next_cursor c2", got)
	}
	if diff := cmp.Diff([]any{testSale, "buyer-1", 7, "c1"}, asked); diff != "" {
		t.Errorf("asked differs (-want +got):\n%s", diff)
	}
	h.ask(http.MethodGet, "/api/v1/orders?sale="+testSale, "")
	if asked[2] != 20 {
		t.Errorf("got limit %v when left out, want 20", asked[2])
	}
	h.finder.list = func(context.Context, string, string, int, string) (commands.OrderPage, error) {
		return commands.OrderPage{}, nil
	}
	if got := h.ask(http.MethodGet, "/api/v1/orders?sale="+testSale, "").Body; strings.TrimSpace(got) != `{"orders":[],"next_cursor":""}` {
		t.Errorf("got %s for no orders, want an empty list", got)
	}
	for _, query := range []string{"", "?sale=" + testSale + "&limit=0", "?sale=" + testSale + "&limit=101", "?sale=" + testSale + "&cursor=" + strings.Repeat("c", 201)} {
		h.ask(http.MethodGet, "/api/v1/orders"+query, "").problem(422, domain.CodeInvalidRequest)
	}
	h.ask(http.MethodGet, "/api/v1/orders?sale=none", "").problem(404, domain.CodeSaleNotFound)
}
