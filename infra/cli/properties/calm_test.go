package properties

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/cli/e2e"
	"seckill/infra/testenv"
)

// quiet: everybody who died is started, and it is waited until nothing is under way
// any more. Then everything must be as the model says.
func (r *run) quiet(step) {
	r.recorder.dieAt("")
	r.start(step{})
	if r.m.shaken && r.m.lost > 0 && (r.m.paused || r.m.ended) {
		r.goOn() // what Redis forgot is kept back while its sale does not sell
	}
	if !r.gateless() {
		r.observer.AwaitOpen(r.tb, r.m.sale)
	}
	for i := range r.apis { // before anybody asks for an order, and learns that it is lost
		testenv.Eventually(r.tb, awaits(), func() error {
			if n := r.apis[i].node.Kept.Size(); n > 0 {
				return fmt.Errorf("a process still holds %d purchases", n)
			}
			return nil
		})
	}
	r.observer.AwaitDecided(r.tb, r.accepted())
	r.drained()
	r.connected()
	r.compare()
	r.m.shaken = false
}

// connected waits until every process that sells reaches both stores again, over
// all connections that it has.
func (r *run) connected() {
	if !r.m.shaken {
		return
	}
	places, items := r.places(), skus() // none without a gate
	for _, p := range r.apis {
		testenv.Eventually(r.tb, awaits(), func() error {
			var faults [poolSize]error
			var all sync.WaitGroup
			for i := range faults {
				all.Go(func() {
					_, faults[i] = p.node.Store.Head(r.ctx)
					if faults[i] == nil && len(places) > 0 {
						_, faults[i] = p.node.Gate.Peek(r.ctx, places[0], items[:])
					}
				})
			}
			all.Wait()
			return errors.Join(faults[:]...)
		})
	}
}

// poolSize is how many connections a process has at most.
const poolSize = 10

func (r *run) goOn() {
	if r.m.paused {
		r.pause(step{})
	}
	if r.m.ended {
		r.flip(step{})
	}
}

// accepted gives every order by its buyer.
func (r *run) accepted() map[string]string {
	all := map[string]string{}
	for _, o := range r.m.orders {
		all[o.id] = o.buyer
	}
	return all
}

func (r *run) places() []domain.Place {
	folded, err := r.observer.Sales.Fold(r.ctx, r.m.sale)
	if err != nil {
		r.t.Fatalf("read the sale: %v", err)
	}
	return commands.Places(r.observer.Env.Store, folded.Sale)
}

// drained waits until the log has what every journal of the sale holds.
func (r *run) drained() {
	if r.gateless() {
		return
	}
	for _, place := range r.places() {
		testenv.Eventually(r.tb, awaits(), func() error {
			lane, err := r.observer.Gate.Lane(r.ctx, place.Lane())
			if err != nil {
				return err
			}
			cursors, err := r.observer.Store.Cursors(r.ctx, []int{place.Lane()})
			if err != nil {
				return err
			}
			if c := cursors[0]; c.Epoch != lane.Epoch || c.N < lane.N {
				return fmt.Errorf("lane %d is recorded up to %d-%d and holds %d-%d", place.Lane(), c.Epoch, c.N, lane.Epoch, lane.N)
			}
			return nil
		})
	}
}

// compare compares the model with what the log says.
func (r *run) compare() {
	books := e2e.ReadBooks(r.tb, r.observer.Store, r.m.sale)
	for _, o := range r.m.orders {
		is, ok := books.Orders[o.id]
		switch {
		case !ok:
			r.wrong("the log has nothing of order %s", o.id)
		case is.Status == domain.OrderStatusRejected && o.status == domain.OrderStatusQueued && r.m.forgettable(o):
			o.become(domain.OrderStatusRejected)
			r.did("order rejected")
		case o.status == domain.OrderStatusQueued && is.Status == domain.OrderStatusPlaced:
			o.become(domain.OrderStatusPlaced)
		case is.Status != o.status || is.RefundDue != o.refund:
			r.wrong("order %s is %s (%s), money due back %t; want %s, %t", o.id, is.Status, is.Reason, is.RefundDue, o.status, o.refund)
		}
		if is.BuyerID != o.buyer {
			r.wrong("order %s is of %q, want %s", o.id, is.BuyerID, o.buyer)
		}
	}
	for id, is := range books.Orders {
		if r.m.find(id) == nil && is.Standing() == domain.Live {
			r.wrong("order %s of %s is %s, and nobody was told of it", id, is.BuyerID, is.Status)
		}
	}
	r.inOrder(books)
	for _, sku := range skus() {
		if got, want := books.Left[sku], r.m.left(sku); got != want {
			r.wrong("%d units of %s are left in the log, want %d", got, sku, want)
		}
	}
}

// inOrder puts the orders of each buyer as the log has accepted them: what was
// offered again after Redis forgot it may come behind what was bought since.
func (r *run) inOrder(books e2e.Books) {
	if !r.m.shaken {
		return
	}
	slices.SortStableFunc(r.m.orders, func(a, b *order) int {
		x, y := books.Orders[a.id], books.Orders[b.id]
		return x.AcceptedAt.Compare(y.AcceptedAt)
	})
}

// finish ends a program: all becomes quiet, the standing checks hold, and now and then
// the sale is closed and cleaned up.
func (r *run) finish() {
	r.quiet(step{})
	e2e.StandingChecks(r.tb, r.observer, r.m.sale, r.accepted())
	if r.keys%3 != 0 || r.gateless() {
		return
	}
	for _, o := range r.m.orders {
		if o.status == domain.OrderStatusPlaced {
			r.change(r.api(0), o, paid, r.settling(o, r.payment(false)))
		}
	}
	r.observer.CloseSale(r.tb, r.m.sale)
	r.m.closed = true
	r.everywhere()
	r.purchase(r.api(0), "too-late", r.newKey(), ourLines(0))
	e2e.StandingChecks(r.tb, r.observer, r.m.sale, r.accepted())
	r.observer.CleanUp(r.tb, r.m.sale)
}
