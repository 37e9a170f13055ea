package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/eventstore"
	"seckill/infra/pg"
)

// Store is an eventstore.Store in one namespace of a PostgreSQL database.
type Store struct {
	pool    *pgxpool.Pool // for readers, the caller's
	writers *pgxpool.Pool // ours: sessions with short timeouts
	opts    Options
	lockKey int64
	tidyKey int64
	queue   *queue
	tidy    *tidier
	// partitionsEnd is the first position without a partition, as last seen.
	partitionsEnd atomic.Int64
	archived      archived
	// seen is the head as last seen under the lock, for the appender alone.
	seen int64
	// memory is what rows are built in, for the appender alone.
	memory memory
	// looked is the head as last seen without the lock, 0 for unknown.
	looked atomic.Int64

	// hard ends only when Close ran out of patience.
	hard    context.Context
	abandon context.CancelFunc
	running sync.WaitGroup
}

var _ eventstore.Store = (*Store)(nil)

// New starts a store over a pool that pg.Open gave for the namespace. The pool
// serves the readers and stays the caller's; the appender opens up to three
// sessions of its own, with the pool's settings and shorter timeouts. Close it.
func New(pool *pgxpool.Pool, namespace string, opts Options) (*Store, error) {
	if err := errors.Join(pg.ValidNamespace(namespace), opts.Validate()); err != nil {
		return nil, fmt.Errorf("start event store: %w", err)
	}
	opts = opts.withDefaults()
	hard, abandon := context.WithCancel(context.Background())
	writers, err := pgxpool.NewWithConfig(hard, writerConfig(pool, opts))
	if err != nil {
		abandon()
		return nil, fmt.Errorf("start event store: %w", err)
	}
	s := &Store{
		pool: pool, writers: writers, opts: opts, queue: newQueue(), tidy: newTidier(),
		lockKey: pg.LockKey(namespace, "log"), tidyKey: pg.LockKey(namespace, "tidy"),
		hard: hard, abandon: abandon,
	}
	s.running.Add(2)
	go func() { defer s.running.Done(); defer s.tidy.stop(); s.appendLoop() }()
	go func() { defer s.running.Done(); s.tidyLoop() }()
	return s, nil
}

// WriterConns bounds the connections that a store opens to append and to tidy.
const WriterConns = 3

func writerConfig(pool *pgxpool.Pool, opts Options) *pgxpool.Config {
	cfg := pool.Config()
	cfg.MinConns, cfg.MinIdleConns, cfg.MaxConns = 0, 0, WriterConns
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	params := cfg.ConnConfig.RuntimeParams
	// Every statement is one probe per key, whatever the keys: planning it anew
	// costs time under the log lock, and for few rows may choose a scan.
	params["plan_cache_mode"] = "force_generic_plan"
	params["lock_timeout"] = ms(opts.LockTimeout)
	params["idle_in_transaction_session_timeout"] = ms(opts.LockTimeout)
	params["statement_timeout"] = ms(opts.StatementTimeout)
	params["tcp_user_timeout"] = ms(opts.LockTimeout)
	params["tcp_keepalives_idle"] = "1"
	params["tcp_keepalives_interval"] = "1"
	params["tcp_keepalives_count"] = "3"
	params["synchronous_commit"] = "on"
	connected := cfg.AfterConnect
	cfg.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		if connected != nil {
			if err := connected(ctx, conn); err != nil {
				return err
			}
		}
		return prepareCommit(ctx, conn)
	}
	return cfg
}

// Close stops taking works, finishes those that were submitted and waits for
// it. When ctx ends first, what is still on its way is given up: its submitters
// get ErrUnavailable, or ErrUnknown where a commit was under way.
func (s *Store) Close(ctx context.Context) error {
	s.queue.close()
	done := make(chan struct{})
	go func() {
		s.running.Wait()
		s.writers.Close()
		close(done)
	}()
	select {
	case <-done:
		s.abandon()
		return nil
	case <-ctx.Done():
		s.abandon()
		s.linger(done)
		return fmt.Errorf("close event store: %w", ctx.Err())
	}
}

// linger lets what was given up end, but waits for nobody whose decide function
// or observer hangs.
func (s *Store) linger(done <-chan struct{}) {
	patience := time.NewTimer(s.opts.LockTimeout)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
	}
}

// Submit is eventstore.Appender's. It waits until the outcome is known, also
// when ctx ends after the work was taken.
func (s *Store) Submit(ctx context.Context, w eventstore.Work) (eventstore.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return eventstore.Receipt{}, fmt.Errorf("submit work: %w", err)
	}
	p := newPending(w)
	if !s.queue.push(p) {
		return eventstore.Receipt{}, fmt.Errorf("submit work to a closed store: %w", eventstore.ErrUnavailable)
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		if p.state.CompareAndSwap(waiting, givenUp) {
			return eventstore.Receipt{}, fmt.Errorf("submit work: %w", ctx.Err())
		}
		<-p.done
	}
	if p.panic != nil {
		panic(p.panic) // of Decide: it belongs to who submitted it
	}
	return p.receipt, p.err
}
