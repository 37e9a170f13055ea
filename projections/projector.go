package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"seckill/eventstore"
)

// Source is the log of one event store.
type Source struct {
	Store int16
	Log   Log
}

// Options tune a projector. The zero value is usable.
type Options struct {
	// Shards must be what the relay uses and what the database was folded with;
	// default eventstore.DefaultShards.
	Shards int
	// Page is how many records are read from the store at once; default 1000.
	Page int
	// Poll is how often the projector looks whether the log has gone on without
	// it. What the bus does not bring is applied within twice this time; default
	// 80 ms.
	Poll time.Duration
	// Backoff is the first wait after a failure; it doubles up to 50 times as
	// much. Default 100 ms.
	Backoff time.Duration
	// Deadline bounds one transaction and the reading for it; default 5 s.
	Deadline time.Duration
	// Parallel bounds the transactions at the same time; default 8.
	Parallel int
	// Waiters bounds the orders that can be waited for; default 200,000.
	Waiters int
	// Tries is how often a batch is tried that fails for its events' sake, before
	// the events that cannot be applied are found and parked; default 3. What a
	// store causes is tried for ever.
	Tries int
	// MaxParked bounds the sequences of a shard that are set aside. Where more
	// fail, the events are not to blame: the shard stops; default 1000.
	MaxParked int
	// Alarm is called with AlarmParked when a sequence is set aside. Optional.
	Alarm func(kind string)
	// OnApplied, if set, is called with the records of each batch that was committed, and
	// when it began. It must not block.
	OnApplied func(ctx context.Context, projection string, records []eventstore.Record, began time.Time)
	// Doubt: batches come from a broker that outlives this process and perhaps the
	// log they were cut from. Each is compared with the log before it is applied.
	Doubt bool
	// Paused tells whether projections that are not Core stand still; they go on from
	// where they stood. Optional.
	Paused func() bool
	// Step is called at named points of a transaction (see the Step constants),
	// for tests that stop the process there. Optional.
	Step func(name string)
	// Log gets one line when a shard stops and one when it goes on; default
	// slog.Default().
	Log *slog.Logger
}

// Points of a projection's transaction at which Options.Step is called.
const (
	StepBeforeCommit = "projection.before-commit" // rows and checkpoint written
	StepAfterCommit  = "projection.after-commit"  // committed, nobody told yet
)

// Validate reports everything that is wrong with the options.
func (o Options) Validate() error {
	var errs []error
	if o.Shards < 0 || o.Shards > eventstore.MaxShards {
		errs = append(errs, fmt.Errorf("%d shards: want 1 to %d", o.Shards, eventstore.MaxShards))
	}
	if o.Page < 0 || o.Tries < 0 || o.MaxParked < 0 || o.Parallel < 0 || o.Waiters < 0 || o.Poll < 0 || o.Backoff < 0 || o.Deadline < 0 {
		errs = append(errs, errors.New("sizes and times of a projector must not be negative"))
	}
	return errors.Join(errs...)
}

func (o Options) withDefaults() Options {
	setDefault(&o.Shards, eventstore.DefaultShards)
	setDefault(&o.Page, 1000)
	setDefault(&o.Poll, 80*time.Millisecond)
	setDefault(&o.Backoff, 100*time.Millisecond)
	setDefault(&o.Deadline, 5*time.Second)
	setDefault(&o.Parallel, 8)
	setDefault(&o.Waiters, 200_000)
	setDefault(&o.Tries, 3)
	setDefault(&o.MaxParked, 1000)
	if o.Alarm == nil {
		o.Alarm = func(string) {}
	}
	if o.Paused == nil {
		o.Paused = func() bool { return false }
	}
	if o.Step == nil {
		o.Step = func(string) {}
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return o
}

func setDefault[T int | time.Duration](v *T, otherwise T) {
	if *v == 0 {
		*v = otherwise
	}
}

// keptPages is how many pages of the log the runners share.
const keptPages = 8

// Projector folds the log of one store into projections: a Runner for each
// projection and shard, fed by the bus, by the store, or by both.
type Projector struct {
	db      DB
	source  Source
	options Options
	pages   *pages
	places  *places
	hub     *Hub
	runners []*Runner
	slots   chan struct{}
	// prepared: the checkpoints stand. Before, the bus finds nothing to move.
	prepared atomic.Bool
}

// NewProjector makes a projector; Run runs it. It refuses options that do not
// validate.
func NewProjector(db DB, source Source, list []Projection, options Options) (*Projector, error) {
	if err := options.Validate(); err != nil {
		return nil, fmt.Errorf("make projector: %w", err)
	}
	options = options.withDefaults()
	p := &Projector{
		db: db, source: source, options: options,
		pages:  newPages(source.Log, options.Page, keptPages),
		places: newPlaces(source.Log),
		hub:    NewHub(options.Waiters),
		slots:  make(chan struct{}, options.Parallel),
	}
	decoders, readers := make([]decoder, options.Shards), map[string]int{}
	for _, projection := range list {
		readers[projection.Reads]++
	}
	for _, projection := range list {
		for shard := range options.Shards {
			r := newRunner(p, projection, shard)
			r.decoder, r.readers = &decoders[shard], readers[projection.Reads]
			p.runners = append(p.runners, r)
		}
	}
	return p, nil
}

// Runners gives the receivers of the bus: one per projection and shard.
func (p *Projector) Runners() []*Runner { return p.runners }

// Changes wakes who waits for orders.
func (p *Projector) Changes() *Hub { return p.hub }

// Prepare makes the checkpoints where there are none. It fails with a
// *ShardsError where a projection was folded with another number of shards, and
// with a *VersionError where its rows are of another version of its fold.
func (p *Projector) Prepare(ctx context.Context) error {
	var other error
	for _, r := range p.runners {
		if r.row.shard > 0 {
			continue
		}
		err := ensureCheckpoints(ctx, p.db, &r.projection, r.row, p.options.Shards)
		var version *VersionError
		if errors.As(err, &version) {
			other = err // all others are prepared
			continue
		}
		if err != nil {
			return fmt.Errorf("prepare the projection %s: %w", r.projection.Name, err)
		}
	}
	p.prepared.Store(true)
	return other
}

// Run prepares, applies everything there is, and keeps applying until ctx ends;
// then it finishes the transactions under way and gives nil. The bus may
// deliver before, during and after. A projection whose rows are of another
// version stands still, serving those, and goes on by itself after a rebuild.
func (p *Projector) Run(ctx context.Context) error {
	err := p.Prepare(ctx)
	var version *VersionError
	switch {
	case errors.As(err, &version):
		p.options.Log.Error("a projection stands still until it is rebuilt", "error", version, "projection", version.Projection)
	case err != nil:
		return err
	}
	var running sync.WaitGroup
	for _, r := range p.runners {
		running.Go(func() { r.run(ctx) })
	}
	p.Notify()
	p.watch(ctx)
	running.Wait()
	return nil
}

// Notify makes every runner read on from the store at once. Where the bus
// delivers, nobody needs to call it.
func (p *Projector) Notify() {
	for _, r := range p.runners {
		r.wake()
	}
}

// Stats gives the numbers of every runner.
func (p *Projector) Stats() []RunnerStats {
	all := make([]RunnerStats, len(p.runners))
	for i, r := range p.runners {
		all[i] = r.stats()
	}
	return all
}

// watch looks at the log's head now and then, and wakes the runners that fell
// behind without anybody telling them.
func (p *Projector) watch(ctx context.Context) {
	ticker := time.NewTicker(p.options.Poll)
	defer ticker.Stop()
	var head int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, r := range p.runners {
			if r.idle() && r.state.stuck(head) {
				r.wake()
			}
		}
		head = p.look(ctx, head)
	}
}

// look reads the head of the log. A head behind a checkpoint stops its shard.
func (p *Projector) look(ctx context.Context, before int64) int64 {
	places := make([]eventstore.Mark, len(p.runners))
	for i, r := range p.runners {
		places[i] = r.state.place()
	}
	ctx, cancel := context.WithTimeout(ctx, p.options.Deadline)
	defer cancel()
	head, err := p.source.Log.Head(ctx)
	if err != nil {
		return before // the runners report what keeps them from reading
	}
	for i, r := range p.runners {
		if err := behind(places[i], head); err != nil {
			r.state.fail(r, err)
			r.wake()
		}
	}
	return head.Number
}

// slot waits for leave to use the database.
func (p *Projector) slot(ctx context.Context) (release func(), err error) {
	select {
	case p.slots <- struct{}{}:
		return func() { <-p.slots }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for a turn: %w", ctx.Err())
	}
}
