package projections

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// statement_timestamp, unlike the clock, may be looked up in an index.
const (
	selectDue = `
select order_id, pay_by from order_view
where status = 'placed' and pay_by <= statement_timestamp() and (pay_by, order_id) > ($1, $2)
order by pay_by, order_id limit $3`

	selectSetAside = `
select distinct sequence from dead_letters
where projection = 'order_view' and sequence > $1
order by sequence limit $2`
)

// DueOrder is an order that waits for its payment, and until when it may.
type DueOrder struct {
	ID    string
	PayBy time.Time
}

// Due gives up to max orders that the view has as placed although their time to
// pay is over by the database's clock, longest first, after the one given. The
// view may be behind: the log tells whether they still wait.
func (v *Views) Due(ctx context.Context, after DueOrder, max int) ([]DueOrder, error) {
	rows, err := v.db.Query(ctx, selectDue, after.PayBy, after.ID, max)
	if err != nil {
		return nil, fmt.Errorf("read due orders: %w", err)
	}
	due, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (DueOrder, error) {
		var d DueOrder
		err := row.Scan(&d.ID, &d.PayBy)
		d.PayBy = d.PayBy.UTC()
		return d, err
	})
	if err != nil {
		return nil, fmt.Errorf("read due orders: %w", err)
	}
	return due, nil
}

// SetAside gives up to max sequences of the order view that stand in the dead
// letters, parked or dropped, after the one given: of these orders the view knows
// nothing, or what they once were. A sequence is an order's id, or the name of a
// stream of an order that has none.
func (v *Views) SetAside(ctx context.Context, after string, max int) ([]string, error) {
	rows, err := v.db.Query(ctx, selectSetAside, after, max)
	if err != nil {
		return nil, fmt.Errorf("read orders that are set aside: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read orders that are set aside: %w", err)
	}
	return ids, nil
}
