package redisgate

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"seckill/commands"
	"seckill/domain"
)

var (
	_ commands.Shortages = (*Gate)(nil)
	_ commands.GateTime  = (*Gate)(nil)
)

// maxLooks bounds the purchases of one call of sold_out (measured: 200 µs).
const maxLooks = 500

// lookPace is the least time between the beginnings of two calls while several
// purchases come at once: so that a crowd shares calls, and Redis is asked a thousand
// times a second however many they are.
const lookPace = time.Millisecond

// look is a purchase that asks whether it is sold out. It is used again and again:
// what it is told comes by done, once.
type look struct {
	buyer, key, ticket string
	place              domain.Place
	items              []string
	lines              []domain.Line
	until              time.Time // when it is not worth an answer any more
	done               chan error
	sold               bool
}

// lookQueue gathers the looks of a lane as laneQueue gathers its purchases: what
// waits when a call may start goes with it, and one call is under way at a time. So
// every look is answered by a call that began after it came.
type lookQueue struct {
	mu      sync.Mutex
	closed  bool
	running bool
	waiting []*look
}

func (q *lookQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for _, l := range q.waiting {
		l.done <- nothing(errClosed)
	}
	q.waiting = nil
}

// add queues l; start tells that the caller must start the worker, which is counted
// in running already.
func (q *lookQueue) add(l *look, running *sync.WaitGroup) (start bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false, nothing(errClosed)
	}
	q.waiting = append(q.waiting, l)
	if q.running {
		return false, nil
	}
	q.running = true
	running.Add(1)
	return true, nil
}

// take gives the looks of the next call: of one place, and of the same items. Those
// whose time is over are answered here. None ends the worker.
func (q *lookQueue) take() []*look {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	q.waiting = slices.DeleteFunc(q.waiting, func(l *look) bool {
		late := now.After(l.until)
		if late {
			l.done <- nothing(context.DeadlineExceeded)
		}
		return late
	})
	if len(q.waiting) == 0 {
		q.running, q.waiting = false, nil
		return nil
	}
	first := q.waiting[0]
	var batch, rest []*look
	for i, l := range q.waiting {
		if len(batch) == maxLooks {
			rest = append(rest, q.waiting[i:]...)
			break
		}
		if l.place == first.place && slices.Equal(l.items, first.items) {
			batch = append(batch, l)
		} else {
			rest = append(rest, l)
		}
	}
	q.waiting = rest
	return batch
}

// SoldOut looks whether a purchase is sold out: see commands.Shortages. Concurrent
// looks of a lane share script calls. A caller that gives up is not heard before the
// call that is under way has ended.
func (g *Gate) SoldOut(ctx context.Context, r commands.Reservation) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, nothing(err)
	}
	l := g.spare.Get().(*look)
	defer g.spare.Put(l)
	*l = look{
		buyer: r.Buyer, key: r.Key, ticket: r.Ticket, place: r.Place, items: r.Items, lines: r.Lines,
		until: time.Now().Add(2 * g.opt.CallTimeout), done: l.done,
	}
	if due, ok := ctx.Deadline(); ok && due.Before(l.until) {
		l.until = due
	}
	lane := r.Place.Lane()
	start, err := g.looks[lane].add(l, &g.running)
	if err != nil {
		return false, err
	}
	if start {
		go g.lookOut(lane)
	}
	err = <-l.done // soon: every call has an end, and take answers who waited too long
	return l.sold, err
}

// lookOut makes calls until nothing waits.
func (g *Gate) lookOut(lane int) {
	defer g.running.Done()
	for {
		batch := g.looks[lane].take()
		if len(batch) == 0 {
			return
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(g.base, g.opt.CallTimeout)
		err := g.lookAt(ctx, lane, batch)
		cancel()
		several := len(batch) > 1
		for _, l := range batch {
			l.done <- err
		}
		if rest := lookPace - time.Since(began); several && rest > 0 {
			time.Sleep(rest)
		}
	}
}

// lookAt makes one call for the batch and says who is sold out.
func (g *Gate) lookAt(ctx context.Context, lane int, batch []*look) error {
	first := batch[0]
	c := call{sale: true, script: g.scripts.soldOut, batch: len(batch), keys: append([]string{g.keys.lane(lane), g.keys.sale(first.place)}, g.keys.stocks(first.place, first.items)...)}
	c.args = append(make([]any, 0, 1+2*len(batch)), g.opt.ProcessToken)
	whose := make([]int, 0, 2*len(batch)) // which look asked for a field
	for i, l := range batch {
		c.args, whose = append(c.args, "b:"+l.buyer), append(whose, i)
		if l.key != "" {
			c.args, whose = append(c.args, "k:"+l.key), append(whose, i)
		}
		if l.ticket != "" {
			c.args, whose = append(c.args, ticketField(l.ticket)), append(whose, i)
		}
	}
	seen, err := g.runList(ctx, c, 0)
	if err != nil || len(seen) == 0 {
		return notHappened(err)
	}
	left := map[string]int64{}
	for i, units := range list(seen[1]) {
		left[first.items[i]] = number(units)
	}
	known := make([]bool, len(batch))
	for _, place := range list(seen[2]) {
		known[whose[number(place)-1]] = true
	}
	for i, l := range batch {
		l.sold = !known[i] && short(l.lines, left, number(seen[0]))
	}
	return nil
}

// short tells whether lines within the limit ask for more than is left.
func short(lines []domain.Line, left map[string]int64, limit int64) bool {
	return domain.Units(lines) <= limit && slices.ContainsFunc(lines, func(l domain.Line) bool {
		units, ok := left[l.SKU]
		return ok && units < l.Quantity
	})
}

// notHappened is err of a call that changes nothing: whatever became of it, nothing
// happened.
func notHappened(err error) error {
	if err == nil {
		return nil
	}
	return nothing(err)
}

// Time gives the clock of Redis, of several that of the one that Open was given: see
// commands.GateTime.
func (g *Gate) Time(ctx context.Context) (time.Time, error) {
	now, err := g.servers[0].sale.Time(ctx).Result()
	if err != nil {
		return time.Time{}, nothing(fmt.Errorf("read the clock of Redis: %w", err))
	}
	return now, nil
}
