package projections

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"seckill/infra/pg"
)

const (
	makeShadow    = `select make_shadow($1)`
	indexShadow   = `select index_shadow($1)`
	analyzeShadow = `select analyze_shadow($1)`
	swapShadow    = `select swap_shadow($1)`
	dropShadow    = `select drop_shadow($1)`

	// Indexes are made from a whole table: that takes as long as it takes, on a
	// table that nobody reads yet.
	longStatements = `
select set_config('statement_timeout', '0', true), set_config('maintenance_work_mem', '256MB', true)`
)

// shadows are the tables that are built beside those of some views.
type shadows struct {
	tables  []string
	pattern *regexp.Regexp
	names   map[string]string // by table

	mu    sync.Mutex
	known map[string]string // statements with the names exchanged
}

// newShadows makes an empty table beside each; leftovers of an earlier rebuild go.
func newShadows(ctx context.Context, db DB, tables []string) (*shadows, error) {
	s := &shadows{tables: tables, names: map[string]string{}, known: map[string]string{}}
	for _, table := range tables {
		var name string
		if err := db.QueryRow(ctx, makeShadow, table).Scan(&name); err != nil {
			return nil, fmt.Errorf("make a table beside %s: %w", table, err)
		}
		s.names[table] = name
	}
	s.pattern = regexp.MustCompile(`\b(` + strings.Join(tables, "|") + `)\b`)
	return s, nil
}

// index makes the indexes that the views have, and gathers statistics.
func (s *shadows) index(ctx context.Context, db DB) error {
	for _, table := range s.tables {
		for more := true; more; {
			err := pg.InTx(ctx, db, func(tx pgx.Tx) error {
				if _, err := tx.Exec(ctx, longStatements); err != nil {
					return err
				}
				return tx.QueryRow(pg.Patient(ctx), indexShadow, table).Scan(&more)
			})
			if err != nil {
				return fmt.Errorf("index the table beside %s: %w", table, err)
			}
		}
		if _, err := db.Exec(ctx, analyzeShadow, table); err != nil {
			return fmt.Errorf("analyze the table beside %s: %w", table, err)
		}
	}
	return nil
}

// swap puts every table in the place of its view's.
func (s *shadows) swap(ctx context.Context, tx pgx.Tx) error {
	for _, table := range s.tables {
		if _, err := tx.Exec(ctx, swapShadow, table); err != nil {
			return fmt.Errorf("swap %s: %w", table, err)
		}
	}
	return nil
}

// drop takes the tables away again.
func (s *shadows) drop(ctx context.Context, db DB) error {
	for _, table := range s.tables {
		if _, err := db.Exec(ctx, dropShadow, table); err != nil {
			return fmt.Errorf("drop the table beside %s: %w", table, err)
		}
	}
	return nil
}

// rename gives a statement that speaks of the tables beside the views. Names of
// tables are found as whole words.
func (s *shadows) rename(sql string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	renamed, ok := s.known[sql]
	if !ok {
		renamed = s.pattern.ReplaceAllStringFunc(sql, func(table string) string { return s.names[table] })
		s.known[sql] = renamed
	}
	return renamed
}

// shadowTx is a transaction in which the names of views mean the tables beside
// them, so that what a projection writes lands there.
type shadowTx struct {
	pgx.Tx
	shadows *shadows
}

// Exec is pgx.Tx's.
func (t shadowTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return t.Tx.Exec(ctx, t.shadows.rename(sql), args...)
}

// Query is pgx.Tx's.
func (t shadowTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return t.Tx.Query(ctx, t.shadows.rename(sql), args...)
}

// QueryRow is pgx.Tx's.
func (t shadowTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return t.Tx.QueryRow(ctx, t.shadows.rename(sql), args...)
}

// CopyFrom is pgx.Tx's.
func (t shadowTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, rows pgx.CopyFromSource) (int64, error) {
	to := append(pgx.Identifier(nil), table...)
	for i := range to {
		to[i] = t.shadows.rename(to[i])
	}
	return t.Tx.CopyFrom(ctx, to, columns, rows)
}
