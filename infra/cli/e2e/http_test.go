package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/testenv"
)

// desk is where buyers of one sale buy over HTTP.
type desk struct {
	*Client
	sale string
	in   domain.Strategy
}

// TestHTTPCases runs the cases that a buyer can cause by what he sends, over HTTP on
// the built program, in sales of every strategy. Each ends with the standing checks of
// its sale.
func TestHTTPCases(t *testing.T) {
	rig := NewRig(t)
	client := NewClient(ServeRig(t, rig, patient()...).URL)
	observer := rig.Node(t, NodeOptions{APIOnly: true})
	everyStrategy(t, func(t *testing.T, in domain.Strategy) { testHTTPCases(t, client, observer, in) })
}

func testHTTPCases(t *testing.T, client *Client, observer *Node, in domain.Strategy) {
	for _, c := range []struct {
		name  string
		stock int
		run   func(*testing.T, desk) map[string]string
	}{
		{"B12 quantities that are none reach no script", 5, badQuantities},
		{"B61 a key means one purchase and one body", 5, oneKeyOneBody},
		{"B61 two at once under one key", 5, twoAtOnce},
		{"B61 two bodies at once under one key", 5, twoBodiesAtOnce},
		{"B61 a key is of its route", 5, keyOfItsRoute},
		{"B61 a refusal is not remembered with the key", 1, refusalForgotten},
		{"B64 price and buyer are not taken from the request", 5, nothingFromTheBody},
		{"B65 ids are texts everywhere", 5, idsAreTexts},
		{"B04 the same item twice in one request, and more than there is", 5, sameItemTwice},
		{"an order is waited for, and told only to its buyer", 5, waitedFor},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := desk{client, createIn(t, client, in, c.stock), in}
			before := observer.lane(t, at.sale).N
			accepted := c.run(t, at)
			after := observer.lane(t, at.sale).N
			StandingChecks(t, observer, at.sale, accepted)
			if orders := ordersIn(readFold(t, observer.Store), at.sale); len(accepted) == 0 && (after != before || orders > 0) {
				t.Errorf("nothing was accepted, and the journal went from %d to %d entries, and the log has %d orders", before, after, orders)
			}
		})
	}
}

// ordersIn counts the orders of a sale, however they ended.
func ordersIn(f *fold, sale string) int {
	n := 0
	for _, o := range f.orders {
		if o.SaleID == sale {
			n++
		}
	}
	return n
}

// purchase sends a body under headers and wants a status.
func purchase(t *testing.T, c *Client, sale, buyer, body string, status int, headers ...string) Answer {
	t.Helper()
	answer, err := c.Call(http.MethodPost, "/api/v1/sales/"+sale+"/purchases", buyer, "", body, headers...)
	if err != nil {
		t.Fatalf("%s buys with %s: %v", buyer, body, err)
	}
	if answer.Status != status {
		t.Errorf("%s buys with %s: got %d %s, want %d", buyer, body, answer.Status, answer.Raw, status)
	}
	if answer.Header.Get("X-Trace-Id") == "" {
		t.Errorf("the answer carries no trace id")
	}
	return answer
}

// patient are settings by which no purchase is answered before its time, however busy
// the machine is: one whose gate did not answer in time is 201 once the log has it.
func patient() []string {
	return []string{"SECKILL_GATEWAY_TIMEOUT=60s", "SECKILL_HANDLER_TIMEOUT=50s", "SECKILL_QUEUE_TIMEOUT=20s", "SECKILL_GATE_TIMEOUT=15s", "SECKILL_REDIS_TIMEOUT=10s"}
}

// accepted buys with a body, and wants the order as a sale of the strategy answers it:
// 202 queued, or 201 placed.
func (c desk) accepted(t *testing.T, buyer, body string, headers ...string) Answer {
	t.Helper()
	answer, err := c.Call(http.MethodPost, "/api/v1/sales/"+c.sale+"/purchases", buyer, "", body, headers...)
	if err != nil {
		t.Fatalf("%s buys with %s: %v", buyer, body, err)
	}
	c.wantAccepted(t, answer)
	return answer
}

func (c desk) wantAccepted(t *testing.T, answer Answer) {
	t.Helper()
	status, said := http.StatusCreated, domain.OrderStatusPlaced
	if c.in == domain.StrategyRedisAsync {
		status, said = http.StatusAccepted, domain.OrderStatusQueued
	}
	if order := answer.Text("order_id"); order == "" || answer.Status != status || answer.Text("status") != string(said) || answer.Header.Get("Location") != "/api/v1/orders/"+order {
		t.Errorf("got %d %s with Location %q, want an order as %s accepts one", answer.Status, answer.Raw, answer.Header.Get("Location"), c.in)
	}
	if answer.Header.Get("X-Trace-Id") == "" {
		t.Errorf("the answer carries no trace id")
	}
}

// told buys with a body and wants a status of no new order.
func (c desk) told(t *testing.T, buyer, body string, status int, headers ...string) Answer {
	t.Helper()
	return purchase(t, c.Client, c.sale, buyer, body, status, headers...)
}

const oneItem = `{"sku":"item","quantity":1}`

func badQuantities(t *testing.T, c desk) map[string]string {
	for _, q := range []string{"-1", "0", "1.5", `"1e3"`, "1e3", "2147483648", "9007199254740993", "9223372036854775807", "100000000000000000000", "null"} {
		answer := c.told(t, "u", `{"sku":"item","quantity":`+q+`}`, http.StatusUnprocessableEntity)
		if answer.Text("code") != "invalid_request" {
			t.Errorf("quantity %s: code %q, want invalid_request", q, answer.Text("code"))
		}
	}
	c.told(t, "u", `{"sku":"item"}`, http.StatusUnprocessableEntity)
	c.told(t, "u", `{"sku":"item","quantity":2147483647}`, http.StatusConflict) // well-formed, over the limit
	return nil
}

func nothingFromTheBody(t *testing.T, c desk) map[string]string {
	c.told(t, "u", `{"sku":"item","quantity":1,"price":"0.01"}`, http.StatusUnprocessableEntity)
	c.told(t, "u", `{"sku":"item","quantity":1,"buyer_id":"somebody"}`, http.StatusUnprocessableEntity)
	first := c.accepted(t, "u", oneItem)
	order := first.Text("order_id")
	told := await(t, c.Client, "u", order)
	if told.Text("amount") != "19.90" || told.Text("currency") != "CNY" {
		t.Errorf("the order costs %v %v, want 19.90 CNY", told.Body["amount"], told.Body["currency"])
	}
	if answer, err := c.Order("somebody", order, ""); err != nil || answer.Status != http.StatusNotFound || answer.Text("code") != "order_not_found" {
		t.Errorf("somebody else asks: %d %s %v, want 404 order_not_found", answer.Status, answer.Raw, err)
	}
	for _, do := range []string{"/cancellation", "/payment"} {
		if answer, err := c.Call(http.MethodPost, "/api/v1/orders/"+order+do, "somebody", "", nil); err != nil || answer.Status != http.StatusNotFound {
			t.Errorf("%s by somebody else: %d %s %v, want 404", do, answer.Status, answer.Raw, err)
		}
	}
	if after, err := c.Order("u", order, ""); err != nil || after.Body["version"] != told.Body["version"] || after.Text("status") != "placed" {
		t.Errorf("after that the order is %s, %v, want it placed as before", after.Raw, err)
	}
	return map[string]string{order: "u"}
}

// await polls an order until it is decided.
func await(t *testing.T, c *Client, buyer, order string) Answer {
	t.Helper()
	var told Answer
	testenv.Eventually(t, 30*time.Second, func() error {
		var err error
		told, err = c.Order(buyer, order, "?wait=5s")
		if err == nil && (told.Status != http.StatusOK || told.Text("status") == "queued") {
			err = errStatus(told)
		}
		return err
	})
	return told
}

func idsAreTexts(t *testing.T, c desk) map[string]string {
	first := c.accepted(t, "2127021556583370752", oneItem)
	told := await(t, c.Client, "2127021556583370752", first.Text("order_id"))
	// Through the numbers of a browser and back: every id is a text, so none is rounded.
	var through map[string]any
	if err := json.Unmarshal([]byte(told.Raw), &through); err != nil {
		t.Fatal(err)
	}
	for _, field := range []string{"order_id", "sale_id", "trace_id"} {
		if _, ok := through[field].(string); !ok {
			t.Errorf("%s is %T, want a text", field, through[field])
		}
	}
	return map[string]string{first.Text("order_id"): "2127021556583370752"}
}

func sameItemTwice(t *testing.T, c desk) map[string]string {
	c.told(t, "u", `{"lines":[{"sku":"item","quantity":1},{"sku":"item","quantity":1}]}`, http.StatusUnprocessableEntity)
	c.told(t, "u", `{"lines":[{"sku":"item","quantity":1},{"sku":"other","quantity":1}]}`, http.StatusNotFound)
	first := c.accepted(t, "u", `{"lines":[{"sku":"item","quantity":1}]}`)
	return map[string]string{first.Text("order_id"): "u"}
}

func waitedFor(t *testing.T, c desk) map[string]string {
	first := c.accepted(t, "u", oneItem)
	order := first.Text("order_id")
	if first.Text("poll_url") == "" || (first.Status == http.StatusAccepted && first.Header.Get("Retry-After") == "") {
		t.Errorf("%d with poll_url %q, Retry-After %q", first.Status, first.Text("poll_url"), first.Header.Get("Retry-After"))
	}
	told := await(t, c.Client, "u", order)
	if told.Text("status") != string(domain.OrderStatusPlaced) || told.Body["version"] != float64(1) {
		t.Errorf("the order is %s, want placed at version 1", told.Raw)
	}
	// Nothing changes any more: the wait ends with the time, the order as it is.
	still, err := c.Order("u", order, "?wait=1s&after=1")
	if err != nil || still.Status != http.StatusOK || still.Text("status") != string(domain.OrderStatusPlaced) {
		t.Errorf("waiting for what does not come: %d %s %v", still.Status, still.Raw, err)
	}
	last := "0"
	if strings.HasSuffix(order, last) {
		last = "1"
	}
	for _, id := range []string{"nonsense", order[:len(order)-1] + last} {
		if answer, err := c.Order("u", id, ""); err != nil || answer.Status != http.StatusNotFound {
			t.Errorf("order %s: %d %v, want 404", id, answer.Status, err)
		}
	}
	testenv.Eventually(t, 60*time.Second, func() error { // lists are of the read model
		list, err := c.Call(http.MethodGet, "/api/v1/orders?sale="+c.sale, "u", "", nil)
		if orders, ok := list.Body["orders"].([]any); err == nil && (!ok || len(orders) != 1) {
			err = fmt.Errorf("own orders: %s, want one", list.Raw)
		}
		return err
	})
	return map[string]string{order: "u"}
}

func TestB68TimesAreInstantsWhateverTheZoneOfTheMachine(t *testing.T) {
	for _, zone := range []string{"UTC", "Asia/Shanghai", "America/New_York"} {
		t.Run("B68 "+zone, func(t *testing.T) {
			rig := NewRig(t)
			client := NewClient(ServeRig(t, rig, "TZ="+zone).URL)
			opens := func(at string) Answer {
				body := saleBody(1)
				body["opens_at"], body["closes_at"] = at, "2126-11-01T12:00:00Z"
				answer, err := client.Call(http.MethodPost, "/api/v1/admin/sales", "operator", "admin", body)
				if err != nil {
					t.Fatal(err)
				}
				return answer
			}
			summer, winter := opens("2026-11-01T01:30:00-04:00"), opens("2026-11-01T01:30:00-05:00")
			first, err1 := time.Parse(time.RFC3339, summer.Text("opens_at"))
			second, err2 := time.Parse(time.RFC3339, winter.Text("opens_at"))
			if err1 != nil || err2 != nil || second.Sub(first) != time.Hour {
				t.Errorf("opens at %q and %q, want an hour between", summer.Text("opens_at"), winter.Text("opens_at"))
			}
			if bare := opens("2026-11-01T01:30:00"); bare.Status != http.StatusUnprocessableEntity {
				t.Errorf("a time without a zone: %d, want 422", bare.Status)
			}
			observer := rig.Node(t, NodeOptions{APIOnly: true})
			for _, sale := range []Answer{summer, winter} {
				StandingChecks(t, observer, sale.Text("id"), nil)
			}
		})
	}
}

// TestB49TheSuiteRunsOnAFreshlyMigratedSchema: two users each buy, one buys
// twice; the unique key is on the buyer's claim, not on the item.
func TestB49TheSuiteRunsOnAFreshlyMigratedSchema(t *testing.T) {
	rig := NewRig(t)
	client := NewClient(ServeRig(t, rig, patient()...).URL)
	observer := rig.Node(t, NodeOptions{APIOnly: true})
	everyStrategy(t, func(t *testing.T, in domain.Strategy) {
		c := desk{client, createIn(t, client, in, 5), in}
		accepted := map[string]string{}
		for i, buyer := range []string{"a", "b", "a"} {
			answer, err := c.Buy(c.sale, buyer, fmt.Sprintf("k%d", i))
			if err != nil {
				t.Fatal(err)
			}
			if i < 2 {
				c.wantAccepted(t, answer)
			} else if answer.Status != http.StatusOK {
				t.Errorf("purchase %d: %d, want 200", i, answer.Status)
			}
			accepted[answer.Text("order_id")] = buyer
		}
		StandingChecks(t, observer, c.sale, accepted)
		if got := readFold(t, observer.Store).placed(c.sale); got != 2 {
			t.Errorf("%d orders placed, want 2", got)
		}
	})
}
