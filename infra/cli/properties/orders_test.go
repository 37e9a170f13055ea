package properties

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/cli/e2e"
	"seckill/infra/testenv"
)

// ending is what an action makes of an order.
type ending struct {
	status domain.OrderStatus
	refund bool // money is due back
	wrong  bool // its state does not allow the action
}

// cancelled is what its buyer's cancellation makes of an order.
func cancelled(o *order) ending {
	if o.status == domain.OrderStatusQueued || o.status == domain.OrderStatusPlaced || o.status == domain.OrderStatusCancelled {
		return ending{status: domain.OrderStatusCancelled, refund: o.refund}
	}
	return ending{status: o.status, refund: o.refund, wrong: true}
}

// paid is what a payment makes of an order that did not know it.
func paid(o *order) ending {
	if o.status == domain.OrderStatusQueued || o.status == domain.OrderStatusPlaced {
		return ending{status: domain.OrderStatusPaid, refund: o.refund}
	}
	return ending{status: o.status, refund: true}
}

// unpaid is what a payment that failed makes of an order.
func unpaid(o *order) ending {
	if o.status == domain.OrderStatusQueued || o.status == domain.OrderStatusPlaced {
		return ending{status: domain.OrderStatusCancelled, refund: o.refund}
	}
	return ending{status: o.status, refund: o.refund}
}

// answered is what a process says of an action on an order.
type answered struct {
	order commands.OrderAnswer
	err   error
}

// act is an action on an order at a process.
type act func(n *e2e.Node) answered

func (r *run) cancelling(o *order) act {
	return func(n *e2e.Node) answered {
		got, err := n.Orders.Cancel(r.ctx, o.buyer, o.id, "")
		return answered{got, err}
	}
}

// settling is what the bank says of a payment of an order.
func (r *run) settling(o *order, p commands.Payment) act {
	p.Provider, p.Order = "bank", o.id
	p.Amount = domain.Money{Minor: price * o.units(), Currency: "CNY"}
	return func(n *e2e.Node) answered {
		got, err := n.Orders.Settle(r.ctx, p, commands.Actor{By: "bank"})
		return answered{got, err}
	}
}

// payment makes a payment that the bank never told of.
func (r *run) payment(failed bool) commands.Payment {
	id := r.m.sale + r.newKey() // the bank's ids are of all sales
	return commands.Payment{EventID: "event-" + id, PaymentID: "payment-" + id, Failed: failed}
}

// cancel: a buyer takes an order back.
func (r *run) cancel(s step) {
	if o := r.one(s.A, whichever); o != nil {
		r.change(r.api(s.C), o, cancelled, r.cancelling(o))
	}
}

// pay: the bank says that an order was paid.
func (r *run) pay(s step) {
	if o := r.one(s.A, whichever); o != nil {
		r.change(r.api(s.C), o, paid, r.settling(o, r.payment(false)))
	}
}

// pay-fails: the bank says that the payment of an order failed.
func (r *run) payFails(s step) {
	if o := r.one(s.A, whichever); o != nil {
		r.change(r.api(s.C), o, unpaid, r.settling(o, r.payment(true)))
	}
}

// pay-twice: the bank says the same twice, at both processes, and once more.
func (r *run) payTwice(s step) {
	o := r.one(s.A, whichever)
	if o == nil {
		return
	}
	becomes := paid
	if s.B%3 == 0 {
		becomes = unpaid
	}
	tell := r.settling(o, r.payment(s.B%3 == 0))
	first, second := r.api(0), r.api(1)
	if !r.change(first, o, becomes, tell) {
		return
	}
	same := func(o *order) ending { return ending{status: o.status, refund: o.refund} }
	var all sync.WaitGroup
	var answers [2]answered
	for i, p := range []*process{first, second} {
		all.Go(func() { answers[i], _ = ask(p, tell) })
	}
	all.Wait()
	for i, got := range answers {
		if !r.m.shaken || got.err == nil {
			r.became(o, same(o), answers[i])
		}
	}
}

// change does something to an order until there is an answer that is final, and
// compares it; false where there can be none for want of a record.
func (r *run) change(p *process, o *order, becomes func(*order) ending, do act) bool {
	final, was := false, o.status
	testenv.Eventually(r.tb, awaits(), func() error {
		got, ok := ask(p, do)
		switch {
		case !ok:
			r.t.Fatalf("step %q: a process died that nobody killed", r.now)
		case isProblem(got.err, domain.CodeInProgress):
			if o.recorded {
				r.wrong("order %s was decided, and is told to be in progress", o.id)
				return nil
			}
			if r.recorder.alive() && !r.m.forgettable(o) {
				return fmt.Errorf("order %s is in progress", o.id)
			}
			return nil // until somebody records
		case isProblem(got.err, domain.CodeOrderNotFound) && r.m.forgettable(o):
			return nil
		case got.err != nil && !isWrongState(got.err) && r.m.shaken:
			return got.err
		}
		final = true
		r.became(o, becomes(o), got)
		return nil
	})
	if o.status != was {
		r.did("order " + string(o.status))
	}
	return final
}

func isWrongState(err error) bool {
	var wrong *commands.WrongStateError
	return errors.As(err, &wrong)
}

// became compares what an action made of an order, and takes it over.
func (r *run) became(o *order, want ending, got answered) {
	is := got.order
	var wrong *commands.WrongStateError
	if errors.As(got.err, &wrong) {
		is = wrong.Order
		if !want.wrong && is.Status != domain.OrderStatusRejected {
			r.wrong("order %s is %s and does not allow it; want that it becomes %s", o.id, is.Status, want.status)
		}
	}
	switch {
	case is.Status == domain.OrderStatusRejected && r.m.forgettable(o):
		o.become(domain.OrderStatusRejected)
		o.refund = is.RefundDue
	case got.err != nil && wrong == nil:
		r.wrong("order %s: got %v, want that it becomes %s", o.id, got.err, want.status)
	case want.wrong && got.err == nil:
		r.wrong("order %s became %s; want that its state does not allow it", o.id, is.Status)
	case is.Status != want.status || is.RefundDue != want.refund:
		r.wrong("order %s is %s, money due back %t; want %s, %t", o.id, is.Status, is.RefundDue, want.status, want.refund)
	default:
		if o.status == domain.OrderStatusQueued {
			o.become(domain.OrderStatusPlaced) // before it became anything else
		}
		o.become(want.status)
		o.refund = want.refund
	}
}

// race: cancellation, payment, failed payment and end of time, all of one order at
// once. Whichever comes first is what happened.
func (r *run) race(s step) {
	o := r.one(s.A, func(o *order) bool { return o.status == domain.OrderStatusPlaced })
	if o == nil || r.m.shaken {
		return
	}
	acts := []act{r.cancelling(o), r.settling(o, r.payment(false)), r.settling(o, r.payment(true)),
		func(n *e2e.Node) answered { _, err := r.expire(n, window+time.Minute, o.id); return answered{err: err} }}
	r.api(0)
	r.api(1)
	var all sync.WaitGroup
	answers := make([]answered, len(acts))
	for i, do := range acts {
		all.Go(func() { answers[i], _ = ask(r.apis[(i+s.B)%2], do) })
	}
	all.Wait()
	for i, got := range answers {
		if got.err != nil && !isWrongState(got.err) {
			r.wrong("action %d of a race for order %s: %v", i, o.id, got.err)
		}
	}
	is := e2e.ReadBooks(r.tb, r.observer.Store, r.m.sale).Orders[o.id]
	ended := is.Status == domain.OrderStatusCancelled || is.Status == domain.OrderStatusExpired
	if !ended && is.Status != domain.OrderStatusPaid || ended != is.RefundDue {
		r.wrong("after the race order %s is %s, money due back %t; want it paid, or ended and the money due back", o.id, is.Status, is.RefundDue)
	}
	o.become(is.Status)
	o.refund = is.RefundDue
}
