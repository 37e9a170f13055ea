package properties

import "seckill/domain"

// kill-api: a process that sells is killed; what it held in memory is gone.
func (r *run) killAPI(s step) { r.api(s.A).die() }

// kill-recorder: nobody records and keeps lanes any more, until one is started.
func (r *run) killRecorder(step) {
	r.recorder.die()
	if r.m.Strategy == domain.StrategyRedisSync {
		r.house.again(&r.recorder) // each purchase would wait for a record that does not come
	}
}

// kill-views: nobody carries the log into the views any more, until one is started.
func (r *run) killViews(step) { r.views.die() }

// start: whoever died is started again.
func (r *run) start(step) {
	r.house.again(&r.recorder)
	r.house.again(&r.views)
	r.api(0)
	r.api(1)
}

// buy-dies: the process dies in the middle of a purchase; its buyer asks another one
// under the same key.
func (r *run) buyDies(s step) {
	points := []string{"purchase.before-gate", "purchase.after-gate"}
	if r.gateless() {
		points = []string{"purchase.before-gate", "append.locked", "append.before-commit", "append.after-commit"}
	}
	q := asked{buyer(s.A), r.newKey(), ourLines(s.B)}
	want := r.m.judge(q.who, q.key, q.lines)
	p := r.api(s.C)
	p.dieAt(points[s.C/2%len(points)])
	got, lived := ask(p, purchase(q.who, r.m.sale, q.key, q.lines))
	if lived { // it was answered before it came to that point
		p.dieAt("")
		r.told(p, want, q, r.patiently(p, q, got))
		return
	}
	r.did("died while selling")
	other := r.api(s.C + 1)
	got, _ = ask(other, purchase(q.who, r.m.sale, q.key, q.lines))
	r.found([2]*process{p, other}, want, q, r.patiently(other, q, got))
}

// found judges the answer of the second of two processes to a purchase that the first
// was asked for before, and of which it told nothing: it may have been accepted then.
func (r *run) found(by [2]*process, want verdict, q asked, got bought) {
	unknown := got.err == nil && got.res.Repeat && r.m.find(got.res.Order.ID) == nil
	if unknown && (want.outcome == domain.Reserved || r.m.shaken) {
		r.accept(by[0], q, got.res)
		return
	}
	r.told(by[1], want, q, got)
}

// cancel-dies: the process dies in the middle of a cancellation, and it is asked for
// again.
func (r *run) cancelDies(s step) {
	points := []string{"orders.before-commit", "append.locked", "append.before-commit", "append.after-commit", "orders.after-commit", "orders.after-push"}
	o := r.one(s.A, func(o *order) bool { return o.status == domain.OrderStatusPlaced })
	if o == nil {
		return
	}
	p := r.api(s.C)
	p.dieAt(points[s.B%len(points)])
	if _, lived := ask(p, r.cancelling(o)); lived {
		p.dieAt("")
	} else {
		r.did("died while cancelling")
	}
	r.change(r.api(s.C+1), o, cancelled, r.cancelling(o))
}

// record-dies: who records dies when it next comes to a point of recording.
func (r *run) recordDies(s step) {
	points := []string{"recorder.before-commit", "append.locked", "append.before-commit", "append.after-commit", "recorder.after-commit", "recorder.after-apply"}
	r.recorder.dieAt(points[s.A%len(points)])
	r.purchase(r.api(s.C), buyer(s.B), r.newKey(), ourLines(s.B))
	if r.m.Strategy == domain.StrategyRedisSync {
		r.house.again(&r.recorder)
	}
}

// redis-restarts: Redis is killed and comes back with what it had on disk.
func (r *run) redisRestarts(step) {
	r.rig.Redis.Restart()
	r.forgot()
}

// redis-copied: what Redis has on disk is copied.
func (r *run) redisCopied(step) {
	s := r.rig.Redis.Snapshot()
	r.copy = &s
}

// redis-put-back: Redis comes back with the copy, and has forgotten what came after.
func (r *run) redisPutBack(step) {
	if r.copy == nil {
		return
	}
	r.rig.Redis.Restore(*r.copy)
	r.did("put back")
	r.forgot()
}

func (r *run) forgot() {
	r.m.shaken = true
	r.m.lost++
}

// cut: all connections of a process that sells, or of who records, are reset.
func (r *run) cut(s step) {
	p := []*process{r.api(0), r.api(1), r.recorder}[s.A%3]
	if s.B%2 == 0 {
		p.pg.Reset()
	} else {
		p.redis.Reset()
	}
	r.m.shaken = true
}

// reply-lost: a purchase is carried out, and the answer of the store does not arrive.
func (r *run) replyLost(s step) {
	p, q := r.api(s.C), asked{buyer(s.A), r.newKey(), ourLines(s.B)}
	want := r.m.judge(q.who, q.key, q.lines)
	r.m.shaken = true
	if r.gateless() {
		p.pg.DropReplyTo("COMMIT")
	} else {
		p.redis.DropReplyTo("evalsha")
	}
	got, _ := ask(p, purchase(q.who, r.m.sale, q.key, q.lines))
	r.told(p, want, q, got)
	p.pg.Heal()
	p.redis.Heal()
	other := r.api(s.C + 1)
	got, _ = ask(other, purchase(q.who, r.m.sale, q.key, q.lines))
	r.found([2]*process{p, other}, r.m.judge(q.who, q.key, q.lines), q, got)
}
