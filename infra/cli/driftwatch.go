package cli

import (
	"context"
	"time"

	"seckill/commands"
	"seckill/infra/obs"
)

// reconcileLead is the leader lock of the rounds of reconciliation.
const reconcileLead = "reconcile"

// watchDrift reconciles all sales whenever this process leads that, until ctx ends.
func (a *app) watchDrift(ctx context.Context) error {
	watch := &commands.DriftWatch{
		Env: a.env, Sales: a.sales, Reconcile: a.reconciler.Reconcile, Operator: a.operator, Every: a.settings.ReconcileEvery, Alarm: a.alarm,
		Settle: a.repairer.Settle, Hurry: a.hurried,
		Told: func(r commands.DriftRound) {
			a.metrics.Reconciled(obs.Books{At: r.At, Took: r.Took, Closed: r.Closed, Clean: r.Clean(), Findings: r.Findings})
		},
	}
	for ctx.Err() == nil {
		err := a.locks().lead(ctx, reconcileLead, watch.Run)
		if err != nil && ctx.Err() == nil {
			a.log.Warn("books not compared; tried again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
	return nil
}

// hurryDriftWatch lets this process's drift watch look at once: a journal lost an
// entry, and only a comparison finds whose.
func (a *app) hurryDriftWatch(int) {
	select {
	case a.hurried <- struct{}{}:
	default: // it is on its way
	}
}
