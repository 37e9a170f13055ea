package projections

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"seckill/eventstore"
)

// RebuildOptions tune a rebuild. The zero value is usable, but for Lead.
type RebuildOptions struct {
	// Shards must be what the projections are folded with from then on; default
	// eventstore.DefaultShards.
	Shards int
	// Workers fold side by side; default the number of cores, 4 at most.
	Workers int
	// Page is how many records are read at once; default 5000.
	Page int
	// Batch is how many records of a shard one transaction folds; default 4000.
	Batch int
	// Lead takes the lock under which one rebuild of a projection runs at a time;
	// ok is false where somebody else holds it. held ends when it is lost.
	// Without it whoever calls sees to that.
	Lead func(ctx context.Context, name string) (held context.Context, release func(), ok bool, err error)
	// Progress is called about once a second and at the end, on one goroutine.
	Progress func(RebuildProgress)
	// Log gets what is no error of the rebuild; default slog.Default().
	Log *slog.Logger
}

// RebuildProgress is how far a rebuild is.
type RebuildProgress struct {
	// Phase is what is being done: "fill", "index", "compare", "swap", "done".
	Phase string
	// Read counts events read, Position is the last of them, Target the head of
	// the log as last seen.
	Read, Position, Target int64
	// Rate is events a second since the start, Left the time to the target at
	// that rate, 0 when unknown.
	Rate float64
	Left time.Duration
}

// RebuildReport tells what a rebuild has done.
type RebuildReport struct {
	Events int64
	// At is the place in the log that the views stood at when they were swapped.
	At    eventstore.Mark
	Views []RebuiltView
	Took  time.Duration
}

// RebuiltView is one projection that was rebuilt.
type RebuiltView struct {
	Projection string
	Version    int
	Events     int64 // folded
	Rows       int64
	// Remembered are the sequences that were set aside before and still are.
	Remembered []DeadSequence
}

// Errors of a rebuild. ErrRebuilding: another one of the same projection runs.
// ErrNothingRead: the log has events and none was read, which is no success.
// ErrLettersChanged: sequences were parked, retried or dropped meanwhile.
var (
	ErrRebuilding     = errors.New("this projection is being rebuilt by somebody else")
	ErrNothingRead    = errors.New("nothing was read, although the log has events")
	ErrLettersChanged = errors.New("the dead letters changed while rebuilding")

	// ErrForeign is the cause of a fault: no view here folds the event, but as this
	// program does not know it, it cannot tell that they do without it.
	ErrForeign = errors.New("this program does not know this event, and so cannot tell whether the views need it")
)

// Rebuild folds the whole log into new tables beside those of list, in parallel
// and verifying the hash chain as it reads, compares them with a quiet fold, and
// swaps them in one short transaction that holds the checkpoints, while live
// events flow and readers read. It stops at the first fault with a *FaultError
// (of the log, or of an event that is not set aside already) or a *ProofError;
// then, and when ctx ends, nothing has changed and it can be started again.
func Rebuild(ctx context.Context, db DB, source Source, list []Projection, options RebuildOptions) (RebuildReport, error) {
	if options.Workers < 0 || options.Page < 0 || options.Batch < 0 || options.Shards < 0 || options.Shards > eventstore.MaxShards {
		return RebuildReport{}, errors.New("workers, page, batch and shards of a rebuild must not be negative, and not more than there may be shards")
	}
	if len(list) == 0 {
		return RebuildReport{}, errors.New("name a projection to rebuild")
	}
	r := &rebuild{db: db, source: source, list: list, options: options.withDefaults(), began: time.Now()}
	ctx, release, err := r.lead(ctx)
	if err != nil {
		return RebuildReport{}, err
	}
	defer release()
	report, err := r.run(ctx)
	if err != nil {
		return report, fmt.Errorf("rebuild %s: %w", r.names(), err)
	}
	return report, nil
}

func (o RebuildOptions) withDefaults() RebuildOptions {
	setDefault(&o.Shards, eventstore.DefaultShards)
	setDefault(&o.Workers, min(runtime.NumCPU(), 4))
	setDefault(&o.Page, 5000)
	setDefault(&o.Batch, 4000)
	if o.Progress == nil {
		o.Progress = func(RebuildProgress) {}
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	if o.Lead == nil {
		o.Lead = func(ctx context.Context, _ string) (context.Context, func(), bool, error) {
			return context.WithoutCancel(ctx), func() {}, true, nil
		}
	}
	return o
}

// rebuild is one run.
type rebuild struct {
	db      DB
	source  Source
	list    []Projection
	options RebuildOptions
	began   time.Time

	shadows *shadows
	aside   map[string]remembered // by projection
	foreign foreign
	at      eventstore.Mark // everything up to here is in the tables
	tally   tally
	watch   *watcher
}

func (r *rebuild) names() string {
	names := r.list[0].Name
	for _, p := range r.list[1:] {
		names += ", " + p.Name
	}
	return names
}

// RebuildLock names the lock that a rebuild of a projection holds; see
// RebuildOptions.Lead.
func RebuildLock(projection string) string { return "rebuild " + projection }

// lead takes the lock of every projection; the context ends when one is lost.
func (r *rebuild) lead(ctx context.Context) (context.Context, func(), error) {
	ctx, cancel := context.WithCancel(ctx)
	var undo []func()
	release := func() {
		for _, f := range undo {
			f()
		}
		cancel()
	}
	for _, p := range r.list {
		held, give, ok, err := r.options.Lead(ctx, RebuildLock(p.Name))
		if err == nil && !ok {
			err = fmt.Errorf("rebuild %s: %w", p.Name, ErrRebuilding)
		}
		if err != nil {
			release()
			return nil, nil, err
		}
		stop := context.AfterFunc(held, cancel)
		undo = append(undo, func() { stop(); give() })
	}
	return ctx, release, nil
}

// cleanWithin bounds taking away what a rebuild leaves behind.
const cleanWithin = 10 * time.Second

func (r *rebuild) run(ctx context.Context) (report RebuildReport, err error) {
	if r.aside, err = r.remember(ctx, r.db); err != nil {
		return report, err
	}
	if err := r.foreign.load(ctx, r.db, r.source.Store); err != nil {
		return report, err
	}
	head, err := r.source.Log.Head(ctx)
	if err != nil {
		return report, fmt.Errorf("read the head of the log: %w", err)
	}
	if r.shadows, err = newShadows(ctx, r.db, r.tables()); err != nil {
		return report, err
	}
	r.watch = watchRebuild(ctx, r, head.Number)
	defer func() {
		r.watch.stop(err == nil)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanWithin)
		defer cancel()
		if err != nil {
			if dropErr := r.shadows.drop(ctx, r.db); dropErr != nil {
				r.options.Log.Warn("a rebuild leaves tables behind; the next one takes them away", "error", dropErr)
			}
		}
		if forgetErr := r.forget(ctx); forgetErr != nil {
			r.options.Log.Warn("a rebuild that ended is still listed", "error", forgetErr)
		}
	}()
	if err := r.build(ctx, head); err != nil {
		return report, err
	}
	return r.report(), nil
}

func (r *rebuild) tables() []string {
	var tables []string
	for _, p := range r.list {
		tables = append(tables, p.Tables...)
	}
	return tables
}

// build fills, indexes, catches up, compares and swaps.
func (r *rebuild) build(ctx context.Context, head eventstore.Mark) error {
	if err := r.fill(ctx); err != nil {
		return err
	}
	if head.Number > 0 && r.at.Number == 0 {
		return ErrNothingRead
	}
	r.watch.enter("index", 0)
	if err := r.shadows.index(ctx, r.db); err != nil {
		return err
	}
	if err := r.fill(ctx); err != nil {
		return err
	}
	r.watch.enter("compare", 0)
	if err := r.prove(ctx); err != nil {
		return err
	}
	r.watch.enter("swap", 0)
	return r.swap(ctx)
}

// report says what was done. The rows are those that were counted when the
// tables were compared; what came in the moment of the swap is not among them.
func (r *rebuild) report() RebuildReport {
	report := RebuildReport{Events: r.at.Number, At: r.at, Took: time.Since(r.began)}
	for i, p := range r.list {
		report.Views = append(report.Views, RebuiltView{
			Projection: p.Name, Version: p.Version, Events: r.tally.facts[i], Rows: r.tally.rows[i], Remembered: r.aside[p.Name].list,
		})
	}
	return report
}
