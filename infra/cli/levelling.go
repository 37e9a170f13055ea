package cli

import (
	"context"
	"time"

	"seckill/commands"
	"seckill/infra/guard"
)

// levelGate looks at buckets as buyers' questions go, and moves units beside them.
type levelGate struct {
	*guard.Gate
	commands.Mover
}

// newLeveller makes the leveller of this process; it ends with the stores.
func (a *app) newLeveller() *commands.Leveller {
	l := commands.NewLeveller(a.env, levelGate{a.sale.gate, a.gate}, a.sink, a.follower,
		commands.LevellerOptions{OnMove: a.metrics.Moved, OnFlight: a.metrics.UnitsInFlight, OnLook: a.metrics.BucketsLookedAt})
	a.onClose(func(context.Context) error { l.Close(); return nil })
	return l
}

// levelLead is the leader lock of levelling.
const levelLead = "level"

// level keeps the buckets of open sales level whenever this process leads in it, until
// ctx ends.
func (a *app) level(ctx context.Context) error {
	for ctx.Err() == nil {
		err := a.locks().lead(ctx, levelLead, func(ctx context.Context) error { return a.leveller.Sweep(ctx, a.sales) })
		if err != nil && ctx.Err() == nil {
			a.log.Warn("buckets not levelled; tried again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(recorderBackoff):
		}
	}
	return nil
}
