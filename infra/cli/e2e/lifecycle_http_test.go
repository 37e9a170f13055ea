package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/payments"
	"seckill/infra/testenv"
)

func TestAnOrderIsPaidByItsProvidersMessageAlone(t *testing.T) {
	t.Parallel()
	everyCheckout(t, anOrderIsPaidByItsProvidersMessageAlone)
}

func anOrderIsPaidByItsProvidersMessageAlone(c *checkout) {
	t := c.t
	sale := c.saleWith(5, nil)
	order := c.placed(sale, "alice")

	where, err := c.Call(http.MethodPost, "/api/v1/orders/"+order+"/payment", "alice", "", "{}")
	if err != nil || where.Status != 200 || where.Text("amount") != "19.90" || !strings.Contains(where.Raw, "https://bank.test/pay/"+order) {
		t.Fatalf("where to pay: %d %s %v", where.Status, where.Raw, err)
	}
	c.wants(order, "placed", false)
	for name, forged := range map[string]func() (Answer, error){
		"a guessed secret": func() (Answer, error) { return c.tell(event(order), "guessed, as attackers do", time.Now()) },
		"a stale one":      func() (Answer, error) { return c.tell(event(order), bankSecret, time.Now().Add(-6*time.Minute)) },
		"one of tomorrow":  func() (Answer, error) { return c.tell(event(order), bankSecret, time.Now().Add(6*time.Minute)) },
		"a changed body": func() (Answer, error) {
			body, _ := json.Marshal(event("another order"))
			signed := payments.Sign([]byte(bankSecret), time.Now(), body)
			return c.Call(http.MethodPost, "/webhooks/payments/bank", "", "", strings.Replace(string(body), "another order", order, 1), payments.Header, signed)
		},
		"the buyer's own": func() (Answer, error) {
			body, _ := json.Marshal(event(order))
			return c.Call(http.MethodPost, "/webhooks/payments/bank", "alice", "", string(body))
		},
	} {
		if answer, err := forged(); err != nil || answer.Status != http.StatusUnauthorized || answer.Text("code") != "unauthenticated" {
			t.Errorf("%s: %d %s %v, want 401", name, answer.Status, answer.Raw, err)
		}
	}
	if answer, err := c.Call(http.MethodPost, "/api/v1/admin/orders/"+order+"/payment", "alice", "", map[string]any{"payment_id": "mine"}); err != nil || answer.Status != http.StatusForbidden {
		t.Errorf("the buyer as an operator: %d %s %v, want 403", answer.Status, answer.Raw, err)
	}
	c.wants(order, "placed", false)

	e := event(order)
	for range 3 {
		if answer := c.heard(e); answer.Text("status") != "paid" || answer.Text("order_id") != order || answer.Body["refund_due"] != false {
			t.Errorf("got %s, want the order paid", answer.Raw)
		}
	}
	c.wants(order, "paid", false)
	if answer := c.cancel("alice", order); answer.Status != http.StatusConflict || answer.Text("code") != "wrong_state" || !strings.Contains(answer.Raw, `"status":"paid"`) {
		t.Errorf("cancel a paid order: %d %s, want 409 with the order", answer.Status, answer.Raw)
	}
	// The same id for another order is a fault of the provider, and told so.
	other := c.placed(sale, "bob")
	e.OrderID = other
	if answer, err := c.tell(e, bankNextSecret, time.Now()); err != nil || answer.Status != http.StatusUnprocessableEntity {
		t.Errorf("an id used twice: %d %s %v, want 422", answer.Status, answer.Raw, err)
	}
	c.wants(other, "placed", false)
	// A second payment, and one of a wrong amount, are money that is due back.
	c.heard(event(order))
	c.wants(order, "paid", true)
	wrong := event(other)
	wrong.Amount = "0.01"
	if answer := c.heard(wrong); answer.Text("status") != "placed" || answer.Body["refund_due"] != true {
		t.Errorf("a wrong amount: %s, want the order placed and the money due back", answer.Raw)
	}
	c.check(sale)
}

func TestAMessageInTenCopiesAtOnceIsOnePayment(t *testing.T) {
	t.Parallel()
	everyCheckout(t, aMessageInTenCopiesAtOnceIsOnePayment)
}

func aMessageInTenCopiesAtOnceIsOnePayment(c *checkout) {
	t := c.t
	sale := c.saleWith(1, nil)
	order := c.placed(sale, "alice")
	e := event(order)
	var all sync.WaitGroup
	for i := range 10 {
		secret := []string{bankSecret, bankNextSecret}[i%2]
		all.Go(func() {
			if answer, err := c.tell(e, secret, time.Now()); err != nil || answer.Status != http.StatusOK || answer.Text("status") != "paid" {
				t.Errorf("got %d %s %v, want paid", answer.Status, answer.Raw, err)
			}
		})
	}
	all.Wait()
	c.wants(order, "paid", false)
	observer := c.rig.Node(t, NodeOptions{APIOnly: true})
	if n := countOf(t, observer, "order.paid", order); n != 1 {
		t.Errorf("paid %d times, want once", n)
	}
	StandingChecks(t, observer, sale, c.accepted)
}

func TestAFailedPaymentGivesTheUnitToTheNextBuyer(t *testing.T) {
	t.Parallel()
	everyCheckout(t, aFailedPaymentGivesTheUnitToTheNextBuyer)
}

func aFailedPaymentGivesTheUnitToTheNextBuyer(c *checkout) {
	t := c.t
	sale := c.saleWith(1, nil)
	order := c.placed(sale, "alice")
	failed := event(order)
	failed.Type = payments.Failed
	for range 2 {
		if answer := c.heard(failed); answer.Text("status") != "cancelled" {
			t.Errorf("got %s, want cancelled", answer.Raw)
		}
	}
	next := c.placed(sale, "bob")
	c.heard(event(next))
	c.wants(next, "paid", false)
	c.check(sale)
}

// TestB09TheNextBuyerWinsAfterACancellation over HTTP: the shortage ends with it.
func TestB09TheNextBuyerWinsAfterACancellation(t *testing.T) {
	t.Parallel()
	everyCheckout(t, b09TheNextBuyerWinsAfterACancellation)
}

func b09TheNextBuyerWinsAfterACancellation(c *checkout) {
	t := c.t
	sale := c.saleWith(1, nil)
	order := c.placed(sale, "alice")
	if refused := purchase(t, c.Client, sale, "bob", oneItem, http.StatusConflict); refused.Text("code") != "sold_out" {
		t.Errorf("bob: %s, want sold_out", refused.Raw)
	}
	if answer := c.cancel("mallory", order); answer.Status != http.StatusNotFound || answer.Text("code") != "order_not_found" {
		t.Errorf("somebody else cancels: %d %s, want 404", answer.Status, answer.Raw)
	}
	c.wants(order, "placed", false)
	first, again := c.cancel("alice", order), c.cancel("alice", order)
	if first.Status != 200 || first.Text("status") != "cancelled" || again.Status != 200 || again.Raw != first.Raw {
		t.Errorf("cancelled: %d %s, then %d %s; want the same twice", first.Status, first.Raw, again.Status, again.Raw)
	}
	if told := c.wants(order, "cancelled", false); told.Raw != first.Raw {
		t.Errorf("told %s, then read %s", first.Raw, told.Raw)
	}
	c.placed(sale, "bob")
	if answer, err := c.Call(http.MethodPost, "/api/v1/orders/"+order+"/payment", "alice", "", nil); err != nil || answer.Status != http.StatusConflict || answer.Text("code") != "wrong_state" {
		t.Errorf("where to pay what is cancelled: %d %s %v, want 409", answer.Status, answer.Raw, err)
	}
	c.check(sale)
}

// TestB32B34AnExpiredOrderIsNeitherPaidNorCancelled over HTTP: the money is due
// back, nobody else's unit is touched, and whoever cancels is told how it stands.
func TestB32B34AnExpiredOrderIsNeitherPaidNorCancelled(t *testing.T) {
	t.Parallel()
	everyCheckout(t, b32B34AnExpiredOrderIsNeitherPaidNorCancelled)
}

func b32B34AnExpiredOrderIsNeitherPaidNorCancelled(c *checkout) {
	t := c.t
	sale := c.saleWith(1, map[string]any{"payment_window": 1})
	order := c.placed(sale, "alice")
	testenv.Eventually(t, 60*time.Second, func() error {
		told, err := c.Order("alice", order, "?wait=5s&after=1")
		if err == nil && told.Text("status") != "expired" {
			err = errStatus(told)
		}
		return err
	})
	answer := c.cancel("alice", order)
	shown, _ := answer.Body["order"].(map[string]any)
	if answer.Status != http.StatusConflict || answer.Text("code") != "wrong_state" || shown["status"] != "expired" || !strings.Contains(answer.Text("detail"), "expired") {
		t.Errorf("cancel what expired: %d %s, want 409 that says so", answer.Status, answer.Raw)
	}
	next := c.placedOnceFree(sale, "bob") // the log has expired it; then the gate hears of it
	if late := c.heard(event(order)); late.Text("status") != "expired" || late.Body["refund_due"] != true {
		t.Errorf("a late payment: %s, want it due back", late.Raw)
	}
	c.wants(order, "expired", true)
	// The unit is bob's until he pays or his own time is over too.
	f := readFold(t, c.rig.reader(t))
	if o := f.orders[next]; o.Status == domain.OrderStatusRejected || f.placed(sale) > 1 {
		t.Errorf("the unit has %d owners, and bob's order is %s", f.placed(sale), o.Status)
	}
	c.check(sale)
}

func TestOperatorsEndAndPayOrdersOverHTTPAndFromTheCommandLine(t *testing.T) {
	t.Parallel()
	c := openCheckout(t)
	sale := c.CreateSale(t, 4)
	settings := append(withBank(t, c.rig), "SECKILL_HTTP_ADDR="+strings.TrimPrefix(c.child.URL, "http://"))
	command := func(code int, args ...string) map[string]any {
		t.Helper()
		done := Run(t, settings, append([]string{"order"}, args...)...)
		var order map[string]any
		if done.Code != code || (code == 0 && json.Unmarshal([]byte(done.Stdout), &order) != nil) {
			t.Fatalf("order %v: exit %d\n%s%s", args, done.Code, done.Stdout, done.Stderr)
		}
		return order
	}
	paid, off := c.placed(sale, "alice"), c.placed(sale, "bob")
	if order := command(0, "pay", paid, "--payment-id", "transfer-7", "--note", "by bank transfer", "--json"); order["status"] != "paid" || order["buyer_id"] != "alice" {
		t.Errorf("got %v, want alice's order paid", order)
	}
	command(1, "cancel", paid)
	if order := command(0, "cancel", paid, "--force", "--json"); order["status"] != "cancelled" || order["refund_due"] != true {
		t.Errorf("got %v, want it cancelled and the money due back", order)
	}
	answer, err := c.Call(http.MethodPost, "/api/v1/admin/orders/"+off+"/cancellation", "operator", "admin", map[string]any{"restock": false, "note": "broken"})
	if err != nil || answer.Status != 200 || answer.Text("status") != "cancelled" {
		t.Fatalf("write off: %d %s %v", answer.Status, answer.Raw, err)
	}
	if order := command(0, "show", off, "--json"); order["status"] != "cancelled" || order["buyer_id"] != "bob" {
		t.Errorf("got %v, want bob's order cancelled", order)
	}
	command(1, "show", strings.Repeat("0", domain.OrderIDLength))
	// One came back and one was written off: three are left.
	observer := c.rig.Node(t, NodeOptions{APIOnly: true})
	observer.WantLeft(t, sale, 3)
	c.check(sale)
}
