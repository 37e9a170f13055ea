package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/infra/payments"
	"seckill/infra/testenv"
)

// Secrets of the provider that tests pay at: the second is being brought in.
const (
	bankSecret     = "the secret of the bank in the tests alone"
	bankNextSecret = "the next secret of the bank in the tests"
)

// withBank are the settings of a rig at which orders are paid.
func withBank(t testing.TB, r *Rig) []string {
	return append(r.Settings(t), "SECKILL_PAYMENT_PROVIDERS=bank=https://bank.test/pay/{order}",
		"SECKILL_PAYMENT_SECRETS=bank="+bankSecret+",bank="+bankNextSecret)
}

// checkout is a served installation at which orders are bought and paid over HTTP.
type checkout struct {
	*Client
	t        *testing.T
	rig      *Rig
	child    *Child
	accepted map[string]string // buyers by order
	in       domain.Strategy   // of its sales
}

func openCheckout(t *testing.T, env ...string) *checkout {
	t.Helper()
	rig := NewRig(t)
	child := Serve(t, ChildOptions{Env: append(withBank(t, rig), env...)})
	return &checkout{Client: NewClient(child.URL), t: t, rig: rig, child: child, accepted: map[string]string{}, in: domain.StrategyRedisAsync}
}

// everyCheckout runs a case over every strategy of a sale, all at one checkout.
func everyCheckout(t *testing.T, test func(c *checkout)) {
	t.Helper()
	c := openCheckout(t, patient()...)
	everyStrategy(t, func(t *testing.T, in domain.Strategy) {
		one := *c
		one.t, one.in, one.accepted = t, in, map[string]string{}
		test(&one)
	})
}

// placed buys an item and waits until the order is placed.
func (c *checkout) placed(sale, buyer string) string {
	c.t.Helper()
	order := desk{c.Client, sale, c.in}.accepted(c.t, buyer, oneItem).Text("order_id")
	c.accepted[order] = buyer
	if told := await(c.t, c.Client, buyer, order); told.Text("status") != "placed" {
		c.t.Fatalf("the order of %s: %s, want placed", buyer, told.Raw)
	}
	return order
}

// placedOnceFree is placed for who keeps pressing while the gate has nothing left.
func (c *checkout) placedOnceFree(sale, buyer string) string {
	c.t.Helper()
	var order string
	testenv.Eventually(c.t, 60*time.Second, func() error {
		got, err := c.Call(http.MethodPost, "/api/v1/sales/"+sale+"/purchases", buyer, "", oneItem)
		if order = got.Text("order_id"); err == nil && order == "" {
			err = errStatus(got)
		}
		return err
	})
	c.accepted[order] = buyer
	if told := await(c.t, c.Client, buyer, order); told.Text("status") != "placed" {
		c.t.Fatalf("the order of %s: %s, want placed", buyer, told.Raw)
	}
	return order
}

// saleWith makes a sale with some fields changed.
func (c *checkout) saleWith(stock int, changes map[string]any) string {
	c.t.Helper()
	body := saleBody(stock)
	body["strategy"] = string(c.in)
	for name, value := range changes {
		body[name] = value
	}
	answer, err := c.Call(http.MethodPost, "/api/v1/admin/sales", "operator", "admin", body)
	if err != nil || answer.Status != http.StatusCreated {
		c.t.Fatalf("create a sale: %d %s %v", answer.Status, answer.Raw, err)
	}
	return answer.Text("id")
}

// event is a payment of the test item.
func event(order string) payments.Event {
	return payments.Event{
		ID: "evt-" + uuid.NewString(), Type: payments.Succeeded, OrderID: order, PaymentID: "pay-" + uuid.NewString(), Amount: "19.90", Currency: "CNY",
	}
}

// tell sends an event that a secret signed at a time.
func (c *Client) tell(e payments.Event, secret string, at time.Time) (Answer, error) {
	body, err := json.Marshal(e)
	if err != nil {
		return Answer{}, err
	}
	return c.Call(http.MethodPost, "/webhooks/payments/bank", "", "", string(body), payments.Header, payments.Sign([]byte(secret), at, body))
}

// heard tells an event and wants it heard.
func (c *checkout) heard(e payments.Event) Answer {
	c.t.Helper()
	answer, err := c.tell(e, bankSecret, time.Now())
	if err != nil || answer.Status != http.StatusOK {
		c.t.Fatalf("tell %+v: %d %s %v", e, answer.Status, answer.Raw, err)
	}
	return answer
}

// wants checks an order as its buyer reads it now.
func (c *checkout) wants(order, status string, refund bool) Answer {
	c.t.Helper()
	told, err := c.Order(c.accepted[order], order, "")
	if err != nil || told.Text("status") != status || told.Body["refund_due"] != refund {
		c.t.Errorf("order %s: %s %v, want %s with refund_due %t", order, told.Raw, err, status, refund)
	}
	return told
}

// comesTo waits until an order is told as such: a process that was started again does
// not know what one before it told, and its read model follows the log.
func (c *checkout) comesTo(order, status string, refund bool) {
	c.t.Helper()
	testenv.Eventually(c.t, 60*time.Second, func() error {
		told, err := c.Order(c.accepted[order], order, "")
		if err == nil && (told.Text("status") != status || told.Body["refund_due"] != refund) {
			err = fmt.Errorf("order %s: %s, want %s with refund_due %t", order, told.Raw, status, refund)
		}
		return err
	})
}

// awaitReads waits until a node reads orders again: a store that is just back is
// tried once before everybody asks it.
func (c *checkout) awaitReads(order string) {
	c.t.Helper()
	testenv.Eventually(c.t, 30*time.Second, func() error {
		told, err := c.Order(c.accepted[order], order, "")
		if err == nil && told.Status != http.StatusOK {
			err = errStatus(told)
		}
		return err
	})
}

// check ends a case with the standing checks.
func (c *checkout) check(sale string) {
	c.t.Helper()
	StandingChecks(c.t, c.rig.Node(c.t, NodeOptions{APIOnly: true}), sale, c.accepted)
}

func (c *checkout) cancel(buyer, order string) Answer {
	c.t.Helper()
	answer, err := c.Call(http.MethodPost, "/api/v1/orders/"+order+"/cancellation", buyer, "", nil)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer
}

// simulatorSays is how the simulator tells its address.
var simulatorSays = regexp.MustCompile(`Orders are paid at (http://[0-9.:]+)/pay`)

// serveSimulator runs `seckill simulator` for an installation and gives its
// address. It ends with the test.
func serveSimulator(t *testing.T, installation, dir string) (url string) {
	t.Helper()
	var log syncBuffer
	cmd := exec.Command(Binary(t), "simulator", "--listen", "127.0.0.1:0", "--url", installation, "--data", dir)
	cmd.Env, cmd.Stderr = cleanEnv(), &log
	if err := cmd.Start(); err != nil {
		t.Fatalf("start the simulator: %v", err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Errorf("stop the simulator: %v", err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("the simulator ended with %v:\n%s", err, log.tail(4000))
		}
	})
	testenv.Eventually(t, 20*time.Second, func() error {
		found := simulatorSays.FindStringSubmatch(log.tail(4000))
		if found == nil {
			return errStatus(Answer{Raw: log.tail(4000)})
		}
		url = found[1]
		return nil
	})
	return url
}
