package admission

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"
)

// Options tune a Limiter; zero values take the defaults.
type Options struct {
	// Floor and Cap bound the ceiling (128, 1,024).
	Floor, Cap int
	// Queue bounds who waits at an opening; 0: nobody does.
	Queue int
	// Wait bounds the waiting of one (300 ms).
	Wait time.Duration
	// Target is the mean time of a gate call that is still good (100 ms). Where even an
	// idle gate takes long, three times its best is.
	Target time.Duration
	// Opening tells whether a sale has opened in the last two seconds. It must not
	// ask anybody. Nil: no sale ever has.
	Opening func(sale string) bool
	// Now is the clock (time.Now).
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	set := func(n *int, value int) {
		if *n == 0 {
			*n = value
		}
	}
	set(&o.Floor, 128)
	set(&o.Cap, 1024)
	if o.Wait == 0 {
		o.Wait = 300 * time.Millisecond
	}
	if o.Target == 0 {
		o.Target = 100 * time.Millisecond
	}
	if o.Opening == nil {
		o.Opening = func(string) bool { return false }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Validate reports everything that is wrong with the options.
func (o Options) Validate() error {
	o = o.withDefaults()
	var errs []error
	if o.Floor < 1 || o.Cap < o.Floor {
		errs = append(errs, errors.New("the floor of an admission must be at least 1 and at most its cap"))
	}
	if o.Queue < 0 || o.Wait < 0 || o.Target < 0 {
		errs = append(errs, errors.New("queue, wait and target of an admission must not be negative"))
	}
	return errors.Join(errs...)
}

// startAt is the ceiling before anything is known.
const startAt = 256

// Limiter lets purchases in. It is safe for concurrent use and never blocks but
// in its queue.
type Limiter struct {
	opts Options

	mu       sync.Mutex
	ceiling  float64
	inside   int
	waiting  list.List // of *waiter, first come first
	pace     pace
	refused  uint64
	outdated uint64
}

// waiter stands in the queue; in is closed when it is let in.
type waiter struct{ in chan struct{} }

// New makes a Limiter.
func New(opts Options) (*Limiter, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	return &Limiter{
		opts: opts, ceiling: float64(min(max(startAt, opts.Floor), opts.Cap)), pace: pace{began: opts.Now()},
	}, nil
}

// Ready tells whether a purchase in sale that came now would be let in or could
// wait. It takes no place; a refusal is counted.
func (l *Limiter) Ready(sale string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.free() || l.mayWait(sale) {
		return true
	}
	l.refused++
	return false
}

// Enter lets a purchase in sale in, perhaps after a wait, or refuses it. Whoever
// was let in must Leave.
func (l *Limiter) Enter(ctx context.Context, sale string) bool {
	l.mu.Lock()
	if l.free() {
		l.take()
		l.mu.Unlock()
		return true
	}
	if !l.mayWait(sale) {
		l.refused++
		l.mu.Unlock()
		return false
	}
	w := &waiter{in: make(chan struct{})}
	place := l.waiting.PushBack(w)
	l.mu.Unlock()
	return l.wait(ctx, w, place)
}

func (l *Limiter) wait(ctx context.Context, w *waiter, place *list.Element) bool {
	patience := time.NewTimer(l.opts.Wait)
	defer patience.Stop()
	select {
	case <-w.in:
		return true
	case <-patience.C:
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-w.in: // let in at the same moment
		return true
	default:
	}
	l.waiting.Remove(place)
	l.outdated++
	return false
}

// Leave gives a place back; the first in the queue gets it.
func (l *Limiter) Leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inside--
	l.letIn()
}

// Observe is told how long a call to the gate took, whatever came of it.
func (l *Limiter) Observe(took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.opts.Now()
	if !l.pace.add(now, took) {
		return
	}
	l.ceiling = l.pace.next(l.ceiling, l.opts)
	l.pace.restart(now, l.inside)
	l.letIn()
}

// Stats is how a Limiter stands.
type Stats struct {
	Ceiling, Inside, Waiting int
	// Refused were turned away at once, Outdated after they had waited.
	Refused, Outdated uint64
}

// Stats gives how it stands.
func (l *Limiter) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Stats{Ceiling: int(l.ceiling), Inside: l.inside, Waiting: l.waiting.Len(), Refused: l.refused, Outdated: l.outdated}
}

// free: there is room, and nobody waits for it.
func (l *Limiter) free() bool { return l.inside < int(l.ceiling) && l.waiting.Len() == 0 }

func (l *Limiter) mayWait(sale string) bool {
	return l.waiting.Len() < l.opts.Queue && l.opts.Opening(sale)
}

func (l *Limiter) take() {
	l.inside++
	l.pace.peak = max(l.pace.peak, l.inside)
}

func (l *Limiter) letIn() {
	for l.waiting.Len() > 0 && l.inside < int(l.ceiling) {
		w := l.waiting.Remove(l.waiting.Front()).(*waiter)
		l.take()
		close(w.in)
	}
}
