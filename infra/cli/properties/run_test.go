package properties

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/cli/e2e"
	"seckill/infra/testenv"
)

// failing is what a program fails by: the test of a kept one, or a draw of rapid's.
type failing interface {
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
	Failed() bool
}

// run is one program on its way.
type run struct {
	*house
	t    failing
	tb   testing.TB
	ctx  context.Context
	m    *model
	now  step // what is being done
	keys int  // that were made
	many int  // crowds that came
	copy *testenv.Snapshot
}

// scope is a testing.TB whose faults are those of a program.
type scope struct {
	testing.TB
	t failing
}

func (s scope) Errorf(text string, a ...any) { s.t.Errorf(text, a...) }
func (s scope) Fatalf(text string, a ...any) { s.t.Fatalf(text, a...) }
func (s scope) Error(a ...any)               { s.t.Errorf("%s", fmt.Sprint(a...)) }
func (s scope) Fatal(a ...any)               { s.t.Fatalf("%s", fmt.Sprint(a...)) }
func (s scope) Logf(text string, a ...any)   { s.t.Logf(text, a...) }
func (s scope) Log(a ...any)                 { s.t.Logf("%s", fmt.Sprint(a...)) }

// did counts that something came about: a program whose steps do nothing proves
// nothing.
func (r *run) did(what string) { r.done[what]++ }

func newRun(t failing, h *house, p program) *run {
	return &run{house: h, t: t, tb: scope{h.TB, t}, ctx: context.Background(), m: newModel(p.Terms)}
}

// play runs a program from beginning to end.
func play(t failing, h *house, p program) {
	r := newRun(t, h, p)
	h.said()
	defer r.tell(p)
	r.begin()
	for _, s := range p.Steps {
		r.now = s
		action(s.Do)(r, s)
	}
	r.now = step{Do: "end"}
	r.finish()
}

// tell ends a program; one that failed with its text and with what its processes said.
func (r *run) tell(p program) {
	lines, faults := r.said()
	for _, fault := range faults {
		r.t.Errorf("a process: %s", fault)
	}
	if !r.t.Failed() {
		return
	}
	for _, line := range lines {
		r.t.Logf("%s", line)
	}
	r.t.Logf("the program:\n%s", p)
}

func (r *run) begin() {
	for i := range r.apis {
		r.house.again(&r.apis[i])
	}
	r.house.again(&r.recorder)
	r.house.again(&r.views)
	sale, err := r.observer.Operator.Schedule(r.ctx, r.m.saleTerms(), commands.Actor{By: "test"})
	if err != nil {
		r.t.Fatalf("schedule a sale: %v", err)
	}
	r.m.sale = sale.ID
	if !r.gateless() {
		r.observer.AwaitOpen(r.tb, sale.ID)
	}
	r.everywhere()
}

func (r *run) gateless() bool { return r.m.Strategy.Gateless() }

// wrong says that a step met what it must not.
func (r *run) wrong(text string, args ...any) {
	r.t.Errorf("step %q: %s\n%s", r.now, fmt.Sprintf(text, args...), r.m.state())
}

func (m *model) state() string {
	text := fmt.Sprintf("the model: %d and %d left, paused %t, ended %t, closed %t, shaken %t, Redis forgot %d times\n",
		m.left(skus()[0]), m.left(skus()[1]), m.paused, m.ended, m.closed, m.shaken, m.lost)
	for _, o := range m.orders {
		text += fmt.Sprintf("  order %s of %s, key %q, %v: %v, recorded %t\n", o.id, o.buyer, o.key, o.lines, o.was, o.recorded)
	}
	return text
}

// api gives the process that sells by number, alive.
func (r *run) api(n int) *process {
	p := &r.apis[n%len(r.apis)]
	r.house.again(p)
	return *p
}

// buyer gives one of four.
func buyer(n int) string { return []string{"ann", "bob", "cao", "dag"}[n%4] }

// one gives one of the orders that are of interest, nil without any.
func (r *run) one(n int, of func(*order) bool) *order {
	var all []*order
	for _, o := range r.m.orders {
		if of(o) {
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[n%len(all)]
}

func whichever(*order) bool { return true }

// newKey makes a key that nobody used before.
func (r *run) newKey() string {
	r.keys++
	return fmt.Sprintf("key-%d", r.keys)
}

// everywhere waits until every process that sells knows the sale as the log has it: a
// change is in force within a second, and not before.
func (r *run) everywhere() {
	want, err := r.observer.Sales.Fold(r.ctx, r.m.sale)
	if err != nil {
		r.t.Fatalf("read the sale: %v", err)
	}
	for i := range r.apis {
		if !r.apis[i].alive() {
			continue
		}
		testenv.Eventually(r.tb, awaits(), func() error {
			has, err := r.apis[i].node.Sales.Get(r.ctx, r.m.sale)
			if err == nil && has.Version < want.Version {
				err = fmt.Errorf("a process knows version %d of the sale, want %d", has.Version, want.Version)
			}
			return err
		})
	}
}

// isProblem tells whether an error is one of some problems that a person may see.
func isProblem(err error, codes ...domain.Code) bool {
	var p *domain.Problem
	if !errors.As(err, &p) {
		return false
	}
	for _, code := range codes {
		if p.Code == code {
			return true
		}
	}
	return false
}

// ourLines gives what a step buys: one to three units of the first item, or a unit of
// each.
func ourLines(n int) []domain.Line {
	if n%5 == 4 {
		return []domain.Line{{SKU: skus()[0], Quantity: 1}, {SKU: skus()[1], Quantity: 1}}
	}
	return []domain.Line{{SKU: skus()[0], Quantity: int64([]int{1, 1, 2, 3}[n%5])}}
}

// bought is the answer to a purchase.
type bought struct {
	res commands.PurchaseResult
	err error
}

func purchase(buyer, sale, key string, lines []domain.Line) func(*e2e.Node) bought {
	return func(n *e2e.Node) bought {
		res, err := n.BuyLines(sale, buyer, key, lines...)
		return bought{res, err}
	}
}

func (b bought) String() string {
	if b.err != nil {
		return b.err.Error()
	}
	return fmt.Sprintf("%s (order %q, %s, repeat %t)", b.res.Outcome, b.res.Order.ID, b.res.Order.Status, b.res.Repeat)
}
