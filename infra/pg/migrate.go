package pg

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"

	"seckill/migrations"
)

const versionTable = "schema_version"

// SchemaStatus is where a schema stands.
type SchemaStatus struct {
	Namespace string
	// Version is the last migration applied, 0 when there is no schema.
	Version int
	// Latest is the last migration this program knows.
	Latest int
	// OldestProgram is up to which migration a program must know the schema to work on
	// it; 0 when there is no schema.
	OldestProgram int
	// Pending names the migrations still to be applied, in order.
	Pending []string
}

// Migrate brings the schema ns of the database up to this program's version,
// making roles and schema when they are missing and the login may. Any number
// of nodes may call it at once. It never goes back: a newer schema that this program
// may work on stays as it is.
func Migrate(ctx context.Context, ownerURL, ns string) error {
	conn, err := connectOwner(ctx, ownerURL, ns)
	if err != nil {
		return err
	}
	defer closeQuietly(ctx, conn)
	if _, err := conn.Exec(ctx, "select pg_advisory_lock($1)", LockKey(ns, "migrate")); err != nil {
		return fmt.Errorf("take the migration lock: %w", err)
	}
	if err := prepareNamespace(ctx, conn, ns); err != nil {
		return err
	}
	return applyMigrations(ctx, conn, ns)
}

// Status tells where the schema ns stands. It changes nothing.
func Status(ctx context.Context, ownerURL, ns string) (SchemaStatus, error) {
	conn, err := connectOwner(ctx, ownerURL, ns)
	if err != nil {
		return SchemaStatus{}, err
	}
	defer closeQuietly(ctx, conn)
	names, err := migrationNames()
	if err != nil {
		return SchemaStatus{}, err
	}
	version, err := schemaVersion(ctx, conn, ns)
	if err != nil {
		return SchemaStatus{}, err
	}
	status := SchemaStatus{Namespace: ns, Version: version, Latest: len(names)}
	if version > 0 {
		if status.OldestProgram, err = oldestProgram(ctx, conn, ns, version); err != nil {
			return SchemaStatus{}, err
		}
	}
	if version < len(names) {
		status.Pending = names[version:]
	}
	return status, nil
}

func connectOwner(ctx context.Context, url, ns string) (*pgx.Conn, error) {
	if err := ValidNamespace(ns); err != nil {
		return nil, err
	}
	cfg, err := parseConfig(url)
	if err != nil {
		return nil, err
	}
	opts := Options{Namespace: ns, AppName: "seckill migrate"}.withDefaults()
	tuneSession(cfg, opts)
	// A migration may run longer than anything else, and waits for others.
	delete(cfg.RuntimeParams, "statement_timeout")
	delete(cfg.RuntimeParams, "idle_in_transaction_session_timeout")
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, explainConnect(err, cfg)
	}
	return conn, nil
}

// applyMigrations runs as the owner role, so that everything belongs to it.
func applyMigrations(ctx context.Context, conn *pgx.Conn, ns string) error {
	if _, err := conn.Exec(ctx, "set role "+OwnerRole(ns)); err != nil {
		return fmt.Errorf("work as %s: %w", OwnerRole(ns), err)
	}
	migrator, err := migrate.NewMigrator(ctx, conn, ns+"."+versionTable)
	if err != nil {
		return fmt.Errorf("prepare migrations of schema %s: %w", ns, err)
	}
	migrator.Data = map[string]any{
		"ns": ns, "owner": OwnerRole(ns), "app": AppRole(ns),
		"partition_lock": LockKey(ns, "partitions"),
	}
	if err := migrator.LoadMigrations(migrations.Files()); err != nil {
		return fmt.Errorf("load migrations: %w", err)
	}
	version, err := migrator.GetCurrentVersion(ctx)
	if errors.Is(err, pgx.ErrNoRows) {
		return noVersion(err, ns)
	}
	if err != nil {
		return fmt.Errorf("read version of schema %s: %w", ns, err)
	}
	if int(version) > len(migrator.Migrations) {
		return checkNewer(ctx, conn, ns, int(version)) // there is nothing to do
	}
	if err := migrator.Migrate(ctx); err != nil {
		var bad migrate.BadVersionError
		if errors.As(err, &bad) {
			return problem(err, "The schema %s was changed by another program while it was being migrated: run `seckill migrate up` again.", ns)
		}
		return fmt.Errorf("migrate schema %s: %w", ns, err)
	}
	return nil
}

func migrationNames() ([]string, error) {
	names, err := migrate.FindMigrations(migrations.Files())
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	return names, nil
}

func closeQuietly(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackWithin)
	defer cancel()
	_ = conn.Close(ctx) // nothing is pending on it
}
