package properties

import (
	"errors"
	"fmt"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/cli/e2e"
	"seckill/infra/testenv"
)

var errAgain = errors.New("not yet")

// until does something at a process until it meets no trouble that a shaken house
// explains.
func (r *run) until(p *process, do func(n *e2e.Node) error) {
	testenv.Eventually(r.tb, awaits(), func() error {
		err, ok := ask(p, do)
		switch {
		case !ok:
			r.t.Fatalf("step %q: a process died that nobody killed", r.now)
		case errors.Is(err, errAgain):
			r.house.again(&r.recorder) // it may have died meanwhile
			return err
		case err != nil && r.m.shaken:
			return err
		case err != nil:
			r.wrong("%v", err)
		}
		return nil
	})
}

// release: one to three more units are put on sale.
func (r *run) release(s step) {
	sku, n := skus()[s.A%2], int64(1+s.B%3)
	ask := commands.Release{Sale: r.m.sale, SKU: sku, Quantity: n, Key: r.newKey()}
	r.until(r.api(s.C), func(n *e2e.Node) error {
		_, err := n.Operator.Release(r.ctx, ask, commands.Actor{By: "operator"})
		return err
	})
	r.m.released[sku] += n
}

// withdraw: one to three units are taken off sale, if as many are left.
func (r *run) withdraw(s step) {
	sku, n := skus()[s.A%2], int64(1+s.B%3)
	if r.m.shaken || !r.gateless() && !r.recorder.alive() {
		return // nobody would record it
	}
	r.recorder.dieAt("")
	want, key := r.m.left(sku) >= n, r.newKey()
	r.until(r.api(s.C), func(node *e2e.Node) error {
		_, err := node.Operator.Release(r.ctx, commands.Release{Sale: r.m.sale, SKU: sku, Quantity: -n, Key: key}, commands.Actor{By: "operator"})
		switch {
		case isProblem(err, domain.CodeBusy):
			return errAgain // units are on their way between buckets, or nobody records in time
		case isProblem(err, domain.CodeBelowReserved) && !want:
			return nil
		case err == nil && !want:
			return fmt.Errorf("%d units of %s were withdrawn, and there are not as many", n, sku)
		}
		return err
	})
	if want {
		r.m.released[sku] -= n
	}
}

// pause: an operator pauses the sale, now and then for long, or lets it go on.
func (r *run) pause(s step) {
	on := !r.m.paused
	r.until(r.api(s.C), func(n *e2e.Node) error {
		turn := n.Operator.Resume
		if on {
			turn = n.Operator.Pause
		}
		_, err := turn(r.ctx, r.m.sale, domain.PausedByOperator, commands.Actor{By: "operator", Note: "a program"})
		return err
	})
	r.m.paused = on
	r.everywhere()
	if on && s.B%3 != 0 { // not for long: a program in which nothing is sold shows little
		r.buy(s)
		r.pause(step{})
	}
}

// switch: the sale is ended by its switch, or goes on.
func (r *run) flip(s step) {
	on := !r.m.ended
	r.until(r.api(s.C), func(n *e2e.Node) error {
		board := commands.NewSwitchboard(n.Env, n.Sales, n.Store, n.Operator)
		_, err := board.Flip(r.ctx, commands.Flip{Name: domain.ForceEnded, On: on, Sale: r.m.sale}, commands.Actor{By: "operator", Note: "a program"})
		return err
	})
	r.m.ended = on
	r.everywhere()
	if on && s.B%3 != 0 {
		r.buy(s)
		r.flip(step{})
	}
}

// preheat: once more, which changes nothing.
func (r *run) preheat(step) {
	if r.gateless() || r.m.shaken {
		return
	}
	if err := r.observer.Keeper.Preheat(r.ctx, r.m.sale); err != nil {
		r.wrong("preheat: %v", err)
	}
}

// rehydrate: the gate of the sale is built again from the log and the journal.
func (r *run) rehydrate(step) {
	if r.gateless() || r.m.shaken {
		return
	}
	_, err := r.observer.Keeper.Rehydrate(r.ctx, r.m.sale, nil)
	if err != nil && !errors.Is(err, commands.ErrOvertaken) {
		r.wrong("rehydrate: %v", err)
	}
	r.observer.AwaitOpen(r.tb, r.m.sale)
}

// rebuild: a view is folded again from the log while it is read.
func (r *run) rebuild(s step) {
	name := []string{"order_view", "stock_log", "sale_summary"}[s.A%3]
	if err := r.observer.Repairer.Rebuild(r.ctx, name); err != nil {
		r.wrong("rebuild %s: %v", name, err)
	}
}
