package pg

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Holder takes leader locks of a namespace for work that is short and frequent: all
// that one process holds at a time lie on one session, so that a lock costs a question
// and not a connection. They are the locks of a Leader of the same name, and the same
// holds of them: two holders can overlap for a moment after a broken connection.
// Within the process one holder follows the other without a pause. It is safe for
// concurrent use; Close ends it.
type Holder struct {
	pool      *pgxpool.Pool
	namespace string
	base      context.Context
	cancel    context.CancelFunc
	running   sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	session *lockSession // the latest; nil: none yet
	turns   map[string]*turn
}

// turn is whose turn it is under a name in this process.
type turn struct {
	free  chan struct{} // holds one while it is nobody's
	users int           // who has it, and who waits
}

// Held is a lock that is held until Release, or until it is Lost.
type Held struct {
	session *lockSession
	key     int64
	leave   func()
	once    sync.Once
}

// NewHolder gives a Holder without any lock. The pool only lends its settings: locks
// lie on a connection of their own, which is there while they are in use.
func NewHolder(pool *pgxpool.Pool, namespace string) *Holder {
	h := &Holder{pool: pool, namespace: namespace, turns: map[string]*turn{}}
	h.base, h.cancel = context.WithCancel(context.Background())
	return h
}

// Close gives all locks back, as their holders see.
func (h *Holder) Close() {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.cancel()
	h.running.Wait()
}

// Lock waits for the lock of a name until ctx ends. Errors of the connection are
// returned: the caller decides about patience.
func (h *Holder) Lock(ctx context.Context, name string) (*Held, error) {
	leave, err := h.queue(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("wait to lead %s: %w", name, err)
	}
	key := LockKey(h.namespace, "leader "+name)
	for {
		session, ok, err := h.try(ctx, key)
		if ok {
			return &Held{session: session, key: key, leave: leave}, nil
		}
		if err == nil {
			err = retryPause(ctx)
		}
		if err != nil {
			leave()
			return nil, fmt.Errorf("wait to lead %s: %w", name, err)
		}
	}
}

// retryPause waits before a lock that another process holds is asked for again.
func retryPause(ctx context.Context) error {
	pause := time.NewTimer(leaseRetryEvery/2 + rand.N(leaseRetryEvery))
	defer pause.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-pause.C:
		return nil
	}
}

// queue waits for the turn of a name in this process.
func (h *Holder) queue(ctx context.Context, name string) (leave func(), err error) {
	h.mu.Lock()
	t := h.turns[name]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		h.turns[name] = t
	}
	t.users++
	h.mu.Unlock()
	gone := func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(h.turns, name)
		}
	}
	select {
	case <-t.free:
		return func() { t.free <- struct{}{}; gone() }, nil
	case <-ctx.Done():
		gone()
		return nil, ctx.Err()
	}
}

// try asks for a lock once, on a session that lives.
func (h *Holder) try(ctx context.Context, key int64) (session *lockSession, ok bool, err error) {
	for {
		if session, err = h.living(); err != nil {
			return nil, false, err
		}
		ok, err = session.ask(ctx, tryLock, key)
		if !errors.Is(err, errSessionOver) {
			return session, ok, err
		}
	}
}

var errHolderClosed = errors.New("no lock is taken any more")

// living gives the session, a new one where the last has ended.
func (h *Holder) living() (*lockSession, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errHolderClosed
	}
	if h.session == nil || h.session.over() {
		session := newLockSession()
		h.running.Go(func() { session.run(h.base, h.pool) })
		h.session = session
	}
	return h.session, nil
}

// Lost is closed when the session that carries the lock is gone: somebody else may
// lead from now on.
func (l *Held) Lost() <-chan struct{} { return l.session.ended }

// Release gives the lock back, within seconds whatever the server does. It may be
// called more than once.
func (l *Held) Release() {
	l.once.Do(func() {
		defer l.leave()
		_, _ = l.session.ask(context.Background(), unlock, l.key) // it ends with its session otherwise
	})
}
