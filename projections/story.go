package projections

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
)

const (
	selectOfTrace = `select order_id from order_view where trace_id = $1 order by placed_at desc, order_id limit $2`

	selectOfBuyer = `
select order_id from order_view where sale_id = any($1) and buyer_id = $2 order by placed_at desc, order_id limit $3`

	// When a row was committed the server knows only with track_commit_timestamp.
	selectChanged = `
select status, version, case when current_setting('track_commit_timestamp')::bool then pg_xact_commit_timestamp(xmin) end
from order_view where order_id = $1`

	selectLetters = `
select projection, version, min(reason) from dead_letters
where store = $1 and sequence = $2 and state = 'parked' group by projection, version`
)

// mostOfStory bounds the orders that a story begins with.
const mostOfStory = 1000

// OrdersOfTrace gives the orders whose purchase had a trace id, the newest first, and
// the position up to which every shard of the view has the log: what was placed later may
// be missing.
func (p Progress) OrdersOfTrace(ctx context.Context, trace string) (orders []string, known int64, err error) {
	stats, err := p.Stats(ctx)
	if err != nil {
		return nil, 0, err
	}
	known = stats.Head.Number
	for _, s := range stats.Shards {
		if s.Projection == orderView().Name {
			known = min(known, s.At.Number)
		}
	}
	orders, err = p.orderIDs(ctx, selectOfTrace, trace, mostOfStory)
	return orders, known, err
}

// OrdersOfBuyerIn gives the orders of a buyer in some sales, the newest first, up to a
// thousand.
func (p Progress) OrdersOfBuyerIn(ctx context.Context, sales []string, buyer string) ([]string, error) {
	return p.orderIDs(ctx, selectOfBuyer, sales, buyer, mostOfStory)
}

func (p Progress) orderIDs(ctx context.Context, sql string, args ...any) ([]string, error) {
	rows, err := p.DB.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read order_view: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read order_view: %w", err)
	}
	return ids, nil
}

// OrderStanding is how far a view is with the events of one order.
type OrderStanding struct {
	Checkpoint
	// Status, RowVersion and ChangedAt are those of the order's row in order_view;
	// ChangedAt is zero where the server does not keep the times of commits.
	Status     string
	RowVersion int64
	ChangedAt  time.Time
	// Parked is why events of the order are set aside, "" where none is.
	Parked string
}

// OrderStandings gives the relay and each projection as it stands with an order: the
// checkpoint of the order's shard.
func (p Progress) OrderStandings(ctx context.Context, order string) ([]OrderStanding, error) {
	stats, err := p.Stats(ctx)
	if err != nil {
		return nil, err
	}
	shards := p.Shards
	setDefault(&shards, eventstore.DefaultShards)
	shard := eventstore.ShardOf(order, shards)
	relay := stats.Relay
	relay.Projection = relayProjection
	all := []OrderStanding{{Checkpoint: relay}}
	for _, s := range stats.Shards {
		if s.Shard == shard {
			all = append(all, OrderStanding{Checkpoint: s.Checkpoint})
		}
	}
	if err := p.addRow(ctx, all, order); err != nil {
		return nil, err
	}
	return all, p.addLetters(ctx, all, order)
}

// addRow adds what order_view says.
func (p Progress) addRow(ctx context.Context, all []OrderStanding, order string) error {
	i := slices.IndexFunc(all, func(s OrderStanding) bool { return s.Projection == orderView().Name })
	if i < 0 {
		return nil
	}
	rows, err := p.DB.Query(ctx, selectChanged, order)
	if err != nil {
		return fmt.Errorf("read the row of order %s: %w", order, err)
	}
	var at *time.Time
	_, err = pgx.ForEachRow(rows, []any{&all[i].Status, &all[i].RowVersion, &at}, func() error { return nil })
	if err != nil {
		return fmt.Errorf("read the row of order %s: %w", order, err)
	}
	all[i].ChangedAt = orZero(at)
	return nil
}

func (p Progress) addLetters(ctx context.Context, all []OrderStanding, order string) error {
	rows, err := p.DB.Query(ctx, selectLetters, p.Source.Store, order)
	if err != nil {
		return fmt.Errorf("read the dead letters of order %s: %w", order, err)
	}
	var name, reason string
	var version int
	_, err = pgx.ForEachRow(rows, []any{&name, &version, &reason}, func() error {
		for i := range all {
			if all[i].Projection == name && all[i].Version == version {
				all[i].Parked = strings.TrimSpace(reason)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the dead letters of order %s: %w", order, err)
	}
	return nil
}
