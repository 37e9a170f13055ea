package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"seckill/api/client"
	"seckill/infra/testenv"
)

// lossy is an installation behind a network that loses answers after their effect.
type lossy struct {
	t        *testing.T
	rig      *Rig
	proxy    *testenv.FaultProxy
	sale     string
	promised map[string]string
}

func openLossy(t *testing.T) *lossy {
	t.Helper()
	t.Parallel()
	l := &lossy{t: t, rig: NewRig(t), promised: map[string]string{}}
	child := ServeRig(t, l.rig)
	// A second purchase under another key would be a second order.
	l.sale = (&funnel{t, NewClient(child.URL)}).sale(100, map[string]any{"orders_per_buyer": 9, "limit_per_buyer": 9})
	l.proxy = testenv.Proxy(t, child.URL)
	return l
}

// buys makes a client of a buyer; its first connection to the proxy is yet to come.
func (l *lossy) buys(buyer string, opts client.Options) (*client.Client, *spy) {
	return behaving(l.t, l.proxy.URL(), buyer, opts)
}

// asksAgain buys under the key of a purchase of which it is not known what became, and
// must meet its order.
func (l *lossy) asksAgain(buyer string, err error) client.Bought {
	l.t.Helper()
	var unknown *client.UnknownError
	if !errors.As(err, &unknown) {
		l.t.Fatalf("%s: got %v, want that it is not known", buyer, err)
	}
	c, _ := l.buys(buyer, client.Options{})
	again, err := c.Purchase(patience(l.t), l.sale, client.Purchase{Lines: oneUnit.Lines, Key: unknown.Key})
	if err != nil || !again.Repeat {
		l.t.Fatalf("%s asks again: got %+v, %v; want the order of before", buyer, again, err)
	}
	order, err := c.AwaitOrder(patience(l.t), again.OrderID)
	if err != nil || order.TraceID != unknown.TraceID {
		l.t.Errorf("%s: got %+v, %v; want an order of trace %s", buyer, order, err, unknown.TraceID)
	}
	l.promised[again.OrderID] = buyer
	return again
}

// check looks whether there is one order for each that was promised, and no other.
func (l *lossy) check() {
	l.t.Helper()
	node := l.rig.Node(l.t, NodeOptions{APIOnly: true})
	StandingChecks(l.t, node, l.sale, l.promised)
	if n := readFold(l.t, node.Store).placed(l.sale); n != len(l.promised) {
		l.t.Errorf("%d orders are placed, want %d", n, len(l.promised))
	}
}

// The second try meets the order of the first, whose answer vanished.
func TestALostAnswerEndsAsOneOrder(t *testing.T) {
	l := openLossy(t)
	c, _ := l.buys("buyer", client.Options{TryTimeout: 2 * time.Second})
	l.proxy.DropReplies(1)
	bought, err := c.Purchase(patience(t), l.sale, oneUnit)
	if err != nil || bought.Tries < 2 || !bought.Repeat || l.proxy.Dropped() != 1 {
		t.Fatalf("got %+v, %v with %d answers lost; want the order of the first try", bought, err, l.proxy.Dropped())
	}
	l.promised[bought.OrderID] = "buyer"
	l.check()
}

func TestAPurchaseOfWhichNothingIsHeardIsNotKnownUntilItsKeyIsAskedWith(t *testing.T) {
	l := openLossy(t)
	c, _ := l.buys("buyer", client.Options{TryTimeout: time.Second, Tries: 2})
	l.proxy.DropReplies(1 << 20)
	_, err := c.Purchase(patience(t), l.sale, oneUnit)
	l.proxy.Heal()
	l.asksAgain("buyer", err)
	l.check()
}

func TestWhoHangsUpInTheMiddleOfAPurchaseFindsItUnderItsKey(t *testing.T) {
	l := openLossy(t)
	c, _ := l.buys("buyer", client.Options{TryTimeout: time.Minute})
	ctx, hangUp := context.WithCancel(patience(t))
	defer hangUp()
	l.proxy.DropReplies(1)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		defer hangUp()
		for l.proxy.Dropped() == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond) // until the server has answered
		}
	})
	_, err := c.Purchase(ctx, l.sale, oneUnit)
	hangUp()
	waiting.Wait()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the buyer hung up", err)
	}
	l.asksAgain("buyer", err)
	l.check()
}

// Only the list of own orders can tell: every answer to the purchase is lost.
func TestAnOrderOfWhichNoAnswerCameIsFoundInTheList(t *testing.T) {
	l := openLossy(t)
	n := 0
	testenv.Eventually(t, 90*time.Second, func() error { // a view may be late on a busy machine
		n++
		buyer := fmt.Sprintf("buyer-%d", n)
		c, s := l.buys(buyer, client.Options{TryTimeout: time.Second, Tries: 1})
		before := l.proxy.Dropped()
		l.proxy.DropReplyTo("POST ")
		bought, err := c.Purchase(patience(t), l.sale, oneUnit)
		if l.proxy.Dropped() != before+1 || s.all[0].status != 0 {
			t.Fatalf("%d answers were lost, want one", l.proxy.Dropped()-before)
		}
		if err != nil {
			l.asksAgain(buyer, err)
			return err
		}
		l.promised[bought.OrderID] = buyer
		return nil
	})
	l.check()
}
