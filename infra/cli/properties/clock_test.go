package properties

import (
	"context"
	"fmt"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/cli/e2e"
	"seckill/infra/testenv"
)

// later is the log with its clock ahead.
type later struct {
	commands.OrdersLog
	by time.Duration
}

// Submit decides by the later clock.
func (l later) Submit(ctx context.Context, w eventstore.Work) (eventstore.Receipt, error) {
	decide := w.Decide
	w.Decide = func(look eventstore.Look) (*eventstore.Group, error) { return decide(laterLook{look, l.by}) }
	return l.OrdersLog.Submit(ctx, w)
}

type laterLook struct {
	eventstore.Look
	by time.Duration
}

func (l laterLook) Now() time.Time { return l.Look.Now().Add(l.by) }

// due are orders that the read model says are due.
type due []string

func (d due) Due(context.Context, commands.Due, int) ([]commands.Due, error) {
	page := make([]commands.Due, len(d))
	for i, order := range d {
		page[i] = commands.Due{Order: order}
	}
	return page, nil
}

func (due) SetAside(context.Context, string, int) ([]string, error) { return nil, nil }

// expire lets a process sweep orders with the log's clock ahead.
func (r *run) expire(n *e2e.Node, by time.Duration, orders ...string) (int, error) {
	o := *n.Orders
	o.Log = later{n.Store, by}
	s, err := commands.NewExpirer(n.Env, &o, due(orders), commands.ExpirerOptions{}).Sweep(r.ctx)
	if err == nil && s.Failed > 0 {
		err = fmt.Errorf("%d of %d orders could not be ended", s.Failed, len(orders))
	}
	return s.Expired, err
}

// hour-passes: the time to pay of some orders is over, and a sweep looks at them.
func (r *run) hourPasses(s step) {
	var orders []string
	var end []*order
	for i, o := range r.m.orders {
		if (i+s.A)%3 == 0 || s.B%4 == 0 {
			orders = append(orders, o.id)
			if o.status == domain.OrderStatusPlaced {
				end = append(end, o)
			}
		}
		if o.status == domain.OrderStatusQueued {
			return // whether it is placed, and so due, nobody can say
		}
	}
	r.sweepWith(r.api(s.C), window+time.Minute, orders, end)
}

// sweep: a sweep looks at every order before the time of any is over.
func (r *run) sweep(s step) {
	var orders []string
	for _, o := range r.m.orders {
		orders = append(orders, o.id)
	}
	r.sweepWith(r.api(s.C), 0, orders, nil)
}

func (r *run) sweepWith(p *process, by time.Duration, orders []string, end []*order) {
	var count int
	failed := false
	testenv.Eventually(r.tb, awaits(), func() error {
		n, err := r.expire(p.node, by, orders...)
		count += n
		if err != nil && r.m.shaken {
			failed = true // the outcome of one that failed may be seen by the next
			return err
		}
		if err != nil {
			r.wrong("sweep %v: %v", orders, err)
		}
		return nil
	})
	if count != len(end) && !failed {
		r.wrong("a sweep ended %d orders, want %d", count, len(end))
	}
	for _, o := range end {
		o.become(domain.OrderStatusExpired)
		r.did("order expired")
	}
}
