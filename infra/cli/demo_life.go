package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/domain"
	"seckill/infra/config"
	"seckill/infra/payments"
)

// How many orders of a demo are paid, fail to be, and are given up, at most, and
// how many of that go on at once.
const (
	demoPaid, demoFailed, demoCancelled = 500, 100, 100
	demoHands                           = 48
	demoPrice, demoCurrency             = "1.00", "CNY"
)

// life is what became of some orders of a demo after they were won.
type life struct {
	paid, failed, cancelled int // asked for
	// returned is how many units the gate has again.
	returned int64
	findings int
	took     time.Duration
	open     string // an order that is still to be paid
}

// counter opens the listener at which a demo's orders are paid, and gives the
// settings in which it is a payment provider, with a secret of this demo.
func (c console) counter(ctx context.Context) (net.Listener, config.Settings, error) {
	listener, err := listen(ctx, "--http-addr", "127.0.0.1:0")
	if err != nil {
		return nil, c.settings, err
	}
	settings, err := withProviders(c.settings)
	if err != nil {
		return nil, settings, errors.Join(err, listener.Close())
	}
	secret, err := freshSecret()
	if err != nil {
		return nil, settings, errors.Join(err, listener.Close())
	}
	return listener, settings.WithPayment(simulatorName, "http://"+listener.Addr().String()+simulatorPage, secret), nil
}

// fate is what is to become of a demo's order.
type fate struct {
	order, token string
	do           func(ctx context.Context, f fate) error
}

// fates chooses what becomes of the orders that were won, the first ones of them. What
// was answered while nobody could tell, and came to nothing, is nobody's to pay.
func (s *stage) fates(bought map[int]string, tokens []string, r *result) []fate {
	l := &r.life
	maps.DeleteFunc(bought, func(_ int, order string) bool { return r.lost[order] })
	n := len(bought)
	l.paid, l.failed, l.cancelled = min(demoPaid, (n+1)/2), min(demoFailed, n/10), min(demoCancelled, n/10)
	all := make([]fate, 0, l.paid+l.failed+l.cancelled)
	for _, buyer := range slices.Sorted(maps.Keys(bought)) {
		f := fate{order: bought[buyer], token: tokens[buyer]}
		switch i := len(all); {
		case i == cap(all):
			l.open = f.order
			return all
		case i < l.paid:
			// One in twenty is told twice, as providers do.
			f.do = s.paying(payments.Charge{Repeat: 1 + i%20/19})
		case i < l.paid+l.failed:
			f.do = s.paying(payments.Charge{Fails: true})
		default:
			f.do = s.giveUp
		}
		all = append(all, f)
	}
	return all
}

// liveOn pays some orders, lets the payment of others fail and gives others up,
// waits until all of it is recorded and projected, and compares the books again.
func (s *stage) liveOn(ctx context.Context, crowd *sent, r *result) error {
	began := time.Now()
	work := make(chan fate)
	var mu sync.Mutex
	var first error
	var hands sync.WaitGroup
	for range demoHands {
		hands.Go(func() {
			for f := range work {
				err := f.do(ctx, f)
				mu.Lock()
				if first == nil {
					first = err
				}
				mu.Unlock()
			}
		})
	}
	for _, f := range s.fates(crowd.crowd.Orders(), crowd.tokens, r) {
		work <- f
	}
	close(work)
	hands.Wait()
	if first != nil {
		return fmt.Errorf("pay and cancel orders: %w", first)
	}
	err := s.settleLife(ctx, r)
	r.life.took = time.Since(began)
	return err
}

// openTill opens the page at which orders of this demo are paid, until it stops.
func (s *stage) openTill() error {
	ours := s.console.settings.Payments()
	var err error
	s.till, err = openTill(s.counter, ours[len(ours)-1].Secrets[0], webhookOf("http://"+s.address, simulatorName))
	return err
}

// paying tells how the payment of an order went, through the simulator.
func (s *stage) paying(c payments.Charge) func(context.Context, fate) error {
	c.Amount, c.Currency = demoPrice, demoCurrency
	return func(ctx context.Context, f fate) error {
		c := c
		c.OrderID = f.order
		_, err := s.till.Pay(ctx, c)
		return err
	}
}

// giveUp cancels an order over HTTP as its buyer.
func (s *stage) giveUp(ctx context.Context, f fate) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.address+"/api/v1/orders/"+f.order+"/cancellation", nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+f.token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }() // it was read as far as it is wanted
	raw, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("cancel order %s: status %d: %s", f.order, answer.StatusCode, raw)
	}
	return err
}

// settleLife waits for the views, counts, and reconciles.
func (s *stage) settleLife(ctx context.Context, r *result) error {
	waiting, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	head, err := s.app.sink.Head(waiting)
	if err != nil {
		return err
	}
	if err := s.app.progress.WaitFor(waiting, head.Number); err != nil {
		return fmt.Errorf("wait for the projections: %w", err)
	}
	report, err := s.app.reconciler.Reconcile(waiting, s.sale)
	if err != nil {
		return err
	}
	views, err := s.app.views.Snapshot(waiting, s.sale)
	if err != nil {
		return err
	}
	for _, o := range views.Orders {
		switch o.Status {
		case domain.OrderStatusPaid:
			r.Paid++
		case domain.OrderStatusCancelled:
			r.Cancelled++
		}
	}
	after := report.Sales[0]
	r.life.returned = after.Available - r.report.Available
	r.Returned = after.Returned - r.report.Returned
	r.life.findings = after.Drift
	r.Drift += after.Drift
	return nil
}

// brokenLife says which of what was asked for did not come about.
func (r *result) brokenLife(say func(bad bool, format string, args ...any)) {
	l := r.life
	gone := int64(l.failed + l.cancelled)
	say(r.Paid != int64(l.paid), "%d orders were paid, and %d are paid in the view", l.paid, r.Paid)
	say(r.Cancelled != gone, "%d orders were cancelled or failed to be paid, and %d are cancelled in the view", gone, r.Cancelled)
	say(l.returned != gone || r.Returned != gone, "%d units came back: %d did in the log, and %d in the gate", gone, r.Returned, l.returned)
}

// lifeTable tells it to a person.
func (r *result) lifeTable() table.Writer {
	t := newTable("paid", "payment failed", "cancelled", "back in the gate", "drift")
	t.SetTitle(fmt.Sprintf("Some of the winners, afterwards · %s", short(r.life.took)))
	numbers(t, 1, 2, 3, 4)
	t.AppendRow(table.Row{grouped(int64(r.life.paid)), grouped(int64(r.life.failed)), grouped(int64(r.life.cancelled)), grouped(r.life.returned), verdict(int64(r.life.findings))})
	return t
}
