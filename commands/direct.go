package commands

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// DirectLog is what a Direct asks of the store.
type DirectLog interface {
	eventstore.Appender
	eventstore.Reader
	eventstore.Looker
}

// DirectOptions tune a Direct; zero values take the defaults.
type DirectOptions struct {
	// Life is for how long after its beginning, by the store's clock, a purchase may
	// still be placed (2 s). An order that nobody knows is lost no sooner than that.
	Life time.Duration
	// LookEvery is the least time between the beginnings of two shared looks (1 ms).
	LookEvery time.Duration
}

func (o DirectOptions) withDefaults() DirectOptions {
	o.Life = orDefault(o.Life, 2*time.Second)
	o.LookEvery = orDefault(o.LookEvery, time.Millisecond)
	return o
}

// Direct is the Gate of sales with the strategy postgres: there is no gate. It judges
// a purchase while the log lock is held, by the same rules in the same order, and
// stores guard, claim and events in that one transaction: what it answers with
// domain.Reserved is recorded. The store's appender makes one transaction of all that
// wait, so that a hot item's guard is read and written once a batch. A crowd that is
// refused anyway is refused by a shared look without the lock.
//
// A purchase may be placed only until a deadline of the store's clock, and an order
// that the log does not know is a tombstone only when the deadline of every purchase
// that could bring it is over: nothing has to be written for that.
type Direct struct {
	env   *Env
	sales *Sales
	log   DirectLog
	opts  DirectOptions

	looks sharedLooks

	running sync.WaitGroup
	mu      sync.Mutex
	// seen is the latest time of the store's clock that was seen here.
	seen time.Time
	// refusing are the sales whose last purchase was refused for what its buyer cannot
	// help: the next one looks before it asks for the lock.
	refusing map[string]bool
	// doubt: the log did not answer a moment ago. Until it answers a look no purchase is
	// sent to it: it would only be one more whose outcome nobody knows.
	doubt bool
	// flights are the orders of purchases under way; void are those that came to nothing
	// after their callers had left, so that these can be told.
	flights map[string]int
	void    map[string]bool
	// unknown says since when orders are known not to be in the log, by its clock.
	unknown map[string]time.Time
}

// flight is a purchase on its way into the log. verdict and err stand once done is
// closed.
type flight struct {
	done    chan struct{}
	verdict Verdict
	err     error
	left    bool // whether nobody waits for it any more; guarded by Direct.mu
}

// NewDirect makes a Direct. Close it.
func NewDirect(env *Env, sales *Sales, log DirectLog, opts DirectOptions) *Direct {
	d := &Direct{
		env: env, sales: sales, log: log, opts: opts.withDefaults(),
		refusing: map[string]bool{}, flights: map[string]int{}, void: map[string]bool{}, unknown: map[string]time.Time{},
	}
	d.looks.every = d.opts.LookEvery
	return d
}

// Close waits until the outcome of everything under way is known, or ctx ends.
func (d *Direct) Close(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		d.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for purchases on their way into the log: %w", ctx.Err())
	}
}

// directTries bounds how often one purchase is judged anew because its sale, its
// buyer's tickets or the store's clock had moved.
const directTries = 8

// Reserve is Gate's. An answer with domain.Reserved has the order as it was placed.
func (d *Direct) Reserve(ctx context.Context, r Reservation) (Verdict, error) {
	if err := r.Check(d.env.Store); err != nil {
		return Verdict{}, &GateError{Err: err}
	}
	sale, err := d.sales.Get(ctx, r.Place.Sale)
	if err != nil {
		return Verdict{}, &GateError{Err: err}
	}
	q := &question{d: d, r: &r, sale: &sale, terms: sale.Judged()}
	for range directTries {
		v, err := d.once(ctx, q)
		if err == nil || !q.again(err) {
			d.note(r.Place.Sale, v, err)
			return v, err
		}
		if err := q.learn(ctx, err); err != nil {
			return Verdict{}, &GateError{Err: err}
		}
	}
	return Verdict{}, &GateError{Err: errors.New("what the purchase is judged by kept changing")}
}

// once judges by a shared look where that is likely to be the answer, or the log may
// be away, and else under the log lock.
func (d *Direct) once(ctx context.Context, q *question) (Verdict, error) {
	d.mu.Lock()
	look := d.doubt || d.refusing[q.r.Place.Sale]
	q.deadline = d.seen.Add(d.opts.Life)
	d.mu.Unlock()
	if look {
		v, err := d.glance(ctx, q)
		if err != nil || v.Outcome != domain.Reserved {
			return v, err
		}
	}
	return d.place(ctx, q)
}

// note remembers how a sale answers.
func (d *Direct) note(sale string, v Verdict, err error) {
	if err != nil {
		return
	}
	refused := false
	switch v.Outcome {
	case domain.SoldOut, domain.TooEarly, domain.Ended, domain.Paused, domain.NotReady:
		refused = true
	case domain.Reserved:
	default:
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case refused:
		d.refusing[sale] = true
	case d.refusing[sale]:
		delete(d.refusing, sale)
	}
}

// landing is how much longer than its caller waits a purchase is waited for: one that
// no batch has taken yet is given up in that time, and then nothing happened.
const landing = 20 * time.Millisecond

// place judges under the log lock, on a goroutine that outlives an impatient caller:
// the outcome is unknown then.
func (d *Direct) place(ctx context.Context, q *question) (Verdict, error) {
	f := &flight{done: make(chan struct{})}
	order := q.r.Order
	d.mu.Lock()
	d.flights[order]++
	delete(d.void, order)
	d.mu.Unlock()
	asked := *q // its caller may judge it again meanwhile
	d.running.Go(func() {
		f.verdict, f.err = asked.submit(ctx)
		d.landed(order, f)
		close(f.done)
	})
	select {
	case <-f.done:
		return f.arrived(q, &asked)
	case <-ctx.Done():
	}
	patience := time.NewTimer(landing)
	defer patience.Stop()
	select {
	case <-f.done:
		return f.arrived(q, &asked)
	case <-patience.C:
	}
	d.mu.Lock()
	f.left, d.doubt = true, true
	d.mu.Unlock()
	return Verdict{}, &GateError{Unknown: true, Err: ctx.Err()}
}

// arrived gives the outcome to a caller who has waited for it.
func (f *flight) arrived(q, asked *question) (Verdict, error) {
	q.head = asked.head
	return f.verdict, f.err
}

// maxVoid bounds the purchases that are remembered as come to nothing.
const maxVoid = 10_000

// landed notes that a purchase is under way no more, and whether it came to nothing
// after its caller had left. Of one that came to an order the log tells.
func (d *Direct) landed(order string, f *flight) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.flights[order]--; d.flights[order] == 0 {
		delete(d.flights, order)
	}
	if errors.Is(f.err, eventstore.ErrUnavailable) || IsUnknown(f.err) {
		d.doubt = true
	}
	placed := f.err == nil && f.verdict.Order == order
	if !f.left || placed || IsUnknown(f.err) {
		return
	}
	if len(d.void) >= maxVoid {
		clear(d.void)
	}
	d.void[order] = true
}

// saw takes in a time of the store's clock.
func (d *Direct) saw(now time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now.After(d.seen) {
		d.seen = now
	}
}
