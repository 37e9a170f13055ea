package cli

import (
	"context"
	"time"

	"seckill/commands"
	"seckill/infra/obs"
)

// reconcileLead is the leader lock of the rounds of reconciliation.
const reconcileLead = "reconcile"

// newDriftWatch makes what compares the books of sales in this process.
func (a *app) newDriftWatch() *commands.DriftWatch {
	return &commands.DriftWatch{
		Env: a.env, Sales: a.sales, Reconcile: a.reconciler.Reconcile, Operator: a.operator, Every: a.settings.ReconcileEvery, Alarm: a.alarm,
		Settle: a.repairer.Settle,
	}
}

// settleBroken looks at the sales of lanes that this process recovered because their
// journal broke, until ctx ends.
func (a *app) settleBroken(ctx context.Context) error {
	return a.newDriftWatch().RunBroken(ctx, a.broken)
}

// watchDrift reconciles all sales whenever this process leads that, until ctx ends.
func (a *app) watchDrift(ctx context.Context) error {
	watch := a.newDriftWatch()
	watch.Told = func(r commands.DriftRound) {
		a.lastRound.Store(&r)
		a.metrics.Reconciled(obs.Books{At: r.At, Took: r.Took, Closed: r.Closed, Clean: r.Clean(), Findings: r.Findings})
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
