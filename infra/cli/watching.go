package cli

import (
	"context"
	"slices"
	"sync"
	"time"

	"seckill/commands"
	"seckill/infra/lookout"
	"seckill/infra/obs"
	"seckill/infra/pg"
	"seckill/infra/redisgate"
	"seckill/projections"
)

// watching looks at what one application stands on, for metrics and for operators. Each
// part has a loop of its own: a store that hangs holds up no other part.
type watching struct {
	app   *app
	redis *gateWatch

	servers  *lookout.Part[[]redisgate.ServerSeen]
	activity *lookout.Part[pg.Activity]
	journal  *lookout.Part[commands.Queued]
	views    *lookout.Part[projections.Details]
	sales    *lookout.Part[salesSeen]
	listed   *lookout.Part[[]commands.FoldedSale]

	mu      sync.Mutex
	growing map[string]*lookout.Series // by stage
	pools   *lookout.Series            // seconds waited, in the order of poolNames
	names   []string                   // of pools
	known   []commands.FoldedSale      // the list that was read last
}

// Times of the parts.
const (
	// sampleEvery is how often the process looks at where everything stands.
	sampleEvery = time.Second
	// salesEvery is how often it asks what is left of each item.
	salesEvery = 2 * time.Second
	// sampleBudget bounds a look.
	sampleBudget = 2 * time.Second
	// growthOver is the time that growth is told of.
	growthOver = 10 * time.Second
)

func newWatching(a *app) *watching {
	w := &watching{app: a, redis: newGateWatch(a), growing: map[string]*lookout.Series{}, pools: lookout.NewSeries(growthOver)}
	opt := lookout.Options{Now: a.env.Now, Every: sampleEvery, Budget: sampleBudget}
	w.servers = lookout.NewPart(opt, w.redis.look)
	w.activity = lookout.NewPart(opt, w.lookAtActivity)
	w.journal = lookout.NewPart(opt, w.lookAtJournal)
	w.views = lookout.NewPart(opt, w.lookAtViews)
	opt.Every = salesEvery
	w.listed = lookout.NewPart(opt, a.sales.List)
	w.sales = lookout.NewPart(opt, w.lookAtSales)
	a.metrics.Watching(a.env.Now())
	return w
}

// run looks at everything until ctx ends.
func (w *watching) run(ctx context.Context) error {
	var parts sync.WaitGroup
	for _, part := range []func(context.Context) error{w.servers.Run, w.activity.Run, w.journal.Run, w.views.Run, w.listed.Run, w.sales.Run, w.sample} {
		parts.Go(func() { _ = part(ctx) }) // a part ends with ctx alone, and without an error
	}
	parts.Wait()
	return nil
}

// sample shows what no store has to be asked for.
func (w *watching) sample(ctx context.Context) error {
	a := w.app
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		a.metrics.Kept(a.kept.Size())
		a.metrics.SwitchedOn(switchNames(a.switches.Everywhere()))
		a.sampleMembers()
		a.metrics.LimitedBuyers(a.markedBuyers())
		a.metrics.GateClock(a.clock.Offset())
		w.samplePools()
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// samplePools remembers how long everybody has waited for connections.
func (w *watching) samplePools() {
	now := w.app.metrics.PoolsNow()
	w.mu.Lock()
	defer w.mu.Unlock()
	names := make([]string, 0, len(now))
	for name := range now {
		names = append(names, name)
	}
	slices.Sort(names)
	if !slices.Equal(names, w.names) { // one was opened
		w.names, w.pools = names, lookout.NewSeries(growthOver)
	}
	waited := make([]float64, len(names))
	for i, name := range names {
		waited[i] = now[name].Waited.Seconds()
	}
	w.pools.Add(w.app.env.Now(), waited...)
}

// lookAtActivity asks what the sessions of the database do.
func (w *watching) lookAtActivity(ctx context.Context) (pg.Activity, error) {
	seen, err := pg.LookAtActivity(ctx, w.app.pool, w.app.settings.SlowStatement)
	if err != nil {
		return seen, err
	}
	w.app.metrics.Postgres(obs.PostgresSeen{
		At: w.app.env.Now(), Active: seen.Active, Idle: seen.Idle, IdleInTransaction: seen.IdleInTransaction, Other: seen.Other,
		Max: seen.Max, LockWaits: seen.WaitingForLocks, Slow: len(seen.Slow), Oldest: seen.Oldest,
	})
	return seen, nil
}

// stage remembers what waits at a stage, and shows it.
func (w *watching) stage(name string, at time.Time, waiting int64) {
	w.mu.Lock()
	if w.growing[name] == nil {
		w.growing[name] = lookout.NewSeries(growthOver)
	}
	w.growing[name].Add(at, float64(waiting))
	w.mu.Unlock()
	growth := 0.0
	if g := w.growth(name); g != nil {
		growth = *g
	}
	w.app.metrics.Backlog(name, waiting, growth)
}

// growth is how much waits more at a stage each second; nil while that is not known.
func (w *watching) growth(stage string) *float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	series := w.growing[stage]
	if series == nil {
		return nil
	}
	rates, ok := series.PerSecond()
	if !ok {
		return nil
	}
	return &rates[0]
}
