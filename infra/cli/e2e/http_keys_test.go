package e2e

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"seckill/infra/testenv"
)

func oneKeyOneBody(t *testing.T, c desk) map[string]string {
	first := c.accepted(t, "u", oneItem, "Idempotency-Key", "k")
	again := c.told(t, "u", ` { "quantity": 1, "sku": "item" } `, http.StatusOK, "Idempotency-Key", "k")
	if again.Text("order_id") != first.Text("order_id") || again.Body["repeat"] != true {
		t.Errorf("the same again: %s, want order %s marked as a repeat", again.Raw, first.Text("order_id"))
	}
	other := c.told(t, "u", `{"sku":"item","quantity":2}`, http.StatusUnprocessableEntity, "Idempotency-Key", "k")
	if other.Text("code") != "idempotency_mismatch" {
		t.Errorf("another body: code %q, want idempotency_mismatch", other.Text("code"))
	}
	// Another buyer's key of the same text is another key.
	second := c.accepted(t, "v", oneItem, "Idempotency-Key", "k")
	return map[string]string{first.Text("order_id"): "u", second.Text("order_id"): "v"}
}

func twoAtOnce(t *testing.T, c desk) map[string]string {
	var mu sync.Mutex
	orders := map[string]string{}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			answer, err := c.Buy(c.sale, "u", "k")
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				t.Errorf("buy: %v", err)
			case answer.Status == http.StatusAccepted || answer.Status == http.StatusCreated || answer.Status == http.StatusOK:
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

// Whichever of two bodies comes first under a key, the other is never bought under it:
// neither while the first is in flight nor afterwards.
func twoBodiesAtOnce(t *testing.T, c desk) map[string]string {
	const two = `{"sku":"item","quantity":2}` // over the limit: it never holds the key
	var mu sync.Mutex
	orders := map[string]string{}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			body := []string{oneItem, two}[i%2]
			answer, err := c.Call(http.MethodPost, "/api/v1/sales/"+c.sale+"/purchases", "u", "", body, "Idempotency-Key", "k")
			mu.Lock()
			defer mu.Unlock()
			switch order := answer.Text("order_id"); {
			case err != nil:
				t.Errorf("buy: %v", err)
			case answer.Status < 300 && body == oneItem:
				orders[order] = "u"
			case answer.Status < 300, answer.Text("code") != "in_progress" && body == oneItem,
				answer.Text("code") != "in_progress" && answer.Text("code") != "idempotency_mismatch" && answer.Text("code") != "limit_exceeded":
				t.Errorf("%s: got %d %s", body, answer.Status, answer.Raw)
			}
		})
	}
	all.Wait()
	if len(orders) != 1 {
		t.Errorf("orders %v, want one", orders)
	}
	if late := c.told(t, "u", two, http.StatusUnprocessableEntity, "Idempotency-Key", "k"); late.Text("code") != "idempotency_mismatch" {
		t.Errorf("the other body afterwards: %s, want idempotency_mismatch", late.Raw)
	}
	return orders
}

// The key of a purchase says nothing of a cancellation that carries the same.
func keyOfItsRoute(t *testing.T, c desk) map[string]string {
	order := c.accepted(t, "u", oneItem, "Idempotency-Key", "k").Text("order_id")
	await(t, c.Client, "u", order)
	answer, err := c.Call(http.MethodPost, "/api/v1/orders/"+order+"/cancellation", "u", "", "{}", "Idempotency-Key", "k")
	if err != nil || answer.Status != http.StatusOK || answer.Text("status") != "cancelled" {
		t.Errorf("cancel under the key of the purchase: got %d %s, %v; want it cancelled", answer.Status, answer.Raw, err)
	}
	testenv.Eventually(t, 30*time.Second, func() error { // a busy database may not tell in time how it stands
		again := c.told(t, "u", oneItem, http.StatusOK, "Idempotency-Key", "k")
		if again.Text("order_id") != order {
			t.Errorf("the purchase again: %s, want its order", again.Raw)
		}
		if again.Text("status") != "cancelled" {
			return errStatus(again)
		}
		return nil
	})
	return map[string]string{order: "u"}
}

func refusalForgotten(t *testing.T, c desk) map[string]string {
	c.told(t, "u", `{"sku":"item","quantity":5}`, http.StatusConflict, "Idempotency-Key", "k")
	// No unit was taken, so the key is free, for another body too.
	first := c.accepted(t, "u", oneItem, "Idempotency-Key", "k")
	return map[string]string{first.Text("order_id"): "u"}
}
