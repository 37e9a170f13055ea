package cli

import (
	"context"
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
		Answers: commands.KnownAnswers(), Accepted: api.AcceptedPurchases(), Failures: api.FailedPurchases(),
	}
	for _, name := range domain.SwitchNames() {
		known.Switches = append(known.Switches, string(name))
	}
	for _, p := range projections.All() {
		known.Projections = append(known.Projections, p.Name)
	}
	return obs.New(known)
}

func (a *app) sampleMembers() {
	lists := a.knownMembers.Standing()
	a.metrics.MemberLists(lists.Loaded, lists.Unreadable, lists.Wrong)
}

// lookAtJournal shows what is accepted and not decided, and the lanes. Its age goes on
// growing while a store is away.
func (w *watching) lookAtJournal(ctx context.Context) (commands.Queued, error) {
	a := w.app
	sales := w.lastList()
	if sales == nil {
		return commands.Queued{}, errNoList
	}
	a.queueLanes = commands.QueueLanes(a.env.Store, sales)
	queued, err := a.queue.Look(ctx, a.queueLanes)
	a.metrics.Queued(queued.Orders, queued.Oldest)
	if !queued.Read {
		return queued, err
	}
	now := a.env.Now()
	a.metrics.JournalLag(queued.Entries)
	a.metrics.BacklogSeen(true, now)
	w.stage(obs.StageJournal, now, queued.Entries)
	return queued, a.sampleLanes(ctx)
}

// lookAtViews shows the head, the relay's place, what is sealed, and where each
// projection and shard stands.
func (w *watching) lookAtViews(ctx context.Context) (projections.Details, error) {
	a := w.app
	d, err := a.progress.Details(ctx)
	if err != nil {
		return d, err
	}
	sealed, err := a.sink.LastSeal(ctx)
	if err != nil {
		return d, err
	}
	if sealed != nil {
		a.metrics.SealedAt(sealed.Last)
	}
	now := a.env.Now()
	a.metrics.LogAt(d.Head.Number)
	a.metrics.RelayAt(d.Relay.At.Number)
	a.metrics.BacklogSeen(false, now)
	w.stage(obs.StageRelay, now, d.Head.Number-d.Relay.At.Number)
	for _, p := range d.Projections {
		place := placeOf(d, p, now)
		a.metrics.ProjectionAt(p.Projection, place)
		w.stage(p.Projection, now, place.LagEvents)
		for _, s := range d.Lines {
			if s.Projection == p.Projection {
				a.metrics.ShardAt(s.Projection, s.Shard, s.Behind, since(now, s.Waiting))
			}
		}
	}
	return d, nil
}

// placeOf is where a projection stands: where its slowest shard does.
func placeOf(d projections.Details, p projections.ProjectionDetails, now time.Time) obs.ProjectionPlace {
	place := obs.ProjectionPlace{Position: d.Head.Number, NewestAge: since(now, p.Newest), Parked: p.Parked, OldestParked: since(now, p.OldestParked)}
	for _, s := range d.Lines {
		if s.Projection != p.Projection {
			continue
		}
		place.Position = min(place.Position, s.At.Number)
		place.LagEvents, place.Lag = max(place.LagEvents, s.Behind), max(place.Lag, since(now, s.Waiting))
	}
	return place
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
	var selling, closed, missing int
	for _, lane := range a.queueLanes {
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
	}
	a.metrics.Lanes(selling, closed, missing)
	return nil
}
