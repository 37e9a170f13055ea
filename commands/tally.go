package commands

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// TallyOptions tune a Tally; zero values take the defaults.
type TallyOptions struct {
	// Look is how often it is looked which sales have ended (1 s).
	Look time.Duration
	// Grace is how long after the end a sale is tallied (3 s): by then what was asked
	// before the end is answered, and clocks that differ agree that it is over.
	Grace time.Duration
	// Budget bounds telling the log at a stop (5 s).
	Budget time.Duration
}

func (o TallyOptions) withDefaults() TallyOptions {
	o.Look = orDefault(o.Look, time.Second)
	o.Grace = orDefault(o.Grace, 3*time.Second)
	o.Budget = orDefault(o.Budget, 5*time.Second)
	return o
}

// Tally counts what this node's buyers asked the gate for, winners and losers, and
// tells the log when a sale has ended and when the node stops: sale.tallied, each
// time what was counted since the last. So several of a node add up, and nothing
// counts twice. A node that dies tells nothing; the closing statement says so.
//
// A purchase that met its buyer's own order asked for nothing new and is not
// counted. Once a sale is tallied, further refusals are not either.
type Tally struct {
	env    *Env
	sales  *Sales
	log    eventstore.Appender
	opts   TallyOptions
	shards int
	bySale sync.Map // sale id → *saleTally
}

// NewTally makes a Tally of this node; Run drives it.
func NewTally(env *Env, sales *Sales, log eventstore.Appender, opts TallyOptions) *Tally {
	return &Tally{env: env, sales: sales, log: log, opts: opts.withDefaults(), shards: min(runtime.GOMAXPROCS(0), 8)}
}

// saleTally is what was counted for a sale. Counting takes one shard at random;
// everything else belongs to the goroutine of Run.
type saleTally struct {
	sale    string
	shards  []tallyShard
	from    time.Time
	ended   time.Time // since when it is seen to be over
	rest    time.Time // told: not looked at again until then
	pending *eventstore.NewEvent
}

// purchase counts a purchase that the gate was asked for.
func (t *Tally) purchase(sale *domain.Sale, buyer string, arrived time.Time, result PurchaseResult, err error) {
	outcome := result.Outcome
	switch {
	case t == nil || result.Repeat:
		return
	case err != nil:
		outcome = domain.Refused
	case result.unseen:
		outcome = tallyUnseen
	}
	t.count(sale, domain.HomeBucket(sale.ID, buyer, sale.Terms.Buckets), arrived, outcome)
}

// count adds one purchase.
func (t *Tally) count(sale *domain.Sale, bucket int, arrived time.Time, outcome domain.Outcome) {
	st := t.of(sale)
	slice, won := sliceOf(arrived.Sub(sale.Terms.OpensAt).Milliseconds()), outcome == domain.Reserved
	s := &st.shards[0]
	if len(st.shards) > 1 {
		s = &st.shards[rand.Uint32N(uint32(len(st.shards)))]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done && !won {
		return
	}
	s.slices[slice].add(won)
	if bucket < len(s.buckets) {
		s.buckets[bucket].add(won)
	}
	if kind := 3 - int(outcome); !won && kind >= 0 && kind < tallyRefusals {
		s.refused[kind]++
	}
}

func (t *Tally) of(sale *domain.Sale) *saleTally {
	if known, ok := t.bySale.Load(sale.ID); ok {
		return known.(*saleTally)
	}
	st := &saleTally{sale: sale.ID, shards: make([]tallyShard, t.shards), from: t.env.Now()}
	for i := range st.shards {
		st.shards[i].buckets = make([]tallyCell, max(sale.Terms.Buckets, 1))
	}
	known, _ := t.bySale.LoadOrStore(sale.ID, st)
	return known.(*saleTally)
}

// Run tells the log of sales that have ended, and at the end of ctx of every sale.
func (t *Tally) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		pause(ctx, t.opts.Look)
		t.each(func(st *saleTally) {
			if err := t.look(ctx, st); err != nil && ctx.Err() == nil {
				t.env.Log.Warn("sale not tallied; tried again", "sale_id", st.sale, "error", err)
			}
		})
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), t.opts.Budget)
	defer cancel()
	t.each(func(st *saleTally) {
		if err := t.tell(last, st); err != nil {
			t.env.Log.Warn("sale not tallied before the stop: its closing statement will say that a node is missing", "sale_id", st.sale, "error", err)
		}
	})
	return nil
}

func (t *Tally) each(do func(*saleTally)) {
	t.bySale.Range(func(_, st any) bool { do(st.(*saleTally)); return true })
}

// look tells the log of a sale once it is over for good.
func (t *Tally) look(ctx context.Context, st *saleTally) error {
	now := t.env.Now()
	if now.Before(st.rest) {
		return nil
	}
	sale, err := t.sales.Get(ctx, st.sale)
	var unknown *domain.Problem
	if errors.As(err, &unknown) || sale.Cleaned {
		t.bySale.Delete(st.sale) // nobody is to be told any more
		return nil
	}
	if err != nil {
		return err
	}
	switch over := sale.Over(now); {
	case !over && !st.ended.IsZero():
		st.ended = time.Time{} // it goes on: its end was moved
		st.finish(false)
	case over && st.ended.IsZero():
		st.ended = now
	}
	if st.ended.IsZero() || now.Sub(st.ended) < t.opts.Grace {
		return nil
	}
	st.finish(true)
	if err := t.tell(ctx, st); err != nil {
		return err
	}
	st.rest = now.Add(tallyRest)
	return nil
}

// tallyRest is for how long a sale that was told is not looked at: it may go on
// when its end is moved, and has wins to tell when clocks differ much.
const tallyRest = time.Minute

// finish says whether refusals still count.
func (st *saleTally) finish(done bool) {
	for i := range st.shards {
		s := &st.shards[i]
		s.mu.Lock()
		s.done = done
		s.mu.Unlock()
	}
}

// tell appends what was counted since the last time. What could not be told is
// told the next time, as the same event: a store that kept it the first time knows.
func (t *Tally) tell(ctx context.Context, st *saleTally) error {
	for st.pending != nil || st.draw(t) {
		stream := domain.SaleStream(st.sale)
		_, err := t.log.Submit(ctx, eventstore.Work{
			Needs: eventstore.Needs{Streams: []string{stream}},
			Decide: func(look eventstore.Look) (*eventstore.Group, error) {
				if state := look.Stream(stream); state.Version == 0 || state.Type == (&domain.SaleCleaned{}).EventType() {
					return nil, nil // the stream has ended
				}
				return &eventstore.Group{Appends: []eventstore.Append{{Stream: stream, Expected: eventstore.AnyVersion, Events: []eventstore.NewEvent{*st.pending}}}}, nil
			},
		})
		if err != nil && !errors.Is(err, eventstore.ErrData) {
			return fmt.Errorf("append sale.tallied to sale %s: %w", st.sale, err)
		}
		st.pending = nil
		if err != nil {
			return fmt.Errorf("append sale.tallied to sale %s: %w", st.sale, err)
		}
	}
	return nil
}

// draw takes the counts and makes their event; false when there are none.
func (st *saleTally) draw(t *Tally) bool {
	now := t.env.Now()
	sum := st.take()
	e := sum.event()
	if e.Asked == 0 {
		return false
	}
	e.SaleID, e.Node, e.From, e.To = st.sale, t.env.Node, st.from.UTC().Truncate(time.Microsecond), now.UTC().Truncate(time.Microsecond)
	st.from = now
	stored, err := t.env.newEvent(e, st.sale, "", Meta{By: "tally", Node: t.env.Node})
	if err != nil {
		t.env.Log.Error("tally not encoded", "sale_id", st.sale, "error", err)
		return false
	}
	st.pending = &stored
	return true
}
