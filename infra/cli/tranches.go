package cli

import (
	"context"
	"time"

	"seckill/commands"
)

// tranchesLead is the leader lock of releasing later parts of stocks.
const tranchesLead = "tranches"

// releaseTranches releases the later parts of stocks whenever this process leads
// that, until ctx ends.
func (a *app) releaseTranches(ctx context.Context) error {
	for ctx.Err() == nil {
		tranches := commands.NewTranches(a.env, a.sales, a.sink, a.follower, commands.TrancheOptions{
			Released: a.metrics.TrancheReleased, Alarm: a.alarm,
		})
		err := a.locks().lead(ctx, tranchesLead, tranches.Run)
		if err != nil && ctx.Err() == nil {
			a.log.Warn("tranches not released; tried again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(recorderBackoff):
		}
	}
	return nil
}
