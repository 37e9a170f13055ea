package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/payments"
	"seckill/infra/testenv"
)

func TestAWebhookWhileTheLogIsAwayIsHeardLater(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t)
	rig := rigOn(t, server.URL, testenv.PrivateRedis(t, testenv.RedisOptions{}))
	child := Serve(t, ChildOptions{Env: withBank(t, rig)})
	c := &checkout{Client: NewClient(child.URL), t: t, rig: rig, child: child, accepted: map[string]string{}, in: domain.StrategyRedisAsync}
	sale := c.CreateSale(t, 5)
	order := c.placed(sale, "alice")
	server.Kill()
	queued := purchase(t, c.Client, sale, "bob", oneItem, http.StatusAccepted).Text("order_id")
	c.accepted[queued] = "bob"
	away := func(what string, answer Answer, err error) {
		t.Helper()
		if err != nil || answer.Status != http.StatusServiceUnavailable || answer.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %d %s %v, want 503 with Retry-After", what, answer.Status, answer.Raw, err)
		}
	}
	e, early := event(order), event(queued)
	for name, e := range map[string]payments.Event{"a placed order": e, "a queued order": early} {
		answer, err := c.tell(e, bankSecret, time.Now())
		away(name, answer, err)
	}
	away("cancel", c.cancel("alice", order), nil)
	server.Start()
	child.AwaitReady()
	thaw := server.Freeze() // it hangs, and is no better
	answer, err := c.tell(e, bankSecret, time.Now())
	away("a log that hangs", answer, err)
	away("cancel", c.cancel("alice", order), nil)
	thaw()
	child.AwaitReady()
	sim, err := payments.NewSimulator(payments.SimulatorOptions{Secret: []byte(bankSecret), Webhook: child.URL + "/webhooks/payments/bank"})
	if err != nil {
		t.Fatal(err)
	}
	defer sim.Close()
	for _, e := range []payments.Event{e, early} {
		if _, err := sim.Pay(t.Context(), payments.Charge{OrderID: e.OrderID, Amount: e.Amount, Currency: e.Currency, EventID: e.ID, PaymentID: e.PaymentID}); err != nil {
			t.Errorf("tell it again: %v", err)
		}
		c.awaitReads(e.OrderID)
		c.wants(e.OrderID, "paid", false)
	}
	c.check(sale)
}

// TestUnitsOfAFailedPaymentAreSoldWhenTheGateIsBack: what the log says is answered
// while the gate is away, and the gate learns it.
func TestUnitsOfAFailedPaymentAreSoldWhenTheGateIsBack(t *testing.T) {
	t.Parallel()
	c := openCheckout(t)
	sale := c.CreateSale(t, 2)
	failing, given := c.placed(sale, "alice"), c.placed(sale, "bob")
	c.rig.Redis.Kill()
	failed := event(failing)
	failed.Type = payments.Failed
	if answer := c.heard(failed); answer.Text("status") != "cancelled" {
		t.Errorf("a failed payment: %s, want cancelled", answer.Raw)
	}
	if answer := c.cancel("bob", given); answer.Status != http.StatusOK || answer.Text("status") != "cancelled" {
		t.Errorf("cancel: %d %s, want it done", answer.Status, answer.Raw)
	}
	c.wants(failing, "cancelled", false)
	c.rig.Redis.Restart()
	for _, buyer := range []string{"carol", "dave"} {
		testenv.Eventually(t, 60*time.Second, func() error {
			answer, err := c.Buy(sale, buyer, "k-"+buyer)
			if err == nil && answer.Status != http.StatusAccepted && answer.Status != http.StatusOK {
				return errStatus(answer)
			}
			c.accepted[answer.Text("order_id")] = buyer
			return err
		})
	}
	c.check(sale)
}

// TestB16KilledWhileAPaymentIsRecorded kills the process before and after the
// commit; the provider, who got no answer, tells it again.
func TestB16KilledWhileAPaymentIsRecorded(t *testing.T) {
	for _, point := range []string{"orders.before-commit", "append.before-commit", "append.after-commit", "orders.after-commit", "orders.after-push"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			rig := NewRig(t)
			child := NewChild(t, ChildOptions{Env: withBank(t, rig)})
			child.Start()
			child.AwaitReady()
			c := &checkout{Client: NewClient(child.URL), t: t, rig: rig, child: child, accepted: map[string]string{}, in: domain.StrategyRedisAsync}
			sale := c.CreateSale(t, 2)
			paid, failed := c.placed(sale, "alice"), c.placed(sale, "bob")
			for _, e := range []payments.Event{event(paid), {
				ID: "evt-f", Type: payments.Failed, OrderID: failed, PaymentID: "pay-f", Amount: "19.90", Currency: "CNY",
			}} {
				child.Restart("SECKILL_CRASH_AT=" + point)
				if answer, err := c.tell(e, bankSecret, time.Now()); err == nil {
					t.Errorf("answered with %d %s: the point was not met", answer.Status, answer.Raw)
				}
				child.AwaitEnd(30 * time.Second)
				child.Start()
				child.AwaitReady()
				c.heard(e)
			}
			c.comesTo(paid, "paid", false)
			c.comesTo(failed, "cancelled", false)
			observer := rig.Node(t, NodeOptions{APIOnly: true})
			for kind, want := range map[string]int{"order.paid": 1, "order.refund_due": 0, "order.cancelled": 1, "stock.returned": 1} {
				if n := countOf(t, observer, kind, ""); n != want {
					t.Errorf("%d events %s, want %d", n, kind, want)
				}
			}
			c.placed(sale, "carol")
			StandingChecks(t, observer, sale, c.accepted)
		})
	}
}

// TestTheSimulatorPaysAServedInstallation: the default of private stores.
func TestTheSimulatorPaysAServedInstallation(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	child := Serve(t, ChildOptions{Env: []string{"SECKILL_DATA_DIR=" + dir, "SECKILL_JWT_SECRET=" + TestSecret}})
	c := &checkout{Client: NewClient(child.URL), t: t, child: child, accepted: map[string]string{}, in: domain.StrategyRedisAsync}
	sale := c.CreateSale(t, 2)
	order := c.placed(sale, "alice")
	where, err := c.Call(http.MethodPost, "/api/v1/orders/"+order+"/payment", "alice", "", nil)
	if err != nil || !strings.Contains(where.Raw, `"name":"simulator"`) || !strings.Contains(where.Raw, fmt.Sprintf("/pay?order=%s", order)) {
		t.Fatalf("where to pay: %s %v", where.Raw, err)
	}
	url := serveSimulator(t, child.URL, dir)
	answer, err := http.Post(url+"/pay", "application/x-www-form-urlencoded", strings.NewReader("order="+order+"&amount=19.90&currency=CNY&repeat=3"))
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("pay at the simulator: %v %v", answer, err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Error(err)
	}
	c.wants(order, "paid", false)
}
