package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/infra/config"
	"seckill/infra/embedded"
	"seckill/infra/pg"
)

// addresses are the stores a command works with: configured, or private ones of
// the data folder.
type addresses struct {
	database config.URL
	owner    config.URL
	redis    config.URL
	// token names the life of a miniredis, "" for any real server.
	token     string
	miniredis bool
	private   *embedded.Stores // nil when everything is configured
}

// need says which stores a command needs.
type need int

const (
	needDatabase need = 1 << iota
	needGate
)

// addresses finds the stores, starting private ones for what is not configured.
// It says in one line what it started.
func (c console) addresses(ctx context.Context, what need) (addresses, error) {
	s := c.settings
	a := addresses{database: s.DatabaseURL, owner: s.OwnerDatabaseURL, redis: s.RedisURL}
	o := embedded.Options{
		DataDir: s.DataDir, PostgresBin: s.PostgresBin, RedisBin: s.RedisBin, Logger: warnings(c),
		NeedPostgres: what&needDatabase != 0 && s.NeedsPrivatePostgres(),
		NeedRedis:    what&needGate != 0 && s.NeedsPrivateRedis(),
	}
	if !o.NeedPostgres && !o.NeedRedis {
		return a, nil
	}
	private, err := embedded.Start(ctx, o)
	if err != nil {
		return a, fmt.Errorf("start private stores: %w", err)
	}
	c.say("%s", private.Notice)
	a.private = private
	if o.NeedPostgres {
		a.database, a.owner = config.URL(private.DatabaseURL), config.URL(private.DatabaseURL)
	}
	if o.NeedRedis {
		a.redis, a.token, a.miniredis = config.URL(private.RedisURL), private.ProcessToken, private.Miniredis
	}
	return a, nil
}

// stop gives private stores up.
func (a addresses) stop(ctx context.Context) error {
	if a.private == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	return a.private.Stop(ctx)
}

// openDatabase opens the database as the application. A private one is migrated
// first: nobody else would.
func openDatabase(ctx context.Context, a addresses, s config.Settings, conns int) (*pgxpool.Pool, error) {
	if s.NeedsPrivatePostgres() {
		if err := pg.Migrate(ctx, string(a.owner), s.Namespace); err != nil {
			return nil, fmt.Errorf("migrate the private database: %w", err)
		}
	}
	pool, err := pg.Open(ctx, string(a.database), pg.Options{Namespace: s.Namespace, MaxConns: conns, StatementTimeout: s.Deadlines.Recorder})
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return pool, nil
}
