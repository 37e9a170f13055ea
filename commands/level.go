package commands

import (
	"context"
	"sync"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// LevelGate is what a Leveller asks of the gate.
type LevelGate interface {
	Levels
	Mover
}

// LevelLog is what a Leveller asks of the log.
type LevelLog interface {
	Cursors(ctx context.Context, lanes []int) ([]eventstore.Cursor, error)
	States(ctx context.Context, streams []string) ([]eventstore.StreamState, error)
}

// LevellerOptions tune a Leveller; zero values take the defaults.
type LevellerOptions struct {
	// Pace is the least time between the beginnings of two looks at a sale for which
	// somebody waits (10 ms), and a random part of it is added: so that a crowd shares
	// looks, and two processes do not go on in step.
	Pace time.Duration
	// Most bounds how many wait for units of a sale at once (256). Who comes beyond it
	// is still told whether the sale is sold out, or else that it is busy.
	Most int
	// CallBudget bounds one question to a store (250 ms).
	CallBudget time.Duration
	// OnMove, if set, hears of each move that the gate took.
	OnMove func(units int64)
	// OnFlight, if set, hears how many units this process moved that have not landed,
	// whenever that changes.
	OnFlight func(units int64)
	// OnLook, if set, hears of each look at the buckets of a sale.
	OnLook func()
}

func (o LevellerOptions) withDefaults() LevellerOptions {
	o.Pace = orDefault(o.Pace, 10*time.Millisecond)
	o.Most = orDefault(o.Most, 256)
	o.CallBudget = orDefault(o.CallBudget, 250*time.Millisecond)
	if o.OnMove == nil {
		o.OnMove = func(int64) {}
	}
	if o.OnFlight == nil {
		o.OnFlight = func(int64) {}
	}
	if o.OnLook == nil {
		o.OnLook = func() {}
	}
	return o
}

// Brought is what a Leveller says to one whose bucket ran short.
type Brought int

// Answers of a Leveller.
const (
	// UnitsAway: units are elsewhere or on their way, or nobody can say now. This is
	// never sold out.
	UnitsAway Brought = iota
	// UnitsHere: the bucket has enough now; somebody else may be faster.
	UnitsHere
	// UnitsNone: at one moment since the question was asked, all buckets together had
	// fewer units of an item than were asked for, and none was on its way.
	UnitsNone
)

// Leveller moves units between the buckets of sales, to where they are asked for, so
// that every unit is sold; and it alone says that a sale of several buckets is sold out.
// A move is journal and log like everything that leaves and enters the gate: a process
// that dies anywhere loses none, and two Levellers at once only move more than needed.
type Leveller struct {
	env    *Env
	gate   LevelGate
	log    LevelLog
	follow *Follower
	opts   LevellerOptions

	base    context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	closed bool
	sales  map[string]*levelSale
}

// levelSale is what a Leveller knows of a sale. One worker at a time has look, pending
// and lows; the rest stands under the Leveller's lock.
type levelSale struct {
	sale    domain.Sale
	asks    []*levelAsk
	even    bool // a sweep wishes for a round
	working bool

	none    *noneLeft
	pending []pendingMove
}

// levelAsk is one who waits for units in a bucket.
type levelAsk struct {
	bucket int
	lines  []domain.Line
	until  time.Time
	done   chan Brought
}

// NewLeveller makes a Leveller; Close ends it.
func NewLeveller(env *Env, gate LevelGate, log LevelLog, follow *Follower, opts LevellerOptions) *Leveller {
	l := &Leveller{env: env, gate: gate, log: log, follow: follow, opts: opts.withDefaults(), sales: map[string]*levelSale{}}
	l.base, l.cancel = context.WithCancel(context.Background())
	return l
}

// Close answers everybody who waits, and waits for what is under way.
func (l *Leveller) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel()
	l.running.Wait()
}

// Bring brings units to a bucket of a sale that has fewer than lines ask for, and waits
// for them until ctx ends.
func (l *Leveller) Bring(ctx context.Context, sale *domain.Sale, bucket int, lines []domain.Line) Brought {
	until, bounded := ctx.Deadline()
	if !bounded || ctx.Err() != nil {
		return UnitsAway
	}
	ask := &levelAsk{bucket: bucket, lines: lines, until: until, done: make(chan Brought, 1)}
	if !l.wake(sale, ask) {
		return UnitsAway
	}
	return <-ask.done // soon: every question of a round has an end
}

// maxLevelled bounds the sales that are remembered while nobody waits.
const maxLevelled = 10_000

// wake queues an ask, nil for a sweep's, and starts the sale's worker unless it runs.
func (l *Leveller) wake(sale *domain.Sale, ask *levelAsk) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	s := l.sales[sale.ID]
	if s == nil {
		l.forget()
		s = &levelSale{}
		l.sales[sale.ID] = s
	}
	s.sale = *sale
	if ask == nil {
		s.even = true
	} else {
		s.asks = append(s.asks, ask)
	}
	if !s.working {
		s.working = true
		l.running.Go(func() { l.work(s) })
	}
	return true
}

// forget makes room for another sale. The caller holds the lock.
func (l *Leveller) forget() {
	if len(l.sales) < maxLevelled {
		return
	}
	for id, s := range l.sales {
		if !s.working {
			delete(l.sales, id)
		}
	}
}

// setPending notes which moves of a sale have not landed.
func (l *Leveller) setPending(s *levelSale, all []pendingMove) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.pending = all
	var units int64
	for _, s := range l.sales {
		for _, p := range s.pending {
			units += p.Quantity
		}
	}
	l.opts.OnFlight(units)
}

// take gives those who wait now, and whether a sweep wishes for a round; ok is false,
// and the worker ends, when there is nothing to do.
func (l *Leveller) take(s *levelSale, waiting []*levelAsk) (asks []*levelAsk, sale domain.Sale, even, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	asks, even = append(waiting, s.asks...), s.even
	s.asks, s.even = nil, false
	if l.closed || (len(asks) == 0 && !even && len(s.pending) == 0) {
		s.working = false
		for _, a := range asks {
			a.done <- UnitsAway
		}
		return nil, sale, false, false
	}
	return asks, s.sale, even, true
}

// work makes rounds until nobody waits and nothing is on its way.
func (l *Leveller) work(s *levelSale) {
	var waiting []*levelAsk
	for {
		asks, sale, even, ok := l.take(s, waiting)
		if !ok {
			return
		}
		began := time.Now()
		waiting = l.round(s, &sale, asks, even)
		if len(waiting) > l.opts.Most {
			for _, a := range waiting[l.opts.Most:] {
				a.done <- UnitsAway
			}
			waiting = waiting[:l.opts.Most]
		}
		l.rest(began)
	}
}

// step bounds one question to a store.
func (l *Leveller) step() (context.Context, context.CancelFunc) {
	return context.WithTimeout(l.base, l.opts.CallBudget)
}
