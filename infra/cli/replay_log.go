package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/infra/config"
	"seckill/infra/pg"
)

// withDatabase opens the database alone and does f.
func (c console) withDatabase(f func(ctx context.Context, pool *pgxpool.Pool) error) error {
	return c.withPool(func(ctx context.Context, a addresses, s config.Settings) (*pgxpool.Pool, error) {
		return openDatabase(ctx, a, s, 4)
	}, f)
}

// withLog opens the log alone, to read and for nothing else, and does f.
func (c console) withLog(f func(ctx context.Context, log eventstore.Reader) error) error {
	return c.withPool(openToRead, func(ctx context.Context, pool *pgxpool.Pool) error {
		err := f(ctx, pgstore.NewReader(pool))
		var archived *pgstore.ArchivedError
		if errors.As(err, &archived) {
			err = &told{archived.Error(), err}
		}
		return err
	})
}

// opener opens the database of addresses.
type opener func(ctx context.Context, a addresses, s config.Settings) (*pgxpool.Pool, error)

// withPool opens the database in one way, does f and closes what was opened.
func (c console) withPool(open opener, f func(ctx context.Context, pool *pgxpool.Pool) error) error {
	ctx, done := c.stoppable()
	defer done()
	a, err := c.addresses(ctx, needDatabase)
	if err != nil {
		return err
	}
	pool, err := open(ctx, a, c.settings)
	if err != nil {
		return joinClose(err, a.stop(ctx))
	}
	err = f(ctx, pool)
	pool.Close()
	return joinClose(err, a.stop(ctx))
}

// timedLog is a log to look for a time in: what was archived lies before it.
type timedLog struct{ eventstore.Reader }

// At gives the record at a position; ok is false for one that was archived.
func (l timedLog) At(ctx context.Context, position int64) (r eventstore.Record, ok bool, err error) {
	r, ok, err = l.Reader.At(ctx, position)
	if errors.Is(err, pgstore.ErrArchived) {
		err = nil
	}
	return r, ok, err
}

// openToRead opens the database as the application in sessions that PostgreSQL
// lets write nothing. It migrates nothing either, not even a private one.
func openToRead(ctx context.Context, a addresses, s config.Settings) (*pgxpool.Pool, error) {
	pool, err := pg.Open(ctx, string(a.database), pg.Options{Namespace: s.Namespace, MaxConns: 2, AppName: "seckill reader", ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return pool, nil
}
