package cli

import (
	"context"
	"time"

	"seckill/api"
	"seckill/commands"
	"seckill/domain"
	"seckill/infra/obs"
	"seckill/projections"
)

// gateScripts are the label values of the gate's scripts.
var gateScripts = [...]string{
	"reserve", "resolve", "order", "peek", "apply_stock", "apply_sale", "hold", "close_lane", "open_lane",
	"stubs", "open_hashes", "new_sale", "reset_stock", "open_preheated", "check",
}

func newMetrics() *obs.Metrics {
	known := obs.Known{
		Outcomes: api.PurchaseOutcomes(), Scripts: gateScripts[:], Alarms: commands.AlarmKinds(),
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
		err := a.sampleProgress(ctx)
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

// sampleProgress shows the head, the relay's place, and the slowest shard of each
// projection.
func (a *app) sampleProgress(ctx context.Context) error {
	stats, err := a.progress.Stats(ctx)
	if err != nil {
		return err
	}
	a.metrics.LogAt(stats.Head.Number)
	a.metrics.RelayAt(stats.Relay.At.Number)
	slowest := map[string]int64{}
	for _, s := range stats.Shards {
		if at, ok := slowest[s.Projection]; !ok || s.At.Number < at {
			slowest[s.Projection] = s.At.Number
		}
	}
	for name, at := range slowest {
		a.metrics.ProjectionAt(name, at, stats.Head.Number)
	}
	return nil
}

// sampleLanes looks at every lane that holds a sale.
func (a *app) sampleLanes(ctx context.Context) error {
	sales, err := a.sales.List(ctx)
	if err != nil {
		return err
	}
	var lanes []int
	seen := map[int]bool{}
	for _, sale := range sales {
		for _, place := range commands.Places(a.env.Store, sale.Sale) {
			if lane := place.Lane(); !seen[lane] && sale.StateAt(a.env.Now()) != domain.SaleStateCleaned {
				seen[lane], lanes = true, append(lanes, lane)
			}
		}
	}
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
