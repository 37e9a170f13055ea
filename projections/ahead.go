package projections

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// What was applied before a loss was accepted, beyond where the log ended then, is
// what was accepted, as long as the log has not lost more since.
const selectAhead = `
select projection, max(position), bool_and(exists (
  select from log_losses l where l.accepted_at >= c.applied_at and l.head < c.position and l.head <= $2))
from checkpoints c where store = $1 and position > $2 group by projection order by projection`

// AheadPlace is the furthest place of a view or a relay beyond the end of the log.
// Accepted: the log lost what it stands on, and somebody has accepted that.
type AheadPlace struct {
	Projection string
	Position   int64
	Accepted   bool
}

// Ahead gives the views and relays of a store that went beyond head, the end of
// the log.
func Ahead(ctx context.Context, db DB, store int16, head int64) ([]AheadPlace, error) {
	rows, err := db.Query(ctx, selectAhead, store, head)
	if err != nil {
		return nil, fmt.Errorf("look for what went beyond the log: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[AheadPlace])
	if err != nil {
		return nil, fmt.Errorf("look for what went beyond the log: %w", err)
	}
	return all, nil
}
