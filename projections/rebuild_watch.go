package projections

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	noteRebuild = `
insert into rebuilds (projection, version, store, position, target, started_at, seen_at)
select name, version, $3, $4, $5, $6, clock_timestamp() from unnest($1::text[], $2::int[]) as t (name, version)
on conflict (projection, store) do update set version = excluded.version, position = excluded.position,
  target = excluded.target, started_at = excluded.started_at, seen_at = excluded.seen_at`

	forgetRebuild = `delete from rebuilds where projection = any($1) and store = $2`
)

// watchEvery is how often a rebuild tells where it is.
const watchEvery = time.Second

// watcher tells how far a rebuild is: to its caller and to the table rebuilds.
type watcher struct {
	r *rebuild

	mu  sync.Mutex
	now RebuildProgress

	cancel context.CancelFunc
	done   chan struct{}
}

// watchRebuild begins with reading the log up to target.
func watchRebuild(ctx context.Context, r *rebuild, target int64) *watcher {
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{r: r, cancel: cancel, done: make(chan struct{})}
	w.enter("fill", target)
	go w.run(ctx)
	return w
}

func (w *watcher) run(ctx context.Context) {
	defer close(w.done)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	w.note(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.note(ctx)
			w.r.options.Progress(w.progress())
		}
	}
}

// stop ends the watch, with one last word about a rebuild that is done.
func (w *watcher) stop(done bool) {
	w.cancel()
	<-w.done
	if done {
		w.enter("done", 0)
		w.r.options.Progress(w.progress())
	}
}

// enter begins a phase; target 0 leaves the target as it is.
func (w *watcher) enter(phase string, target int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.Phase = phase
	w.now.Target = max(w.now.Target, target)
}

func (w *watcher) read(n int, position int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now.Read += int64(n)
	w.now.Position = position
	w.now.Target = max(w.now.Target, position)
}

func (w *watcher) progress() RebuildProgress {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.now
	if took := time.Since(w.r.began).Seconds(); took > 0 {
		p.Rate = float64(p.Read) / took
	}
	if left := p.Target - p.Position; left > 0 && p.Rate > 0 {
		p.Left = time.Duration(float64(left) / p.Rate * float64(time.Second))
	}
	return p
}

// note lists the rebuild for `checkpoints`. What cannot be listed is rebuilt all
// the same.
func (w *watcher) note(ctx context.Context) {
	p := w.progress()
	versions := make([]int32, len(w.r.list))
	for i := range w.r.list {
		versions[i] = int32(w.r.list[i].Version)
	}
	_, err := w.r.db.Exec(ctx, noteRebuild, w.r.projectionNames(), versions, w.r.source.Store, p.Position, p.Target, w.r.began)
	if err != nil && ctx.Err() == nil {
		w.r.options.Log.Warn("a rebuild is not listed", "error", err)
	}
}

// forget takes the rebuild off the list.
func (r *rebuild) forget(ctx context.Context) error {
	if _, err := r.db.Exec(ctx, forgetRebuild, r.projectionNames(), r.source.Store); err != nil {
		return fmt.Errorf("take the rebuild off the list: %w", err)
	}
	return nil
}
