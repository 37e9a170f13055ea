package projections

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"seckill/eventstore"
)

// Runner applies one shard of the log to one projection. Batches of the bus
// and catching up from the store come to the same place; whichever is first
// moves the checkpoint, the other finds its records covered.
type Runner struct {
	p          *Projector
	projection Projection
	row        checkpoint
	kick       chan struct{}
	decoder    *decoder     // of the shard
	readers    int          // projections that fold the same events
	goal       atomic.Int64 // the end of the newest batch that was left to the store

	mu      sync.Mutex // held while applying; guards what follows
	at      eventstore.Mark
	letters int64     // what the checkpoint counts, for which parked is right
	parked  parkedSet // sequences that are set aside
	known   bool      // at, letters and parked are what the checkpoint said last
	tries   int       // attempts in a row that failed for the events' sake

	state runnerState
}

func newRunner(p *Projector, projection Projection, shard int) *Runner {
	return &Runner{
		p: p, projection: projection, kick: make(chan struct{}, 1),
		row: checkpoint{projection: projection.Name, version: projection.Version, store: p.source.Store, shard: shard},
	}
}

// Projection gives the name of the projection.
func (r *Runner) Projection() string { return r.projection.Name }

// Shard gives the shard it applies.
func (r *Runner) Shard() int { return r.row.shard }

// Deliver applies a batch of the bus. What is covered is skipped; what shows a
// gap, comes before the checkpoints are made or while the shard is stopped, or
// cannot be applied is left to the store, which is read at once. It returns when
// the batch is applied or left.
func (r *Runner) Deliver(ctx context.Context, b eventstore.Batch) {
	if b.Store != r.row.store || b.Shards != r.p.options.Shards || b.Shard != r.row.shard {
		r.state.misdirect(r, b)
		return
	}
	if r.paused() {
		return // read from the store afterwards
	}
	if !r.p.prepared.Load() || r.state.failing() {
		r.leave(b)
		return
	}
	if r.doubtful(ctx, b) {
		r.state.gap()
		r.wake() // not to its end: the log may never get there
		return
	}
	r.mu.Lock() // for the length of one page at most, where the runner catches up
	defer r.mu.Unlock()
	switch err := r.apply(ctx, b); {
	case errors.Is(err, errGap):
		r.state.gap()
		r.leave(b)
	case err != nil:
		r.state.fail(r, err)
		r.leave(b)
	}
}

// leave leaves a batch to the store, which is read at least to its end.
func (r *Runner) leave(b eventstore.Batch) {
	for {
		goal := r.goal.Load()
		if b.Last.Number <= goal || r.goal.CompareAndSwap(goal, b.Last.Number) {
			break
		}
	}
	r.wake()
}

// wake lets the runner read on from the store. It never blocks.
func (r *Runner) wake() {
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// paused tells whether the projection is to stand still.
func (r *Runner) paused() bool { return !r.projection.Core && r.p.options.Paused() }

// idle tells whether nothing is being applied right now.
func (r *Runner) idle() bool {
	free := r.mu.TryLock()
	if free {
		r.mu.Unlock()
	}
	return free
}

// run reads on from the store whenever it is woken, until ctx ends.
func (r *Runner) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.kick:
		}
		r.catchUp(ctx)
	}
}

// catchUp applies the log up to its head, as that was when it got there: it does
// not chase a log that grows, which would take many small transactions. What
// fails is tried again with growing waits, until it works or ctx ends.
func (r *Runner) catchUp(ctx context.Context) {
	wait := r.p.options.Backoff
	for ctx.Err() == nil && !r.paused() {
		more, err := r.readOn(ctx)
		if err != nil && ctx.Err() == nil {
			r.state.fail(r, err)
			r.p.pages.forget()
			sleep(ctx, wait)
			wait = min(2*wait, 50*r.p.options.Backoff)
			continue
		}
		if err == nil {
			r.state.recover(r)
			wait = r.p.options.Backoff
			if !more {
				return
			}
		}
	}
}

// readOn applies the next page of the store; more tells whether it was full, or
// ended before what was left to the store: shared pages may be a little old.
// Once begun it is not cancelled with ctx: it has its own deadline.
func (r *Runner) readOn(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.p.options.Deadline)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	failing := r.state.failing()
	r.known = r.known && !failing // whatever was wrong may have been put right
	if failing {
		// The log may have gone back, and the checkpoint with it: what was read of
		// the log before would bring events into the view that never happened.
		r.p.pages.forget()
	}
	if err := r.learn(ctx); err != nil {
		return false, err
	}
	records, err := r.p.pages.after(ctx, r.at.Number)
	if err != nil {
		return false, err
	}
	if len(records) == 0 {
		if failing {
			err = r.checkHead(ctx)
		}
		return false, err
	}
	if err := eventstore.CheckNext(r.at, &records[0]); err != nil {
		return false, err
	}
	b := eventstore.Batch{Store: r.row.store, Shard: r.row.shard, Shards: r.p.options.Shards, Prev: r.at, Last: records[len(records)-1].Head()}
	for i := range records {
		if records[i].Shard(b.Shards) == b.Shard {
			b.Records = append(b.Records, records[i])
		}
	}
	more = b.Last.Number%r.p.pages.size == 0 || b.Last.Number < r.goal.Load()
	return more, r.apply(ctx, b)
}

func (r *Runner) learn(ctx context.Context) error {
	if r.known {
		return nil
	}
	s, err := r.row.load(ctx, r.p.db)
	if err != nil {
		return err
	}
	var parked parkedSet
	if s.letters > 0 {
		if parked, err = r.row.loadParked(ctx, r.p.db); err != nil {
			return err
		}
	}
	r.at, r.letters, r.parked, r.known = s.at, s.letters, parked, true
	r.state.moved(r.at, 0)
	r.state.setAside(parked)
	return nil
}

// attempt brings the rows forward by the part of b that is not covered yet, and
// the checkpoint to the end of b, in one transaction.
func (r *Runner) attempt(ctx context.Context, b eventstore.Batch) error {
	for {
		if err := r.learn(ctx); err != nil {
			return err
		}
		if err := continues(b, r.at); err != nil {
			r.known = false
			return err
		}
		if b.Last.Number <= r.at.Number {
			return nil
		}
		applied, err := r.step(ctx, b.After(r.at))
		if err != nil {
			r.known = false // also a commit that failed may have happened
			return err
		}
		if applied {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("apply records %d to %d: %w", b.Prev.Number+1, b.Last.Number, ctx.Err())
		}
	}
}

// step writes what follows r.at; false when somebody else has moved the
// checkpoint or set sequences aside: then it must be learned again.
func (r *Runner) step(ctx context.Context, b eventstore.Batch) (bool, error) {
	began := time.Now()
	keep, late := r.parked.split(&r.projection, b.Records)
	facts, err := r.projection.facts(keep, r.decoder, r.readers)
	if err != nil {
		return false, err
	}
	if len(facts) == 0 && len(late) == 0 {
		return r.skip(ctx, b)
	}
	c := change{late: late, last: b.Last}
	if len(facts) > 0 {
		if c.rows, err = r.projection.fold(Share{Store: r.row.store, Shard: r.row.shard}, facts); err != nil {
			return false, fmt.Errorf("fold records %d to %d: %w", b.Prev.Number+1, b.Last.Number, err)
		}
	}
	done, err := r.commit(ctx, c)
	if err != nil {
		return false, fmt.Errorf("apply records %d to %d: %w", b.Prev.Number+1, b.Last.Number, err)
	}
	if done {
		r.state.moved(r.at, len(facts))
		r.p.hub.committed(c.orders())
		if r.p.options.OnApplied != nil && len(facts) > 0 {
			r.p.options.OnApplied(ctx, r.projection.Name, keep, began)
		}
	}
	return done, nil
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
