package cli

import (
	"context"
	"fmt"
	"time"

	"seckill/projections"
)

// How long what is not core must stand still, and by how many events the views of
// orders and stock must go on meanwhile, to tell that it is paused and not just idle.
const (
	stillFor    = 500 * time.Millisecond
	stillEvents = 10
)

// viewWatch looks at the places of the views while pause_noncore is rehearsed.
type viewWatch struct {
	stats  func(context.Context) (projections.Stats, error)
	paused bool
	began  time.Time

	first bool // nothing was seen yet
	head  int64
	rest  int64     // sum of the places of what is not core
	since time.Time // when that was seen first
	after int64     // the head of the log then
}

func newViewWatch(stats func(context.Context) (projections.Stats, error), paused bool, began time.Time) *viewWatch {
	return &viewWatch{stats: stats, paused: paused, began: began, first: true}
}

// look reads the places once and judges.
func (v *viewWatch) look(ctx context.Context) (*drillViews, error) {
	s, err := v.stats(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at the views: %w", err)
	}
	now := time.Now()
	sum, lowest, core := int64(0), s.Head.Number, s.Head.Number
	for _, shard := range s.Shards {
		if shard.Core {
			core = min(core, shard.At.Number)
			continue
		}
		sum += shard.At.Number
		lowest = min(lowest, shard.At.Number)
	}
	switch {
	case v.first:
		v.first, v.head, v.rest, v.after, v.since = false, s.Head.Number, sum, s.Head.Number, v.began
	case v.paused && sum != v.rest:
		v.rest, v.since, v.after = sum, now, s.Head.Number
	case !v.paused && sum != v.rest && v.since.Equal(v.began):
		v.since = now
	}
	if v.paused {
		return v.standing(now, core), nil
	}
	return v.going(now, lowest), nil
}

// standing judges while the switch is on.
func (v *viewWatch) standing(now time.Time, core int64) *drillViews {
	seen := &drillViews{TookMS: v.since.Sub(v.began).Milliseconds()}
	on := core - v.after
	switch {
	case on < stillEvents:
		seen.Detail = "order_view and stock_log do not go on"
	case now.Sub(v.since) < stillFor:
		seen.Detail = "sale_summary goes on"
	default:
		seen.Held, seen.Detail = true, fmt.Sprintf("sale_summary stands still, order_view and stock_log went on by %d events", on)
		return seen
	}
	seen.TookMS = now.Sub(v.began).Milliseconds()
	return seen
}

// going judges when the switch is off again.
func (v *viewWatch) going(now time.Time, lowest int64) *drillViews {
	if lowest < v.head {
		return &drillViews{TookMS: now.Sub(v.began).Milliseconds(), Detail: "sale_summary has not caught up"}
	}
	return &drillViews{Held: true, TookMS: v.since.Sub(v.began).Milliseconds(), Detail: "sale_summary caught up"}
}
