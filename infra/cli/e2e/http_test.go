package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/testenv"
)

// TestHTTPCases runs the cases that a buyer can cause by what he sends, over
// HTTP on the built program. Each ends with the standing checks of its sale.
func TestHTTPCases(t *testing.T) {
	rig := NewRig(t)
	child := ServeRig(t, rig)
	client := NewClient(child.URL)
	observer := rig.Node(t, NodeOptions{APIOnly: true})
	for _, c := range []struct {
		name  string
		stock int
		run   func(*testing.T, *Client, string) map[string]string
	}{
		{"B12 quantities that are none reach no script", 5, badQuantities},
		{"B61 a key means one purchase and one body", 5, oneKeyOneBody},
		{"B61 two at once under one key", 5, twoAtOnce},
		{"B61 a refusal is not remembered with the key", 1, refusalForgotten},
		{"B64 price and buyer are not taken from the request", 5, nothingFromTheBody},
		{"B65 ids are texts everywhere", 5, idsAreTexts},
		{"B04 the same item twice in one request, and more than there is", 5, sameItemTwice},
		{"an order is waited for, and told only to its buyer", 5, waitedFor},
	} {
		t.Run(c.name, func(t *testing.T) {
			sale := client.CreateSale(t, c.stock)
			StandingChecks(t, observer, sale, c.run(t, client, sale))
		})
	}
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

const oneItem = `{"sku":"item","quantity":1}`

func badQuantities(t *testing.T, c *Client, sale string) map[string]string {
	for _, q := range []string{"-1", "0", "1.5", `"1e3"`, "1e3", "2147483648", "9007199254740993", "9223372036854775807", "100000000000000000000", "null"} {
		answer := purchase(t, c, sale, "u", `{"sku":"item","quantity":`+q+`}`, http.StatusUnprocessableEntity)
		if answer.Text("code") != "invalid_request" {
			t.Errorf("quantity %s: code %q, want invalid_request", q, answer.Text("code"))
		}
	}
	purchase(t, c, sale, "u", `{"sku":"item"}`, http.StatusUnprocessableEntity)
	purchase(t, c, sale, "u", `{"sku":"item","quantity":2147483647}`, http.StatusConflict) // well-formed, over the limit
	return nil
}

func oneKeyOneBody(t *testing.T, c *Client, sale string) map[string]string {
	first := purchase(t, c, sale, "u", oneItem, http.StatusAccepted, "Idempotency-Key", "k")
	again := purchase(t, c, sale, "u", ` { "quantity": 1, "sku": "item" } `, http.StatusOK, "Idempotency-Key", "k")
	if again.Text("order_id") != first.Text("order_id") || again.Body["repeat"] != true {
		t.Errorf("the same again: %s, want order %s marked as a repeat", again.Raw, first.Text("order_id"))
	}
	other := purchase(t, c, sale, "u", `{"sku":"item","quantity":2}`, http.StatusUnprocessableEntity, "Idempotency-Key", "k")
	if other.Text("code") != "idempotency_mismatch" {
		t.Errorf("another body: code %q, want idempotency_mismatch", other.Text("code"))
	}
	// Another buyer's key of the same text is another key.
	second := purchase(t, c, sale, "v", oneItem, http.StatusAccepted, "Idempotency-Key", "k")
	return map[string]string{first.Text("order_id"): "u", second.Text("order_id"): "v"}
}

func twoAtOnce(t *testing.T, c *Client, sale string) map[string]string {
	var mu sync.Mutex
	orders := map[string]string{}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			answer, err := c.Buy(sale, "u", "k")
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				t.Errorf("buy: %v", err)
			case answer.Status == http.StatusAccepted || answer.Status == http.StatusOK:
				orders[answer.Text("order_id")] = "u"
			case answer.Text("code") != "in_progress":
				t.Errorf("got %d %s, want the order or in_progress", answer.Status, answer.Raw)
			}
		})
	}
	all.Wait()
	if len(orders) != 1 {
		t.Errorf("orders %v, want one", orders)
	}
	return orders
}

func refusalForgotten(t *testing.T, c *Client, sale string) map[string]string {
	purchase(t, c, sale, "u", `{"sku":"item","quantity":5}`, http.StatusConflict, "Idempotency-Key", "k")
	// No unit was taken, so the key is free, for another body too.
	first := purchase(t, c, sale, "u", oneItem, http.StatusAccepted, "Idempotency-Key", "k")
	return map[string]string{first.Text("order_id"): "u"}
}

func nothingFromTheBody(t *testing.T, c *Client, sale string) map[string]string {
	purchase(t, c, sale, "u", `{"sku":"item","quantity":1,"price":"0.01"}`, http.StatusUnprocessableEntity)
	purchase(t, c, sale, "u", `{"sku":"item","quantity":1,"buyer_id":"somebody"}`, http.StatusUnprocessableEntity)
	first := purchase(t, c, sale, "u", oneItem, http.StatusAccepted)
	order := first.Text("order_id")
	told := await(t, c, "u", order)
	if told.Text("amount") != "19.90" || told.Text("currency") != "CNY" {
		t.Errorf("the order costs %v %v, want 19.90 CNY", told.Body["amount"], told.Body["currency"])
	}
	if answer, err := c.Order("somebody", order, ""); err != nil || answer.Status != http.StatusNotFound || answer.Text("code") != "order_not_found" {
		t.Errorf("somebody else asks: %d %s %v, want 404 order_not_found", answer.Status, answer.Raw, err)
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

func idsAreTexts(t *testing.T, c *Client, sale string) map[string]string {
	first := purchase(t, c, sale, "2127021556583370752", oneItem, http.StatusAccepted)
	told := await(t, c, "2127021556583370752", first.Text("order_id"))
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

func sameItemTwice(t *testing.T, c *Client, sale string) map[string]string {
	purchase(t, c, sale, "u", `{"lines":[{"sku":"item","quantity":1},{"sku":"item","quantity":1}]}`, http.StatusUnprocessableEntity)
	purchase(t, c, sale, "u", `{"lines":[{"sku":"item","quantity":1},{"sku":"other","quantity":1}]}`, http.StatusNotFound)
	first := purchase(t, c, sale, "u", `{"lines":[{"sku":"item","quantity":1}]}`, http.StatusAccepted)
	return map[string]string{first.Text("order_id"): "u"}
}

func waitedFor(t *testing.T, c *Client, sale string) map[string]string {
	first := purchase(t, c, sale, "u", oneItem, http.StatusAccepted)
	order := first.Text("order_id")
	if first.Header.Get("Location") != "/api/v1/orders/"+order || first.Text("poll_url") == "" || first.Header.Get("Retry-After") == "" {
		t.Errorf("202 with Location %q, poll_url %q, Retry-After %q", first.Header.Get("Location"), first.Text("poll_url"), first.Header.Get("Retry-After"))
	}
	told := await(t, c, "u", order)
	if told.Text("status") != string(domain.OrderStatusPlaced) || told.Body["version"] != float64(1) {
		t.Errorf("the order is %s, want placed at version 1", told.Raw)
	}
	// Nothing changes any more: the wait ends with the time, the order as it is.
	still, err := c.Order("u", order, "?wait=1s&after=1")
	if err != nil || still.Status != http.StatusOK || still.Text("status") != string(domain.OrderStatusPlaced) {
		t.Errorf("waiting for what does not come: %d %s %v", still.Status, still.Raw, err)
	}
	for _, id := range []string{"nonsense", order[:len(order)-1] + "0"} {
		if answer, err := c.Order("u", id, ""); err != nil || answer.Status != http.StatusNotFound {
			t.Errorf("order %s: %d %v, want 404", id, answer.Status, err)
		}
	}
	list, err := c.Call(http.MethodGet, "/api/v1/orders?sale="+sale, "u", "", nil)
	if orders, ok := list.Body["orders"].([]any); err != nil || !ok || len(orders) != 1 {
		t.Errorf("own orders: %s %v, want one", list.Raw, err)
	}
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
	child := ServeRig(t, rig)
	client := NewClient(child.URL)
	sale := client.CreateSale(t, 5)
	accepted := map[string]string{}
	for i, buyer := range []string{"a", "b", "a"} {
		answer, err := client.Buy(sale, buyer, fmt.Sprintf("k%d", i))
		if err != nil {
			t.Fatal(err)
		}
		if want := []int{http.StatusAccepted, http.StatusAccepted, http.StatusOK}[i]; answer.Status != want {
			t.Errorf("purchase %d: %d, want %d", i, answer.Status, want)
		}
		accepted[answer.Text("order_id")] = buyer
	}
	observer := rig.Node(t, NodeOptions{APIOnly: true})
	StandingChecks(t, observer, sale, accepted)
	if got := readFold(t, observer.Store).placed(sale); got != 2 {
		t.Errorf("%d orders placed, want 2", got)
	}
}
