package pg

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Leader elects one holder of a name within a namespace of a database.
//
// Two holders can overlap for a moment: a holder that lost its connection
// notices up to a few seconds later, and one that was frozen when it wakes. What a
// leader does must be fenced by an epoch or be idempotent.
type Leader struct {
	pool *pgxpool.Pool
	key  int64
	name string
}

// NewLeader gives the election of name in namespace ns. The pool only lends
// its settings: a lock lives on a connection of its own.
func NewLeader(pool *pgxpool.Pool, ns, name string) *Leader {
	return &Leader{pool: pool, key: LockKey(ns, "leader "+name), name: name}
}

// Lease is a lock that is held until Release, or until it is Lost.
type Lease struct {
	conn *pgx.Conn
	lost chan struct{}
	stop context.CancelFunc
	done chan struct{}
	once sync.Once
}

const (
	leaseCheckEvery = 2 * time.Second
	leaseCheckTakes = 2 * time.Second
	leaseRetryEvery = 200 * time.Millisecond
)

// TryLock takes the lock if nobody holds it; ok is false when somebody does.
func (l *Leader) TryLock(ctx context.Context) (lease *Lease, ok bool, err error) {
	conn, err := l.connect(ctx)
	if err != nil {
		return nil, false, err
	}
	ok, err = l.try(ctx, conn)
	if err != nil || !ok {
		closeQuietly(ctx, conn)
		return nil, false, err
	}
	return watch(conn), true, nil
}

const selectHeld = `select exists (select from pg_locks where locktype = 'advisory' and granted and objsubid = 1
	and database = (select oid from pg_database where datname = current_database())
	and ((classid::bigint << 32) | objid::bigint) = $1)`

// Held tells whether anybody holds the lock now, without taking it.
func (l *Leader) Held(ctx context.Context) (held bool, err error) {
	if err := l.pool.QueryRow(ctx, selectHeld, l.key).Scan(&held); err != nil {
		return false, fmt.Errorf("ask who leads %s: %w", l.name, err)
	}
	return held, nil
}

// Lock waits for the lock until ctx ends. It asks again and again instead of
// waiting in the server, where an open statement would hold back clean-up.
// Errors of the connection are returned: the caller decides about patience.
func (l *Leader) Lock(ctx context.Context) (*Lease, error) {
	conn, err := l.connect(ctx)
	if err != nil {
		return nil, err
	}
	for {
		ok, err := l.try(ctx, conn)
		if err != nil {
			closeQuietly(ctx, conn)
			return nil, err
		}
		if ok {
			return watch(conn), nil
		}
		pause := time.NewTimer(leaseRetryEvery/2 + rand.N(leaseRetryEvery))
		select {
		case <-ctx.Done():
			pause.Stop()
			closeQuietly(ctx, conn)
			return nil, fmt.Errorf("wait to lead %s: %w", l.name, ctx.Err())
		case <-pause.C:
		}
	}
}

func (l *Leader) connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := connectHolder(ctx, l.pool)
	if err != nil {
		return nil, fmt.Errorf("connect to lead %s: %w", l.name, err)
	}
	return conn, nil
}

// holderIdle is for how long a session that carries locks may say nothing. Its
// holder asks far more often: one that does not is frozen, or its machine is gone,
// and is not to keep its work from others.
const holderIdle = 10 * time.Second

// connectHolder opens a session of its own for locks, with the settings of a pool.
func connectHolder(ctx context.Context, pool *pgxpool.Pool) (*pgx.Conn, error) {
	cfg := pool.Config()
	conn, err := pgx.ConnectConfig(ctx, cfg.ConnConfig)
	if err != nil {
		return nil, err
	}
	if cfg.AfterConnect != nil {
		err = cfg.AfterConnect(ctx, conn)
	}
	if err == nil {
		_, err = conn.Exec(ctx, "select set_config('idle_session_timeout', $1, false)", strconv.FormatInt(holderIdle.Milliseconds(), 10))
		if SQLState(err) == codeUndefinedObject {
			err = nil // before PostgreSQL 14: a frozen holder keeps its locks until it ends
		}
	}
	if err != nil {
		closeQuietly(ctx, conn)
		return nil, err
	}
	return conn, nil
}

func (l *Leader) try(ctx context.Context, conn *pgx.Conn) (ok bool, err error) {
	if err := conn.QueryRow(ctx, "select pg_try_advisory_lock($1)", l.key).Scan(&ok); err != nil {
		return false, fmt.Errorf("ask to lead %s: %w", l.name, err)
	}
	return ok, nil
}

func watch(conn *pgx.Conn) *Lease {
	ctx, stop := context.WithCancel(context.Background())
	l := &Lease{conn: conn, lost: make(chan struct{}), stop: stop, done: make(chan struct{})}
	go l.watch(ctx)
	return l
}

// watch listens on the otherwise silent connection, so that its end is noticed
// at once, and asks it now and then, so that a silent death is noticed too.
func (l *Lease) watch(ctx context.Context) {
	defer close(l.done)
	for ctx.Err() == nil {
		waiting, cancel := context.WithTimeout(ctx, leaseCheckEvery)
		_, err := l.conn.WaitForNotification(waiting)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if err == nil || (errors.Is(err, context.DeadlineExceeded) && !l.conn.IsClosed()) {
			asking, cancel := context.WithTimeout(ctx, leaseCheckTakes)
			err = l.conn.Ping(asking)
			cancel()
		}
		if err != nil && ctx.Err() == nil {
			close(l.lost)
			return
		}
	}
}

// Lost is closed when the connection that carries the lock is gone: somebody
// else may lead from now on.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// Context gives a child of parent that also ends, with cause ErrLeaseLost, when
// the lease is lost. The caller ends it with the function returned.
func (l *Lease) Context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	go func() {
		select {
		case <-l.lost:
			cancel(ErrLeaseLost)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(context.Canceled) }
}

// ErrLeaseLost is the cause of a context that ended with its lease.
var ErrLeaseLost = errors.New("the leader lock was lost with its connection")

// Release gives the lock back. It may be called more than once.
func (l *Lease) Release(ctx context.Context) {
	l.once.Do(func() {
		l.stop()
		<-l.done
		closeQuietly(ctx, l.conn) // the lock ends with its session
	})
}
