package projections

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Aside lists the sequences that the views of list leave out, of all sales.
func (t *Totals) Aside(ctx context.Context, list []Projection) ([]DeadSequence, error) {
	rows, err := t.tx.Query(ctx, listDeadSequences, t.store, "", "")
	if err != nil {
		return nil, fmt.Errorf("list what is set aside: %w", err)
	}
	all, err := pgx.CollectRows(rows, scanSequence)
	if err != nil {
		return nil, fmt.Errorf("list what is set aside: %w", err)
	}
	var aside []DeadSequence
	for _, s := range all {
		for _, p := range list {
			if p.Name == s.Projection && p.Version == s.Version {
				aside = append(aside, s)
			}
		}
	}
	return aside, nil
}
