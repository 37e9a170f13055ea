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

// CheckSchema tells in one sentence, a Problem, when the schema ns is missing or
// older than this program needs, or newer and not said to be good for it.
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
		return checkNewer(ctx, db, ns, version)
	}
	return nil
}

// checkNewer refuses a version that this program does not know, unless it says of
// itself that programs like this one may work on it.
func checkNewer(ctx context.Context, db Querier, ns string, version int) error {
	names, err := migrationNames()
	if err != nil {
		return err
	}
	oldest, err := oldestProgram(ctx, db, ns, version)
	if err == nil && oldest > len(names) {
		err = tooNew(ns, version, len(names))
	}
	return err
}

// oldestProgram gives the migrations that a program must know to work on a version of
// the schema: all of it where nothing else is said.
func oldestProgram(ctx context.Context, db Querier, ns string, version int) (int, error) {
	var oldest int
	err := db.QueryRow(ctx, "select oldest_program from "+ns+".schema_compatibility where version = $1", version).Scan(&oldest)
	if state := SQLState(err); errors.Is(err, pgx.ErrNoRows) || state == codeUndefinedTable || state == codeUndefinedSchema || state == codeForbidden {
		return version, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read which programs may work on schema %s: %w", ns, err)
	}
	return oldest, nil
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
