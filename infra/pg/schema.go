package pg

import (
	"context"
	"errors"
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

// noVersion is what somebody leaves behind who empties tables by hand.
func noVersion(err error, ns string) error {
	return problem(err, "The table %s.%s has lost its one row, so nobody knows which version the schema has: restore it from a backup, or insert the version that `seckill migrate status` told before.",
		ns, versionTable)
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
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, noVersion(err, ns)
	}
	if err != nil {
		return 0, fmt.Errorf("read version of schema %s: %w", ns, err)
	}
	return version, nil
}
