package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Querier reads one row: a pool, a connection or a transaction.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// CheckSchema tells in one sentence, a Problem, when the schema ns is missing,
// older or newer than this program.
func CheckSchema(ctx context.Context, db Querier, ns string) error {
	names, err := migrationNames()
	if err != nil {
		return err
	}
	version, err := schemaVersion(ctx, db, ns)
	if err != nil {
		return err
	}
	switch latest := len(names); {
	case version == 0:
		return problem(nil, "The schema %s does not exist in this database: run `seckill migrate up`.", ns)
	case version < latest:
		return problem(nil, "The schema %s has version %d and this program needs %d: run `seckill migrate up`.", ns, version, latest)
	case version > latest:
		return tooNew(ns, version, latest)
	}
	return nil
}

func tooNew(ns string, version, latest int) error {
	return problem(nil, "The schema %s has version %d and this program knows only %d: use a newer seckill.", ns, version, latest)
}

// schemaVersion gives 0 when the schema or its version table is missing.
func schemaVersion(ctx context.Context, db Querier, ns string) (int, error) {
	var version int
	err := db.QueryRow(ctx, "select version from "+ns+"."+versionTable).Scan(&version)
	switch SQLState(err) {
	case codeUndefinedTable, codeUndefinedSchema:
		return 0, nil
	case codeForbidden:
		// The grant comes with the first migration: nothing was migrated yet.
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read version of schema %s: %w", ns, err)
	}
	return version, nil
}
