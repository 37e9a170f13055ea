package cli

import (
	"context"
	"errors"
	"time"

	"seckill/api"
	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/obs"
	"seckill/projections"
)

// gateScripts are the label values of the gate's scripts.
var gateScripts = [...]string{
	"sold_out",
	"reserve", "resolve", "order", "peek", "apply_stock", "apply_sale", "hold", "close_lane", "open_lane",
	"stubs", "open_hashes", "new_sale", "reset_stock", "open_preheated", "inspect", "check", "records",
}

func newMetrics() *obs.Metrics {
	known := obs.Known{
		Outcomes: api.PurchaseOutcomes(), Scripts: gateScripts[:], Alarms: append(commands.AlarmKinds(), projections.AlarmParked),
		Shards: eventstore.DefaultShards, Findings: commands.FindingKinds(), Endpoints: api.LimitedEndpoints(),
		Answers: commands.KnownAnswers(),
	}
	for _, name := range domain.SwitchNames() {
		known.Switches = append(known.Switches, string(name))
	}
	for _, p := range projections.All() {
		known.Projections = append(known.Projections, p.Name)
	}
	return obs.New(known)
}

// sampleEvery is how often the process looks at where everything stands.
const sampleEvery = time.Second

// sample shows where log, relay, projections and lanes stand, until ctx ends. A
// store that is away shows as numbers that stay.
func (a *app) sample(ctx context.Context) error {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		a.metrics.Kept(a.kept.Size())
		a.metrics.SwitchedOn(switchNames(a.switches.Everywhere()))
		a.sampleMembers()
		a.metrics.LimitedBuyers(a.markedBuyers())
		a.metrics.GateClock(a.clock.Offset())
		err := errors.Join(a.sampleQueue(ctx), a.sampleProgress(ctx))
		if err == nil {
			err = a.sampleLanes(ctx)
		}
		if err != nil && ctx.Err() == nil {
			a.log.Debug("nothing new to show", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (a *app) sampleMembers() {
	lists := a.knownMembers.Standing()
	a.metrics.MemberLists(lists.Loaded, lists.Unreadable, lists.Wrong)
}

// sampleBudget bounds looking at what is queued.
const sampleBudget = 2 * time.Second

// sampleQueue shows what is accepted and not decided. Its age goes on growing
// while a store is away.
func (a *app) sampleQueue(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sampleBudget)
	defer cancel()
	if sales, err := a.sales.List(ctx); err == nil {
		a.queueLanes = commands.QueueLanes(a.env.Store, sales)
	}
	queued, err := a.queue.Look(ctx, a.queueLanes)
	a.metrics.Queued(queued.Orders, queued.Oldest)
	return err
}

// sampleProgress shows the head, the relay's place, what is sealed, and where each
// projection and shard stands.
func (a *app) sampleProgress(ctx context.Context) error {
	d, err := a.progress.Details(ctx)
	if err != nil {
		return err
	}
	sealed, err := a.sink.LastSeal(ctx)
	if err != nil {
		return err
	}
	if sealed != nil {
		a.metrics.SealedAt(sealed.Last)
	}
	now := a.env.Now()
	a.metrics.LogAt(d.Head.Number)
	a.metrics.RelayAt(d.Relay.At.Number)
	for _, p := range d.Projections {
		place := obs.ProjectionPlace{Position: d.Head.Number, NewestAge: since(now, p.Newest), Parked: p.Parked, OldestParked: since(now, p.OldestParked)}
		for _, s := range d.Lines {
			if s.Projection != p.Projection {
				continue
			}
			lag := since(now, s.Waiting)
			a.metrics.ShardAt(s.Projection, s.Shard, s.Behind, lag)
			place.Position = min(place.Position, s.At.Number)
			place.LagEvents, place.Lag = max(place.LagEvents, s.Behind), max(place.Lag, lag)
		}
		a.metrics.ProjectionAt(p.Projection, place)
	}
	return nil
}

// since is how long ago something was, 0 for the zero time and for what a clock
// of another machine puts into the future.
func since(now, t time.Time) time.Duration {
	if t.IsZero() {
		return 0
	}
	return max(now.Sub(t), 0)
}

// sampleLanes looks at every lane that holds a sale.
func (a *app) sampleLanes(ctx context.Context) error {
	sales, err := a.sales.List(ctx)
	if err != nil {
		return err
	}
	lanes := commands.QueueLanes(a.env.Store, sales)
	cursors, err := a.sink.Cursors(ctx, lanes)
	if err != nil {
		return err
	}
	var selling, closed, missing int
	var lag int64
	for i, lane := range lanes {
		state, err := a.gate.Lane(ctx, lane)
		switch {
		case err != nil:
			return err
		case !state.Exists:
			missing++
		case state.Selling():
			selling++
		default:
			closed++
		}
		if state.Epoch == cursors[i].Epoch {
			lag += max(state.N-cursors[i].N, 0)
		}
	}
	a.metrics.Lanes(selling, closed, missing, lag)
	return nil
}
