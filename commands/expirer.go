package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/domain"
)

// Due is an order that waits for its payment, and until when it may.
type Due struct {
	Order string
	PayBy time.Time
}

// DueOrders finds orders whose time to pay may be over. The log has the last
// word on each.
type DueOrders interface {
	// Due gives up to max orders whose time is over by the store's clock, as the
	// read model has them, in the order of PayBy and id, after a place.
	Due(ctx context.Context, after Due, max int) ([]Due, error)
	// SetAside gives up to max ids of orders that the read model does not follow,
	// in byte order, after an id. What is no order id of ours may be among them.
	SetAside(ctx context.Context, after string, max int) ([]string, error)
}

// ExpirerOptions tune an Expirer; zero values take the defaults.
type ExpirerOptions struct {
	// Every is the time between two sweeps (1 s).
	Every time.Duration
	// Page is how many due orders are read in one statement (512).
	Page int
	// AtOnce bounds how many orders are decided at the same time (128); the log
	// commits them together.
	AtOnce int
	// Swept is told of each sweep; may be nil.
	Swept func(ExpirySweep)
	// Alarm is called when orders begin to fail; may be nil.
	Alarm func(Alarm)
}

func (o ExpirerOptions) withDefaults() ExpirerOptions {
	o.Every = orDefault(o.Every, time.Second)
	if o.Page == 0 {
		o.Page = 512
	}
	if o.AtOnce == 0 {
		o.AtOnce = 128
	}
	if o.Swept == nil {
		o.Swept = func(ExpirySweep) {}
	}
	if o.Alarm == nil {
		o.Alarm = func(Alarm) {}
	}
	return o
}

// ExpirySweep is what one sweep did. Overdue is for how long the oldest order
// that it could not end has been due.
type ExpirySweep struct {
	Expired int
	Failed  int
	Overdue time.Duration
}

// Expirer ends orders that nobody paid in time, so that their units are on sale
// again. It is driven by what is stored alone: whoever runs it next goes on where
// the last one was killed. Several at once are harmless, one is enough. An order
// that cannot be ended is tried again, ever more rarely, and stops no other.
type Expirer struct {
	env    *Env
	orders *Orders
	due    DueOrders
	opts   ExpirerOptions

	resting map[string]rest
	aside   string // where the walk over orders that are set aside goes on
	failing bool
}

// rest says until when an order is not looked at again.
type rest struct {
	until time.Time
	wait  time.Duration // after the last failure
}

// NewExpirer makes an Expirer; Run drives it.
func NewExpirer(env *Env, orders *Orders, due DueOrders, opts ExpirerOptions) *Expirer {
	return &Expirer{env: env, orders: orders, due: due, opts: opts.withDefaults(), resting: map[string]rest{}}
}

// Run sweeps until ctx ends.
func (e *Expirer) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		began := e.env.Now()
		if _, err := e.Sweep(ctx); err != nil && ctx.Err() == nil {
			e.env.Log.Warn("due orders not swept; tried again", "error", err)
		}
		pause(ctx, e.opts.Every-e.env.Now().Sub(began))
	}
	return nil
}

// Sweep ends every order that is due now. It is not safe for concurrent use.
func (e *Expirer) Sweep(ctx context.Context) (ExpirySweep, error) {
	var s sweep
	e.wake()
	err := errors.Join(e.sweepDue(ctx, &s), e.sweepAside(ctx, &s))
	if ctx.Err() != nil {
		return s.ExpirySweep, err
	}
	if s.Failed > 0 && !e.failing {
		e.opts.Alarm(Alarm{Kind: AlarmExpiry, Lane: -1, Detail: fmt.Sprintf("%d due orders could not be ended, such as %s: %v", s.Failed, s.example, s.cause)})
	}
	e.failing = s.Failed > 0
	e.opts.Swept(s.ExpirySweep)
	return s.ExpirySweep, err
}

func (e *Expirer) sweepDue(ctx context.Context, s *sweep) error {
	var after Due
	for ctx.Err() == nil {
		page, err := e.due.Due(ctx, after, e.opts.Page)
		if err != nil {
			return fmt.Errorf("find due orders: %w", err)
		}
		e.end(ctx, page, s)
		if len(page) < e.opts.Page {
			break
		}
		after = page[len(page)-1]
	}
	return nil
}

// sweepAside looks at a page of the orders that the read model does not follow;
// the next sweep looks at the next one. Only the log tells when they are due.
func (e *Expirer) sweepAside(ctx context.Context, s *sweep) error {
	ids, err := e.due.SetAside(ctx, e.aside, e.opts.Page)
	if err != nil {
		return fmt.Errorf("find orders that are set aside: %w", err)
	}
	e.aside = ""
	if len(ids) == e.opts.Page {
		e.aside = ids[len(ids)-1]
	}
	page := make([]Due, 0, len(ids))
	for _, id := range ids {
		if _, err := domain.ParseOrderID(id); err == nil {
			page = append(page, Due{Order: id})
		}
	}
	e.end(ctx, page, s)
	return nil
}

// wake forgets rests that are over, of orders that never came again too.
func (e *Expirer) wake() {
	now := e.env.Now()
	for order, r := range e.resting {
		if now.Sub(r.until) > time.Minute {
			delete(e.resting, order)
		}
	}
}
