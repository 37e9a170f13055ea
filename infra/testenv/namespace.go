package testenv

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

// Namespace returns a fresh name that is good as schema, role prefix and key
// prefix: it matches [a-z][a-z0-9_]{0,30}, and no other test ever gets it. At
// the end of the test, after the clean-ups registered later, its schema, its
// roles (its name, or beginning with it and an underscore) and all Redis keys
// that contain it are removed from the shared servers.
func Namespace(t testing.TB) string {
	t.Helper()
	ns := "t_" + strings.ToLower(rand.Text())[:16]
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := errors.Join(dropFromPostgres(ctx, ns), dropFromRedis(ctx, ns)); err != nil {
			t.Errorf("clean up namespace %s (does the test leave a transaction open?): %v", ns, err)
		}
	})
	return ns
}

const (
	selectRoles = `SELECT rolname FROM pg_roles WHERE rolname = $1 OR starts_with(rolname, $1 || '_')`
	// Connections of a process that was killed end by themselves, but not at once.
	lockTimeout = `SET lock_timeout = '10s'`
)

func dropFromPostgres(ctx context.Context, ns string) error {
	if !usesPostgres.Load() {
		return nil
	}
	s, err := sharedPostgres()
	if err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, s.DatabaseURL)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, selectRoles, ns)
	if err != nil {
		return fmt.Errorf("list roles: %w", err)
	}
	roles, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("list roles: %w", err)
	}
	statements := []string{lockTimeout, "DROP SCHEMA IF EXISTS " + quote(ns) + " CASCADE"}
	for _, role := range roles {
		statements = append(statements, "DROP OWNED BY "+quote(role)+" CASCADE", "DROP ROLE "+quote(role))
	}
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func dropFromRedis(ctx context.Context, ns string) error {
	if !usesRedis.Load() {
		return nil
	}
	s, err := sharedRedis()
	if err != nil {
		return err
	}
	o, err := redis.ParseURL(s.RedisURL)
	if err != nil {
		return fmt.Errorf("parse URL of Redis: %w", err)
	}
	c := redis.NewClient(o)
	defer c.Close()
	keys := c.Scan(ctx, 0, "*"+ns+"*", 1000).Iterator()
	for keys.Next(ctx) {
		if err := c.Unlink(ctx, keys.Val()).Err(); err != nil {
			return fmt.Errorf("remove key %s: %w", keys.Val(), err)
		}
	}
	if err := keys.Err(); err != nil {
		return fmt.Errorf("list keys: %w", err)
	}
	return nil
}
