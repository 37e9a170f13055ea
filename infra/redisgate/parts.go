package redisgate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"seckill/commands"
	"seckill/eventstore"
)

// applyBound is how many events one script call applies, so that a call stays
// about a millisecond.
const applyBound = 200

// part is the events of a page that go in one script call, and what became of them
// once done is closed.
type part struct {
	page     *commands.StockPage
	from, to eventstore.Mark
	events   int
	flat     []any
	stage    atomic.Int32
	done     chan struct{}
	applied  commands.Applied
	err      error
}

func (p *part) answer(a commands.Applied, err error) {
	p.applied, p.err = a, err
	close(p.done)
}

// partQueue gathers the parts of a lane as laneQueue gathers its purchases: what waits
// when a call may start goes with it, so that what it costs to follow the log depends
// on how much there is to apply, not on how many stocks it is of. One call is under
// way at a time.
type partQueue struct {
	mu      sync.Mutex
	closed  bool
	running bool
	waiting []*part
}

func (q *partQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, p := range q.waiting {
		if p.stage.CompareAndSwap(waiting, givenUp) {
			p.answer(commands.Applied{}, nothing(errClosed))
		}
	}
	q.waiting = nil
}

// add queues p; start tells that the caller must start the worker, which is counted in
// running already.
func (q *partQueue) add(p *part, running *sync.WaitGroup) (start bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false, nothing(errClosed)
	}
	q.waiting = append(q.waiting, p)
	if q.running {
		return false, nil
	}
	q.running = true
	running.Add(1)
	return true, nil
}

// take gives the parts of the next call, of about applyBound events; none ends the
// worker.
func (q *partQueue) take() []*part {
	q.mu.Lock()
	defer q.mu.Unlock()
	var batch []*part
	events, n := 0, 0
	for _, p := range q.waiting {
		if len(batch) > 0 && events+p.events > applyBound {
			break
		}
		n++
		if p.stage.CompareAndSwap(waiting, sent) {
			batch = append(batch, p)
			events += max(p.events, 1)
		}
	}
	if q.waiting = q.waiting[n:]; len(batch) == 0 {
		q.running, q.waiting = false, nil
	}
	return batch
}

// applyPart waits for its part's turn. Whoever gives up before it was sent hears that
// nothing happened.
func (g *Gate) applyPart(ctx context.Context, p *part) (commands.Applied, error) {
	if err := ctx.Err(); err != nil {
		return commands.Applied{}, nothing(err)
	}
	lane := p.page.Place.Lane()
	start, err := g.parts[lane].add(p, &g.running)
	if err != nil {
		return commands.Applied{}, err
	}
	if start {
		go g.applyAll(lane)
	}
	select {
	case <-p.done:
		return p.applied, p.err
	case <-ctx.Done():
	}
	if p.stage.CompareAndSwap(waiting, givenUp) {
		return commands.Applied{}, nothing(ctx.Err())
	}
	select {
	case <-p.done: // answered in the same moment
		return p.applied, p.err
	default:
		return commands.Applied{}, unknown(ctx.Err())
	}
}

// applyAll makes calls until nothing waits.
func (g *Gate) applyAll(lane int) {
	defer g.running.Done()
	for {
		batch := g.parts[lane].take()
		if len(batch) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(g.base, g.opt.CallTimeout)
		g.applyParts(ctx, batch)
		cancel()
	}
}

// errRange refuses units that a script cannot count exactly.
var errRange = errors.New("the units of this stock leave the exact integers")

// applyParts makes one call and answers everybody in it.
func (g *Gate) applyParts(ctx context.Context, batch []*part) {
	c := call{script: g.scripts.applyStock, args: []any{len(batch)}}
	for _, p := range batch {
		c.keys = append(c.keys, g.keys.sale(p.page.Place), g.keys.stock(p.page.Place, p.page.SKU))
		c.args = append(append(c.args, p.from.String(), p.to.String(), p.page.SKU, p.events), p.flat...)
		c.batch += p.events
	}
	answers, err := g.runList(ctx, c, len(batch))
	for i, p := range batch {
		switch {
		case err != nil:
			p.answer(commands.Applied{}, err)
		case len(list(answers[i])) < 3:
			p.answer(commands.Applied{}, unknown(fmt.Errorf("read the answer of script %s: got %v", c.script.name, answers[i])))
		case number(list(answers[i])[0]) < 0:
			p.answer(commands.Applied{}, nothing(errRange))
		default:
			p.answer(applied(list(answers[i])), nil)
		}
	}
}
