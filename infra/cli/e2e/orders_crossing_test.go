package e2e

import (
	"sync/atomic"
	"testing"

	"seckill/domain"
)

// crossing stops the first that is about to change an order, until it is let go.
type crossing struct {
	armed    atomic.Bool
	there    chan struct{}
	released chan struct{}
}

func newCrossing() *crossing {
	return &crossing{there: make(chan struct{}), released: make(chan struct{})}
}

func (c *crossing) step(point string) {
	if point == "orders.before-commit" && c.armed.CompareAndSwap(true, false) {
		close(c.there)
		<-c.released
	}
}

// cross begins one thing, does another when the first has read the order and decided,
// and then lets the first go on.
func (c *crossing) cross(first, second func()) {
	c.armed.Store(true)
	done := make(chan struct{})
	go func() {
		defer close(done)
		first()
	}()
	<-c.there
	second()
	close(c.released)
	<-done
}

func TestB32WhoeverIsRecordedFirstDecidesBetweenPaymentAndExpiry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		paysFirst bool
		want      domain.OrderStatus
		back      int
		refund    bool
		left      int64
	}{
		"paid while the expiry was deciding": {true, domain.OrderStatusPaid, 0, false, 1},
		"expired while the payment was":      {false, domain.OrderStatusExpired, 1, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			cross := newCrossing()
			n := NewRig(t).Node(t, NodeOptions{Step: cross.step})
			terms := Terms(2)
			terms.PaymentWindow = 1
			sale := n.Schedule(t, terms)
			order := n.Placed(t, sale, "u", 1)
			n.AwaitDue(t, order)
			ended := 0
			expire := func() { ended = n.Expire(t, order) }
			pay := func() {
				if answer, err := n.Pay(order, "p", 1); err != nil || answer.Status != c.want || answer.RefundDue != c.refund {
					t.Errorf("pay: got %s, refund due %t, %v; want %s, %t", answer.Status, answer.RefundDue, err, c.want, c.refund)
				}
			}
			if c.paysFirst {
				cross.cross(expire, pay)
			} else {
				cross.cross(pay, expire)
			}
			paid, refunds := countOf(t, n, "order.paid", order), countOf(t, n, "order.refund_due", order)
			if back := countOf(t, n, "stock.returned", order); back != c.back || ended != c.back || paid != 1-c.back || refunds != c.back {
				t.Errorf("its unit came back %d times, %d expired, %d paid, %d refunds; want %d, %d, %d and %d", back, ended, paid, refunds, c.back, c.back, 1-c.back, c.back)
			}
			if o := readFold(t, n.Store).orders[order]; o.Status != c.want || o.RefundDue != c.refund {
				t.Errorf("the order is %s, refund due %t; want %s, %t", o.Status, o.RefundDue, c.want, c.refund)
			}
			n.wantLeftNow(t, sale, c.left)
			StandingChecks(t, n, sale, map[string]string{order: "u"})
		})
	}
}

func TestB32AnExpiryThatComesTooEarlyLeavesTheOrderToItsPayment(t *testing.T) {
	t.Parallel()
	n, sale := opened(t, 1, func(terms *domain.SaleTerms) { terms.PaymentWindow = 600 })
	order := n.Placed(t, sale, "u", 1)
	if ended := n.Expire(t, order); ended != 0 {
		t.Fatalf("%d orders expired before their time, want none", ended)
	}
	if answer, err := n.Pay(order, "p", 1); err != nil || answer.Status != domain.OrderStatusPaid || answer.RefundDue {
		t.Fatalf("pay: got %s, refund due %t, %v; want paid", answer.Status, answer.RefundDue, err)
	}
	n.wantLeftNow(t, sale, 0)
	StandingChecks(t, n, sale, map[string]string{order: "u"})
}
