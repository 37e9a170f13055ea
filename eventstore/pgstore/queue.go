package pgstore

import (
	"runtime"
	"sync"
	"sync/atomic"

	"seckill/eventstore"
)

// Where a pending work stands: exactly one of the submitter (giving up) and
// the appender (taking it) moves it away from waiting.
const (
	waiting int32 = iota
	taken
	givenUp
)

// pending is a work on its way, and its answer once done is closed.
type pending struct {
	work    eventstore.Work
	state   atomic.Int32
	done    chan struct{}
	receipt eventstore.Receipt
	err     error
	panic   any
}

func newPending(w eventstore.Work) *pending {
	return &pending{work: w, done: make(chan struct{})}
}

func (p *pending) weight() int {
	return 1 + len(p.work.Needs.Streams) + len(p.work.Needs.Claims)
}

func (p *pending) finish(r eventstore.Receipt, err error) {
	p.receipt, p.err = r, err
	close(p.done)
}

// queue holds works in the order they came. It needs no bound of its own:
// every work in it has a submitter who waits.
type queue struct {
	mu     sync.Mutex
	works  []*pending
	closed bool
	wake   chan struct{}
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// push adds a work; false when the queue was closed.
func (q *queue) push(p *pending) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.works = append(q.works, p)
	q.signal()
	return true
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// take waits for works and gives as many as are waiting, up to a weight, but
// at least one. It gives none when the queue is closed and empty.
func (q *queue) take(maxWeight int) []*pending {
	for {
		batch, closed := q.takeNow(maxWeight)
		if len(batch) > 0 || closed {
			return batch
		}
		<-q.wake
	}
}

func (q *queue) takeNow(maxWeight int) (batch []*pending, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	weight, n := 0, 0
	for _, p := range q.works {
		weight += p.weight()
		if len(batch) > 0 && weight > maxWeight {
			break
		}
		n++
		if p.state.CompareAndSwap(waiting, taken) {
			batch = append(batch, p)
		}
	}
	clear(q.works[:n])
	q.works = q.works[n:]
	if len(q.works) == 0 {
		q.works = nil
	}
	return batch, q.closed
}

// gather lets those run who can, until nobody comes any more or as many wait as
// answered before: who was just answered often comes again at once, and would find
// the next batch gone with the first of them. It takes no time when nobody runs.
func (q *queue) gather(answered int) {
	const idleTurns = 3
	for seen, idle := 0, 0; idle < idleTurns; {
		runtime.Gosched()
		q.mu.Lock()
		waiting, closed := len(q.works), q.closed
		q.mu.Unlock()
		if waiting >= answered || closed {
			return
		}
		if idle++; waiting > seen {
			seen, idle = waiting, 0
		}
	}
}
