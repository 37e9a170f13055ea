package guard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"seckill/commands"
	"seckill/eventstore"
	"seckill/infra/pg"
)

// LogReader is what buyers' questions read of the log.
type LogReader interface {
	eventstore.Reader
	eventstore.Directory
	Guards(ctx context.Context, streams []string) ([]eventstore.Guard, error)
	Cursors(ctx context.Context, lanes []int) ([]eventstore.Cursor, error)
}

// Database is the log and the order view as buyers' questions reach them, behind
// one breaker: they are one server.
type Database struct {
	*Breaker
	log  LogReader
	view commands.OrderView
}

var (
	_ LogReader          = (*Database)(nil)
	_ commands.OrderView = (*Database)(nil)
)

// NewDatabase guards a log and a view.
func NewDatabase(log LogReader, view commands.OrderView, logger *slog.Logger) *Database {
	return &Database{Breaker: newBreaker("postgres", logger, ofDatabase), log: log, view: view}
}

// ReadStream is eventstore.Reader's.
func (d *Database) ReadStream(ctx context.Context, stream string, after int64, max int) ([]eventstore.Record, error) {
	return asked(d, func() ([]eventstore.Record, error) { return d.log.ReadStream(ctx, stream, after, max) })
}

// ReadAll is eventstore.Reader's.
func (d *Database) ReadAll(ctx context.Context, after int64, max int) ([]eventstore.Record, error) {
	return asked(d, func() ([]eventstore.Record, error) { return d.log.ReadAll(ctx, after, max) })
}

// Find is eventstore.Reader's.
func (d *Database) Find(ctx context.Context, f eventstore.Filter, after int64, max int) ([]eventstore.Record, error) {
	return asked(d, func() ([]eventstore.Record, error) { return d.log.Find(ctx, f, after, max) })
}

// Head is eventstore.Reader's.
func (d *Database) Head(ctx context.Context) (eventstore.Mark, error) {
	return asked(d, func() (eventstore.Mark, error) { return d.log.Head(ctx) })
}

// At is eventstore.Reader's.
func (d *Database) At(ctx context.Context, position int64) (r eventstore.Record, ok bool, err error) {
	r, err = asked(d, func() (eventstore.Record, error) {
		r, found, err := d.log.At(ctx, position)
		ok = found
		return r, err
	})
	return r, ok, err
}

// States is eventstore.Directory's.
func (d *Database) States(ctx context.Context, streams []string) ([]eventstore.StreamState, error) {
	return asked(d, func() ([]eventstore.StreamState, error) { return d.log.States(ctx, streams) })
}

// Streams is eventstore.Directory's.
func (d *Database) Streams(ctx context.Context, prefix, after string, max int) ([]string, error) {
	return asked(d, func() ([]string, error) { return d.log.Streams(ctx, prefix, after, max) })
}

// Guards is eventstore.Ledger's.
func (d *Database) Guards(ctx context.Context, streams []string) ([]eventstore.Guard, error) {
	return asked(d, func() ([]eventstore.Guard, error) { return d.log.Guards(ctx, streams) })
}

// Cursors is eventstore.Ledger's.
func (d *Database) Cursors(ctx context.Context, lanes []int) ([]eventstore.Cursor, error) {
	return asked(d, func() ([]eventstore.Cursor, error) { return d.log.Cursors(ctx, lanes) })
}

// Order is commands.OrderView's.
func (d *Database) Order(ctx context.Context, id string) (o commands.OrderAnswer, ok bool, err error) {
	o, err = asked(d, func() (commands.OrderAnswer, error) {
		o, found, err := d.view.Order(ctx, id)
		ok = found
		return o, err
	})
	return o, ok, err
}

// OrdersOfBuyer is commands.OrderView's.
func (d *Database) OrdersOfBuyer(ctx context.Context, sale, buyer string, limit int, cursor string) (commands.OrderPage, error) {
	return asked(d, func() (commands.OrderPage, error) { return d.view.OrdersOfBuyer(ctx, sale, buyer, limit, cursor) })
}

// asked asks the database; while it rests it is not available.
func asked[T any](d *Database, ask func() (T, error)) (T, error) {
	answer, err := through(d.Breaker, ask)
	if errors.Is(err, ErrResting) {
		err = fmt.Errorf("%w: %w", eventstore.ErrUnavailable, err)
	}
	return answer, err
}

// ofDatabase sorts an error of the database. A refusal of what was asked is an
// answer.
func ofDatabase(err error) verdict {
	switch {
	case err == nil:
		return good
	case errors.Is(err, context.Canceled):
		return nothing
	case errors.Is(err, eventstore.ErrUnavailable), errors.Is(err, context.DeadlineExceeded), pg.Away(err), errors.Is(err, errPanic):
		return bad
	}
	return good
}
