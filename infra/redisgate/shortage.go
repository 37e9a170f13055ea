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
// purchases come at once, but fewer than lookCrowd: so that they share calls. Besides, a
// worker rests for as long as its calls took: looks of a busy Redis become fewer, and
// never take much more than half of its time, however many nodes there are. What a
// crowd's calls owe is rested together, lookRest or more at once: a shorter sleep takes
// that long too where nothing else runs.
const (
	lookPace  = 250 * time.Microsecond
	lookCrowd = 128
	lookRest  = time.Millisecond
)

// lookDebt is how long the worker must still rest; below nothing, it has rested for what
// comes.
type lookDebt time.Duration

// after takes notice of a call of n looks, and gives how long to sleep now.
func (d *lookDebt) after(n int, took time.Duration) time.Duration {
	if n < lookCrowd {
		*d = 0
		if n < 2 {
			return 0
		}
		return max(lookPace-took, took)
	}
	if *d += lookDebt(took); *d < lookDebt(lookRest) {
		return 0
	}
	return time.Duration(*d)
}

// slept takes notice of a sleep of after.
func (d *lookDebt) slept(n int, long time.Duration) {
	if n >= lookCrowd {
		*d = max(*d-lookDebt(long), -lookDebt(lookRest))
	}
}

// look is a purchase that asks whether it is sold out. It is used again and again:
// what it is told comes by done, once.
type look struct {
	buyer, key, ticket string // as fields of the sale's record, "" for none
	place              domain.Place
	items              []string
	lines              []domain.Line
	until              time.Time // when it is not worth an answer any more
	done               chan error
	found              commands.Shortage
	known              bool
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

// take puts the looks of the next call into batch: of one place, and of the same items.
// Those whose time is over are answered here. None ends the worker.
func (q *lookQueue) take(batch []*look) []*look {
	q.mu.Lock()
	defer q.mu.Unlock()
	now, rest := time.Now(), q.waiting[:0]
	for _, l := range q.waiting {
		switch {
		case now.After(l.until):
			l.done <- nothing(context.DeadlineExceeded)
		case len(batch) == 0 || len(batch) < maxLooks && l.place == batch[0].place && slices.Equal(l.items, batch[0].items):
			batch = append(batch, l)
		default:
			rest = append(rest, l)
		}
	}
	clear(q.waiting[len(rest):])
	q.waiting = rest
	if len(batch) == 0 {
		q.running = false
	}
	return batch
}

// SoldOut looks whether a purchase is sold out: see commands.Shortages. Concurrent
// looks of a lane share script calls. A caller that gives up is not heard before the
// call that is under way has ended.
func (g *Gate) SoldOut(ctx context.Context, r commands.Reservation) (commands.Shortage, error) {
	if err := ctx.Err(); err != nil {
		return commands.Shortage{}, nothing(err)
	}
	l := g.spare.Get().(*look)
	defer g.spare.Put(l)
	*l = look{
		buyer: "b:" + r.Buyer, place: r.Place, items: r.Items, lines: r.Lines,
		until: time.Now().Add(2 * g.opt.CallTimeout), done: l.done,
	}
	if r.Key != "" {
		l.key = "k:" + r.Key
	}
	if r.Ticket != "" {
		l.ticket = ticketField(r.Ticket)
	}
	if due, ok := ctx.Deadline(); ok && due.Before(l.until) {
		l.until = due
	}
	lane := r.Place.Lane()
	start, err := g.looks[lane].add(l, &g.running)
	if err != nil {
		return commands.Shortage{}, err
	}
	if start {
		go g.lookOut(lane)
	}
	err = <-l.done // soon: every call has an end, and take answers who waited too long
	return l.found, err
}

// lookOut makes calls until nothing waits.
func (g *Gate) lookOut(lane int) {
	defer g.running.Done()
	var c lookCall
	var debt lookDebt
	for {
		c.batch = g.looks[lane].take(c.batch[:0])
		if len(c.batch) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(g.base, g.opt.CallTimeout)
		err := g.lookAt(ctx, lane, &c)
		cancel()
		for _, l := range c.batch {
			l.done <- err
		}
		if rest := debt.after(len(c.batch), c.took); rest > 0 {
			began := time.Now()
			time.Sleep(rest)
			debt.slept(len(c.batch), time.Since(began))
		}
	}
}

// lookCall is looks on their way into arguments of the script, used again and again.
type lookCall struct {
	batch []*look
	args  []any
	whose []int // which look asked for a field
	took  time.Duration
}

// fields makes the arguments. They go by reference: a string in an interface would be
// garbage.
func (c *lookCall) fields(token string) {
	c.args, c.whose = append(c.args[:0], token), c.whose[:0]
	for i, l := range c.batch {
		c.args, c.whose = append(c.args, &l.buyer), append(c.whose, i)
		if l.key != "" {
			c.args, c.whose = append(c.args, &l.key), append(c.whose, i)
		}
		if l.ticket != "" {
			c.args, c.whose = append(c.args, &l.ticket), append(c.whose, i)
		}
	}
}

// lookAt makes one call for the batch and says who is sold out.
func (g *Gate) lookAt(ctx context.Context, lane int, looks *lookCall) error {
	first := looks.batch[0]
	looks.fields(g.opt.ProcessToken)
	began := time.Now()
	seen, err := g.runList(ctx, call{
		sale: true, script: g.scripts.soldOut, batch: len(looks.batch), args: looks.args,
		keys: append([]string{g.keys.lane(lane), g.keys.sale(first.place)}, g.keys.stocks(first.place, first.items)...),
	}, 0)
	looks.took = time.Since(began)
	if err != nil || len(seen) == 0 {
		return notHappened(err)
	}
	left := map[string]int64{}
	for i, units := range list(seen[1]) {
		left[first.items[i]] = number(units)
	}
	for _, place := range list(seen[2]) {
		looks.batch[looks.whose[number(place)-1]].known = true
	}
	limit := number(seen[0])
	at := momentOf(seen)
	for _, l := range looks.batch {
		l.found = commands.Shortage{Sold: !l.known && short(l.lines, left, limit), Moment: at, Left: domain.Unknown}
		if len(l.lines) == 1 {
			l.found.Left = max(left[l.lines[0].SKU], 0)
		}
	}
	return nil
}

// momentOf reads when the script looked.
func momentOf(seen []any) commands.GateMoment {
	const clock, next = 3, 4
	if len(seen) <= next {
		return commands.GateMoment{}
	}
	id := entryID(seen[next])
	return commands.GateMoment{At: moment(seen[clock]), Epoch: id.Epoch, Next: id.N}
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
