package properties

import (
	"sync"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/testenv"
)

func (r *run) nothing(step) {}

// buy: buyer A buys B, at process C; now and then under no key.
func (r *run) buy(s step) {
	key := ""
	if r.m.Orders > 1 || s.C%4 != 0 {
		key = r.newKey()
	}
	r.purchase(r.api(s.C), buyer(s.A), key, ourLines(s.B))
}

// again: a buyer asks once more under the key of an order, now and then for something
// else.
func (r *run) again(s step) {
	o := r.one(s.A, func(o *order) bool { return o.key != "" && o.status != domain.OrderStatusRejected })
	if o == nil {
		return
	}
	lines := o.lines
	if s.B%3 == 0 {
		lines = ourLines(s.B / 3)
	}
	r.purchase(r.api(s.C), o.buyer, o.key, lines)
}

// purchase asks, and compares the answer with the model's.
func (r *run) purchase(p *process, who, key string, lines []domain.Line) {
	want := r.m.judge(who, key, lines)
	q := asked{who, key, lines}
	got, _ := ask(p, purchase(who, r.m.sale, key, lines))
	r.told(p, want, q, r.patiently(p, q, got))
}

// patiently asks again as long as the answer is that all is busy, which says that
// nothing was done: a machine that does other things too may take too long at any
// time. In the end there must be another answer, but where units that must be brought
// from another bucket cannot be recorded, or a store has fallen.
func (r *run) patiently(p *process, q asked, got bought) bought {
	testenv.Eventually(r.tb, awaits(), func() error {
		if !isProblem(got.err, domain.CodeBusy) || r.m.shaken || r.m.Buckets > 1 && !r.recorder.alive() {
			return nil
		}
		r.did("purchase busy")
		got, _ = ask(p, purchase(q.who, r.m.sale, q.key, q.lines))
		return got.err
	})
	return got
}

// asked is a purchase.
type asked struct {
	who, key string
	lines    []domain.Line
}

// told judges an answer to a purchase, and takes over what it says.
func (r *run) told(p *process, want verdict, q asked, got bought) {
	if got.err == nil {
		r.did("purchase " + got.res.Outcome.String())
	}
	switch {
	case got.err != nil:
		busy := isProblem(got.err, domain.CodeBusy) && (r.m.shaken || r.m.Buckets > 1 && (want.outcome == domain.Reserved || want.outcome == domain.SoldOut))
		if !busy {
			r.wrong("%s buys %v: got %v, want %s", q.who, q.lines, got, want)
		}
	case got.res.Outcome == domain.Reserved && r.m.find(got.res.Order.ID) == nil:
		if want.outcome != domain.Reserved && !r.m.shaken {
			r.wrong("%s buys %v: got %v, want %s", q.who, q.lines, got, want)
		}
		r.accept(p, q, got.res)
	case got.res.Repeat || got.res.Outcome == domain.Reserved:
		r.met(want, q, got)
	case got.res.Outcome != want.outcome && !r.m.shaken:
		r.wrong("%s buys %v: got %v, want %s", q.who, q.lines, got, want)
	}
}

// met judges an answer that names an order.
func (r *run) met(want verdict, q asked, got bought) {
	o := r.m.find(got.res.Order.ID)
	switch {
	case o == nil:
		r.wrong("%s met order %q, which nobody was told of", q.who, got.res.Order.ID)
	case o.buyer != q.who:
		r.wrong("%s met the order of %s", q.who, o.buyer)
	case o != want.order && !r.m.shaken:
		r.wrong("%s buys %v: got %v, want %s", q.who, q.lines, got, want)
	}
}

// accept takes an accepted purchase into the model.
func (r *run) accept(p *process, q asked, res commands.PurchaseResult) {
	o := &order{id: res.Order.ID, buyer: q.who, key: q.key, lines: q.lines, by: p, lost: r.m.lost, bought: len(r.m.orders)}
	o.unseen = res.Order.WaitingFor == domain.WaitingForGate || res.Order.WaitingFor == domain.WaitingForLog
	o.status, o.was = domain.OrderStatusQueued, []domain.OrderStatus{domain.OrderStatusQueued}
	switch res.Order.Status {
	case domain.OrderStatusPlaced:
		o.become(domain.OrderStatusPlaced)
	case domain.OrderStatusQueued:
	default:
		r.wrong("a purchase was accepted and its order is %s", res.Order.Status)
	}
	r.m.orders = append(r.m.orders, o)
}

// crowd: six buyers who were never here ask for a unit each, all at once.
func (r *run) crowd(s step) {
	r.many++
	item := skus()[s.A%2]
	lines := []domain.Line{{SKU: item, Quantity: 1}}
	left, key := r.m.left(item), ""
	if r.m.Orders > 1 {
		key = "key"
	}
	r.api(0)
	r.api(1)
	var answers [6]bought
	var who [6]string
	var all sync.WaitGroup
	for i := range answers {
		who[i] = "crowd-" + string(rune('a'+r.many%26)) + string(rune('a'+i))
		all.Go(func() { answers[i], _ = ask(r.apis[i%2], purchase(who[i], r.m.sale, key, lines)) })
	}
	all.Wait()
	var yes int64
	for i, got := range answers {
		got = r.patiently(r.apis[i%2], asked{who[i], key, lines}, got)
		want := r.m.judge(who[i], key, lines)
		if got.err == nil && got.res.Outcome == domain.SoldOut && want.outcome == domain.Reserved {
			want.outcome = domain.SoldOut // by who was faster; counted below
		}
		if got.err == nil && got.res.Outcome == domain.Reserved {
			yes++
		}
		r.told(r.apis[i%2], want, asked{who[i], key, lines}, got)
	}
	open := !r.m.paused && !r.m.ended && !r.m.closed
	if want := min(left, int64(len(answers))); open && !r.m.shaken && r.m.Buckets == 1 && yes != want {
		r.wrong("%d of six buyers were accepted with %d left, want %d", yes, left, want)
	}
}

// clicks: one buyer presses the button five times at once, at both processes.
func (r *run) clicks(s step) {
	r.api(0)
	r.api(1)
	q := asked{buyer(s.A), r.newKey(), ourLines(s.B)}
	want := r.m.judge(q.who, q.key, q.lines)
	var answers [5]bought
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i], _ = ask(r.apis[i%2], purchase(q.who, r.m.sale, q.key, q.lines)) })
	}
	all.Wait()
	for i := range answers {
		answers[i] = r.patiently(r.apis[i%2], q, answers[i])
	}
	for i, got := range answers { // who was accepted comes first: the others met it
		if got.err == nil && got.res.Outcome == domain.Reserved && !got.res.Repeat {
			r.told(r.apis[i%2], want, q, got)
		}
	}
	if want.outcome == domain.Reserved {
		want = r.m.judge(q.who, q.key, q.lines)
	}
	for i, got := range answers {
		if got.err != nil || got.res.Outcome != domain.Reserved || got.res.Repeat {
			r.told(r.apis[i%2], want, q, got)
		}
	}
}

// poll: a buyer looks at an order, and somebody else tries to.
func (r *run) poll(s step) {
	o := r.one(s.A, whichever)
	if o == nil {
		return
	}
	p := r.api(s.C)
	if _, err := p.node.Finder.Find(r.ctx, "eve", o.id); !isProblem(err, domain.CodeOrderNotFound) {
		r.wrong("eve looks at the order of %s: got %v, want that there is none", o.buyer, err)
	}
	got, err := p.node.Finder.Find(r.ctx, o.buyer, o.id)
	if err != nil {
		if !r.m.shaken || isProblem(err, domain.CodeOrderNotFound) {
			r.wrong("%s looks at order %s: %v", o.buyer, o.id, err)
		}
		return
	}
	if got.Version < p.told[o.id] {
		r.wrong("a process told version %d of order %s and now version %d", p.told[o.id], o.id, got.Version)
	}
	p.told[o.id] = got.Version
	r.heard(o, got)
}

// heard compares what a buyer is told of an order with the model, and learns that it
// was decided.
func (r *run) heard(o *order, got commands.OrderAnswer) {
	switch {
	case got.Status == domain.OrderStatusQueued && o.recorded:
		r.wrong("order %s is told as queued after it was decided", o.id)
	case got.Status == domain.OrderStatusPlaced && o.status == domain.OrderStatusQueued:
		o.become(domain.OrderStatusPlaced)
	case got.Status == domain.OrderStatusRejected && o.status == domain.OrderStatusQueued && r.m.forgettable(o):
		o.become(domain.OrderStatusRejected)
	default:
		for _, was := range o.was {
			if was == got.Status {
				return
			}
		}
		r.wrong("order %s is %s (%s), and it was %v", o.id, got.Status, got.Reason, o.was)
	}
}
