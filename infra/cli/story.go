package cli

import (
	"context"
	"time"

	"seckill/commands"
	"seckill/projections"
)

// storyViews answers a story's questions to the read models.
type storyViews struct{ progress projections.Progress }

// Standing gives the relay and every view; see commands.StoryViews.
func (v storyViews) Standing(ctx context.Context, order string) ([]commands.StoryView, error) {
	standings, err := v.progress.OrderStandings(ctx, order)
	if err != nil {
		return nil, err
	}
	views := make([]commands.StoryView, len(standings))
	for i, s := range standings {
		views[i] = commands.StoryView{
			Name: s.Projection, Position: s.At.Number, AppliedAt: orNone(s.AppliedAt), ChangedAt: orNone(s.ChangedAt),
			Status: s.Status, Version: s.RowVersion, Parked: s.Parked,
		}
	}
	return views, nil
}

func orNone(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// OfTrace gives the orders of a trace id; see commands.StoryViews.
func (v storyViews) OfTrace(ctx context.Context, trace string) ([]string, int64, error) {
	return v.progress.OrdersOfTrace(ctx, trace)
}

// OfBuyer gives the orders of a buyer; see commands.StoryViews.
func (v storyViews) OfBuyer(ctx context.Context, sales []string, buyer string) ([]string, error) {
	return v.progress.OrdersOfBuyerIn(ctx, sales, buyer)
}

// teller tells the stories of this database's purchases.
func (a *app) teller() *commands.Teller {
	return &commands.Teller{Env: a.env, Sales: a.sales, Log: a.sink, Views: storyViews{a.progress}, Gate: a.gate}
}
