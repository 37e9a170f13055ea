package cli

import (
	"context"
	"time"

	"seckill/commands"
	"seckill/projections"
)

// expiryLead is the leader lock of the sweeps over due orders.
const expiryLead = "expiry"

// expire runs the sweeps over due orders whenever this process leads them, until
// ctx ends.
func (a *app) expire(ctx context.Context) error {
	for ctx.Err() == nil {
		err := a.locks().lead(ctx, expiryLead, a.newExpirer().Run)
		if err != nil && ctx.Err() == nil {
			a.log.Warn("due orders not swept; tried again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(recorderBackoff):
		}
	}
	return nil
}

// newExpirer makes an expirer, whose memory is its own.
func (a *app) newExpirer() *commands.Expirer {
	return commands.NewExpirer(a.env, a.orders, a.views, commands.ExpirerOptions{
		Swept: func(s commands.ExpirySweep) { a.metrics.Swept(s.Expired, s.Overdue) },
		Alarm: a.alarm,
	})
}

// Due gives orders whose time to pay is over; see commands.DueOrders.
func (v *Views) Due(ctx context.Context, after commands.Due, max int) ([]commands.Due, error) {
	rows, err := v.views.Due(ctx, projections.DueOrder{ID: after.Order, PayBy: after.PayBy}, max)
	if err != nil {
		return nil, err
	}
	due := make([]commands.Due, len(rows))
	for i, r := range rows {
		due[i] = commands.Due{Order: r.ID, PayBy: r.PayBy}
	}
	return due, nil
}

// SetAside gives orders that the read model does not follow; see
// commands.DueOrders.
func (v *Views) SetAside(ctx context.Context, after string, max int) ([]string, error) {
	return v.views.SetAside(ctx, after, max)
}
