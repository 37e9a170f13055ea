package redisgate

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"seckill/commands"
)

// errClosed answers purchases that come after Close.
var errClosed = errors.New("the gate is closed")

// Stages of a waiting purchase. Whoever moves it out of waiting owns it.
const (
	waiting int32 = iota
	sent
	givenUp
)

// ask is a purchase on its way through the gate. Who waits for it uses it again and
// again: what it is told comes by done, once, and nobody touches it after that.
type ask struct {
	r commands.Reservation
	// order, buyer, key and ticket are its fields in the sale's record, "" for none;
	// blob is the purchase as the journal carries it.
	order, buyer, key, ticket string
	blob                      []byte
	stage                     atomic.Int32
	done                      chan struct{}
	verdict                   commands.Verdict
	err                       error
}

func newAsk() any { return &ask{done: make(chan struct{}, 1)} }

func (a *ask) answer(v commands.Verdict, err error) {
	a.verdict, a.err = v, err
	a.done <- struct{}{}
}

// laneQueue gathers the purchases of a lane. Whatever waits when a call may
// start goes with it: no timer, so an idle lane answers at once and a busy one
// fills its batches by itself.
type laneQueue struct {
	mu      sync.Mutex
	closed  bool
	running int
	waiting []*ask
	lean    lean
}

func (q *laneQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, a := range q.waiting {
		if a.stage.CompareAndSwap(waiting, givenUp) {
			a.answer(commands.Verdict{}, nothing(errClosed))
		}
	}
	q.waiting = nil
}

// add queues a; start tells that the caller must start another worker, which is
// counted in running already, before Close can begin to wait. Beside a call that is
// under way another one begins only for a full batch: many lanes with a few purchases
// each would make small calls otherwise, and a call costs Redis as much as four
// purchases.
func (q *laneQueue) add(a *ask, limit, full int, running *sync.WaitGroup) (start bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false, nothing(errClosed)
	}
	q.waiting = append(q.waiting, a)
	if q.running >= limit || q.running > 0 && len(q.waiting) < full {
		return false, nil
	}
	q.running++
	running.Add(1)
	return true, nil
}

// take puts the purchases of the next call into c, up to limit; none ends the worker,
// and so do few beside another call: who made that takes them. A call holds one bucket of a sale only, because an entry names terms per sale
// and two buckets may stand at different versions.
func (q *laneQueue) take(c *reserveCall, limit int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.running > 1 && len(q.waiting) < limit {
		q.running--
		return
	}
	later, n := 0, 0
	for ; n < len(q.waiting) && len(c.batch) < limit; n++ {
		a := q.waiting[n]
		if !c.admits(a.r.Place) {
			q.waiting[later] = a
			later++
			continue
		}
		if a.stage.CompareAndSwap(waiting, sent) {
			c.batch = append(c.batch, a)
		}
	}
	rest := later + copy(q.waiting[later:], q.waiting[n:])
	clear(q.waiting[rest:])
	q.waiting = q.waiting[:rest]
	if len(c.batch) == 0 {
		q.running--
	}
}

// work makes calls until nothing waits.
func (g *Gate) work(lane int) {
	defer g.running.Done()
	c := g.calls.Get().(*reserveCall)
	defer g.calls.Put(c)
	for {
		g.lanes[lane].take(c, g.fullAt(lane))
		if len(c.batch) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(g.base, g.opt.CallTimeout)
		g.send(ctx, lane, c)
		cancel()
		c.reset()
	}
}
