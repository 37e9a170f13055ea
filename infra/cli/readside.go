package cli

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/commands"
	"seckill/eventstore/pgstore"
	"seckill/infra/pg"
	"seckill/projections"
)

// readSide is what commands about projections work with: the database, the log to
// read, and what tells the log of dead letters.
type readSide struct {
	pool   *pgxpool.Pool
	source projections.Source
	uuid   string // of the store
	locks  Locks
	notes  commands.LetterNotes
}

func (s readSide) progress() projections.Progress {
	return projections.Progress{DB: s.pool, Source: s.source, Projections: projections.All()}
}

// withReadSide opens the database and the log alone and does f.
func (c console) withReadSide(f func(ctx context.Context, side readSide) error) error {
	return c.withReadSideOf(readSideConns, f)
}

// readSideConns are enough to look.
const readSideConns = 4

func (c console) withReadSideOf(conns int, f func(ctx context.Context, side readSide) error) error {
	ctx, done := c.stoppable()
	defer done()
	a, err := c.addresses(ctx, needDatabase)
	if err != nil {
		return err
	}
	pool, err := openDatabase(ctx, a, c.settings, conns)
	if err != nil {
		return joinClose(err, a.stop(ctx))
	}
	err = c.overLog(ctx, pool, f)
	pool.Close()
	return joinClose(err, a.stop(ctx))
}

func (c console) overLog(ctx context.Context, pool *pgxpool.Pool, f func(ctx context.Context, side readSide) error) error {
	id, err := pg.LoadIdentity(ctx, pool)
	if err != nil {
		return err
	}
	store, err := pgstore.New(pool, c.settings.Namespace, pgstore.Options{Logger: warnings(c)})
	if err != nil {
		return err
	}
	side := readSide{
		pool: pool, uuid: id.UUID.String(), source: projections.Source{Store: int16(id.Store), Log: store},
		locks: Locks{Pool: pool, Namespace: c.settings.Namespace},
		notes: commands.LetterNotes{Env: &commands.Env{Now: time.Now, NewID: func() uuid.UUID { return uuid.Must(uuid.NewV7()) }, Log: warnings(c)}, Log: store},
	}
	return joinClose(f(ctx, side), store.Close(context.WithoutCancel(ctx)))
}
