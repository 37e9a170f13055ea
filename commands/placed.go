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

// PlacedLog is what Placed asks the log.
type PlacedLog interface {
	Cursors(ctx context.Context, lanes []int) ([]eventstore.Cursor, error)
	States(ctx context.Context, streams []string) ([]eventstore.StreamState, error)
}

// PlacedOptions tune a Placed; zero values take the defaults.
type PlacedOptions struct {
	// Poll is how often the log is asked while somebody waits (5 ms).
	Poll time.Duration
	// Budget bounds one wait whose caller has no earlier deadline (800 ms).
	Budget time.Duration
	// Most bounds how many wait at once (8,192); who comes then does not wait.
	Most int
}

func (o PlacedOptions) withDefaults() PlacedOptions {
	o.Poll = orDefault(o.Poll, 5*time.Millisecond)
	o.Budget = orDefault(o.Budget, 800*time.Millisecond)
	o.Most = orDefault(o.Most, 8192)
	return o
}

// Placed tells when the log has decided accepted purchases. However many wait,
// there is one watcher: while anybody does, it asks for the cursors of all the lanes
// waited for in one statement, and where a cursor has passed an entry, it looks at
// the streams of its orders in one more. What this process records itself it hears
// without asking. Nobody has a timer of his own.
type Placed struct {
	env  *Env
	log  PlacedLog
	opts PlacedOptions
	wake chan struct{}

	mu      sync.Mutex
	running bool
	failing bool
	orders  map[string]*placing
	lanes   map[int][]*placing // in the order of their coming
	swept   time.Time
}

// placing is one who waits for his order.
type placing struct {
	order string
	entry domain.EntryID
	due   time.Time
	// again is when a stream that said nothing is looked at again.
	again time.Time
	gone  bool
	done  chan eventstore.StreamState // the zero value: not decided in time
}

// NewPlaced makes a Placed; until Run runs, and after it, nobody waits.
func NewPlaced(env *Env, log PlacedLog, opts PlacedOptions) *Placed {
	return &Placed{
		env: env, log: log, opts: opts.withDefaults(), wake: make(chan struct{}, 1),
		orders: map[string]*placing{}, lanes: map[int][]*placing{},
	}
}

// Wait gives where the stream of an accepted order stands as soon as the log has
// decided it. ok is false when the budget, or the deadline of ctx, came first, or
// nobody watches. A caller who hangs up is waited for all the same.
func (p *Placed) Wait(ctx context.Context, lane int, order string, entry domain.EntryID) (state eventstore.StreamState, ok bool) {
	w := &placing{order: order, entry: entry, due: time.Now().Add(p.opts.Budget), done: make(chan eventstore.StreamState, 1)}
	if end, has := ctx.Deadline(); has && end.Before(w.due) {
		w.due = end
	}
	if !p.add(lane, w) {
		return eventstore.StreamState{}, false
	}
	state = <-w.done
	return state, state.Version > 0
}

func (p *Placed) add(lane int, w *placing) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, twice := p.orders[w.order]; twice || !p.running || len(p.orders) >= p.opts.Most {
		return false
	}
	p.orders[w.order] = w
	p.lanes[lane] = append(p.lanes[lane], w)
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return true
}

// Waiting is how many wait.
func (p *Placed) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.orders)
}

// Heard takes in what this process has stored.
func (p *Placed) Heard(records []eventstore.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.orders) == 0 {
		return
	}
	for i := range records {
		r := &records[i]
		if w, ok := p.orders[r.OrderID]; ok && r.Stream == domain.OrderStream(r.OrderID) {
			p.end(w, eventstore.StreamState{Version: r.Version, Type: r.Type, Hash: r.Hash})
		}
	}
}

// end tells one what became of his order. The caller holds the lock.
func (p *Placed) end(w *placing, state eventstore.StreamState) {
	if w.gone {
		return
	}
	w.gone = true
	delete(p.orders, w.order)
	w.done <- state
}

// Run watches until ctx ends; then nobody waits any longer.
func (p *Placed) Run(ctx context.Context) error {
	p.mu.Lock()
	p.running = true
	p.mu.Unlock()
	defer p.stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-p.wake:
			p.watch(ctx)
		}
	}
}

func (p *Placed) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = false
	for _, w := range p.orders {
		p.end(w, eventstore.StreamState{})
	}
	p.lanes = map[int][]*placing{}
}

// watch asks the log until nobody waits. One question at a time is under way, and
// while it is, those whose time is over are told so.
func (p *Placed) watch(ctx context.Context) {
	var looks sync.WaitGroup
	defer looks.Wait()
	tick := time.NewTicker(p.opts.Poll)
	defer tick.Stop()
	looked, looking := make(chan struct{}, 1), false
	for {
		select {
		case <-ctx.Done():
			return
		case <-looked:
			looking = false
		case <-tick.C:
			switch left := p.expire(); {
			case looking:
			case left == 0:
				return
			default:
				looking = true
				looks.Go(func() {
					p.look(ctx)
					looked <- struct{}{}
				})
			}
		}
	}
}

// expireEvery is how exactly a deadline is kept.
const expireEvery = 20 * time.Millisecond

// expire tells those whose time is over that it is, and how many wait.
func (p *Placed) expire() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.swept) >= expireEvery {
		p.swept = now
		for _, w := range p.orders {
			if !now.Before(w.due) {
				p.end(w, eventstore.StreamState{})
			}
		}
	}
	return len(p.orders)
}

// Bounds of one look.
const (
	placedLook  = time.Second // of its two kinds of statements together
	placedPage  = 1000        // streams of one statement
	placedAgain = 100 * time.Millisecond
)

// look asks the log once, and tells those whose orders it has decided.
func (p *Placed) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, placedLook)
	defer cancel()
	err := p.ask(ctx)
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	p.mu.Lock()
	first := err != nil && !p.failing
	p.failing = err != nil
	p.mu.Unlock()
	if first {
		p.env.Log.Warn("what the log decided is not known for now; buyers are told that their orders are queued", "error", err)
	}
}

func (p *Placed) ask(ctx context.Context) error {
	lanes := p.waitedFor()
	if len(lanes) == 0 {
		return nil
	}
	cursors, err := p.log.Cursors(ctx, lanes)
	if err != nil {
		return fmt.Errorf("read cursors: %w", err)
	}
	for i := range cursors {
		cursors[i].Lane = lanes[i]
	}
	passed := p.passed(cursors)
	for len(passed) > 0 {
		page := passed[:min(len(passed), placedPage)]
		passed = passed[len(page):]
		streams := make([]string, len(page))
		for i, w := range page {
			streams[i] = domain.OrderStream(w.order)
		}
		states, err := p.log.States(ctx, streams)
		if err != nil {
			return fmt.Errorf("read the states of %d orders: %w", len(streams), err)
		}
		p.decide(page, states)
	}
	return nil
}

// waitedFor lists the lanes of those who wait, and forgets all others.
func (p *Placed) waitedFor() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var lanes []int
	for lane, all := range p.lanes {
		left := all[:0]
		for _, w := range all {
			if !w.gone {
				left = append(left, w)
			}
		}
		clear(all[len(left):])
		if p.lanes[lane] = left; len(left) == 0 {
			delete(p.lanes, lane)
			continue
		}
		lanes = append(lanes, lane)
	}
	return lanes
}

// passed lists those whose entry a cursor has passed. An entry of an epoch that is
// over, or one that nobody saw, says nothing: then the stream is looked at from time
// to time.
func (p *Placed) passed(cursors []eventstore.Cursor) []*placing {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	var passed []*placing
	for _, c := range cursors {
		for _, w := range p.lanes[c.Lane] {
			in := w.entry.N > 0 && w.entry.Epoch == c.Epoch
			if !w.gone && !now.Before(w.again) && (!in && w.entry.Epoch <= c.Epoch || in && w.entry.N <= c.N) {
				w.again = now.Add(placedAgain)
				passed = append(passed, w)
			}
		}
	}
	return passed
}

func (p *Placed) decide(page []*placing, states []eventstore.StreamState) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, w := range page {
		if states[i].Version > 0 {
			p.end(w, states[i])
		}
	}
}
