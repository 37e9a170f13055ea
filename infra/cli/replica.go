package cli

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/infra/config"
	"seckill/infra/guard"
	"seckill/infra/pg"
)

// replica answers buyers' looks at orders from a streaming replica of the database.
// While it is away, rests, or is more than maxStale behind, the database answers. What
// it does not have yet is not there: the finder asks the log then.
type replica struct {
	app     *app
	url     config.URL
	patient time.Duration // for one answer; then the database is asked
	primary commands.OrderView
	open    atomic.Pointer[openReplica] // nil while it was never reached
	behind  atomic.Bool
	marks   []seenHead // of the database, that the replica has not; of the watch alone
}

type openReplica struct {
	pool  *pgxpool.Pool
	views *guard.Database
}

// seenHead is when the head of the log was first seen at a position.
type seenHead struct {
	at   time.Time
	head int64
}

const (
	// replicaConns bounds the connections to a replica.
	replicaConns = 8
	// replicaEvery is how often it is looked at how far the replica is.
	replicaEvery = time.Second
)

// viewOfBuyers gives what buyers' looks at orders are answered from.
func (a *app) viewOfBuyers(ctx context.Context) (commands.OrderView, error) {
	if a.settings.ViewsDatabaseURL == "" {
		return a.sale.database, nil
	}
	r := &replica{app: a, url: a.settings.ViewsDatabaseURL, patient: a.settings.Deadlines.Statement / 2, primary: a.sale.database}
	if err := r.connect(ctx); err != nil {
		if !pg.Away(err) {
			return nil, fmt.Errorf("open the replica of views: %w", err)
		}
		a.log.Warn("the replica of views is away: the database answers in its place", "error", err)
	}
	a.replica = r
	return r, nil
}

// connect opens the replica, and refuses one of another store.
func (r *replica) connect(ctx context.Context) error {
	a := r.app
	d := a.settings.Deadlines
	pool, err := pg.Open(ctx, string(r.url), pg.Options{
		Namespace: a.settings.Namespace, MaxConns: replicaConns, AppName: "seckill views", ReadOnly: true,
		ConnectTimeout: d.Gateway, StatementTimeout: d.Statement, LockTimeout: d.Lock,
	})
	if err != nil {
		return err
	}
	id, err := pg.StoreOf(ctx, pool)
	if err == nil && id.UUID != a.uuid {
		err = &told{sentence: "SECKILL_VIEWS_DATABASE_URL is no replica of the database: it holds another event store"}
	}
	if err != nil {
		pool.Close()
		return err
	}
	r.open.Store(&openReplica{pool, guard.NewDatabase(pgstore.NewReads(pool), NewViews(pool, int16(a.env.Store)), a.log)})
	a.onClose(func(context.Context) error { pool.Close(); return nil })
	return nil
}

// ask asks the replica where it may be asked, else the database.
func ask[T any](ctx context.Context, r *replica, f func(context.Context, commands.OrderView) (T, error)) (T, error) {
	if open := r.open.Load(); open != nil && !r.behind.Load() {
		bounded, cancel := context.WithTimeout(ctx, r.patient)
		answer, err := f(bounded, open.views)
		cancel()
		if err == nil || ctx.Err() != nil || errors.As(err, new(*domain.Problem)) {
			return answer, err
		}
	}
	return f(ctx, r.primary)
}

// Order gives an order; see commands.OrderView.
func (r *replica) Order(ctx context.Context, id string) (commands.OrderAnswer, bool, error) {
	ok := false
	answer, err := ask(ctx, r, func(ctx context.Context, v commands.OrderView) (a commands.OrderAnswer, err error) {
		a, ok, err = v.Order(ctx, id)
		return a, err
	})
	return answer, ok, err
}

// OrdersOfBuyer pages through a buyer's orders; see commands.OrderView.
func (r *replica) OrdersOfBuyer(ctx context.Context, sale, buyer string, limit int, cursor string) (commands.OrderPage, error) {
	return ask(ctx, r, func(ctx context.Context, v commands.OrderView) (commands.OrderPage, error) {
		return v.OrdersOfBuyer(ctx, sale, buyer, limit, cursor)
	})
}

// watch opens the replica once it answers, and follows how far it is, until ctx ends.
func (r *replica) watch(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(replicaEvery):
		}
		if r.open.Load() == nil {
			if err := r.connect(ctx); err != nil {
				r.app.log.Debug("the replica of views is still away", "error", err)
				continue
			}
		}
		r.measure(ctx)
	}
}

// measure sees whether the replica is too far behind to be asked. A store that does
// not answer leaves it as it is: breakers see to that.
func (r *replica) measure(ctx context.Context) {
	there, err := r.open.Load().views.Head(ctx)
	if err != nil {
		return
	}
	here, err := r.app.sink.Head(ctx)
	if err != nil {
		return
	}
	late := r.lag(there, here, r.app.env.Now())
	if behind := late > maxStale; r.behind.Swap(behind) != behind {
		r.app.log.Warn("whether the replica of views is used changed, by how far it is behind", "used", !behind, "behind", late.Round(time.Second).String())
	}
}

// lag gives for how long the replica has lacked the oldest thing that it lacks.
func (r *replica) lag(there, here eventstore.Mark, now time.Time) time.Duration {
	for len(r.marks) > 0 && r.marks[0].head <= there.Number {
		r.marks = r.marks[1:]
	}
	if last := len(r.marks) - 1; here.Number > there.Number && (last < 0 || r.marks[last].head < here.Number) {
		r.marks = append(r.marks, seenHead{now, here.Number})
	}
	if len(r.marks) == 0 {
		return 0
	}
	return now.Sub(r.marks[0].at)
}
