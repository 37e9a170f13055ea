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

// ask is a purchase on its way through the gate.
type ask struct {
	r       *commands.Reservation
	blob    string
	stage   atomic.Int32
	done    chan struct{}
	verdict commands.Verdict
	err     error
}

func (a *ask) answer(v commands.Verdict, err error) {
	a.verdict, a.err = v, err
	close(a.done)
}

// laneQueue gathers the purchases of a lane. Whatever waits when a call may
// start goes with it: no timer, so an idle lane answers at once and a busy one
// fills its batches by itself.
type laneQueue struct {
	mu      sync.Mutex
	closed  bool
	running int
	waiting []*ask
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

// take gives the purchases of the next call, up to limit; none ends the worker.
// A call holds one bucket of a sale only, because an entry names terms per sale
// and two buckets may stand at different versions.
func (q *laneQueue) take(limit int) []*ask {
	q.mu.Lock()
	defer q.mu.Unlock()
	var batch, later []*ask
	buckets := make(map[string]int, 4)
	rest := q.waiting
	for len(rest) > 0 && len(batch) < limit {
		a := rest[0]
		rest = rest[1:]
		bucket, seen := buckets[a.r.Place.Sale]
		if seen && bucket != a.r.Place.Bucket {
			later = append(later, a)
			continue
		}
		if a.stage.CompareAndSwap(waiting, sent) {
			buckets[a.r.Place.Sale] = a.r.Place.Bucket
			batch = append(batch, a)
		}
	}
	if len(later) > 0 {
		rest = append(later, rest...)
	}
	q.waiting = rest
	if len(batch) == 0 {
		q.running--
		q.waiting = nil
	}
	return batch
}

// work makes calls until nothing waits.
func (g *Gate) work(lane int) {
	defer g.running.Done()
	for {
		batch := g.lanes[lane].take(g.opt.MaxBatch)
		if len(batch) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(g.base, g.opt.CallTimeout)
		g.send(ctx, lane, batch)
		cancel()
	}
}
