package pg_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"seckill/infra/pg"
	"seckill/infra/pg/pgtest"
	"seckill/infra/testenv"
)

func newHolder(t *testing.T, pool *pgxpool.Pool, ns string) *pg.Holder {
	t.Helper()
	h := pg.NewHolder(pool, ns)
	t.Cleanup(h.Close)
	return h
}

func mustHold(t *testing.T, h *pg.Holder, name string) *pg.Held {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	held, err := h.Lock(ctx, name)
	if err != nil {
		t.Fatalf("lock %s: %v", name, err)
	}
	t.Cleanup(held.Release)
	return held
}

func TestALockOfAHolderKeepsOthersOutUntilItIsGivenBack(t *testing.T) {
	pool, _, ns := pgtest.New(t)
	h := newHolder(t, pool, ns)
	held := mustHold(t, h, "lane 1")
	if _, ok, err := pg.NewLeader(pool, ns, "lane 1").TryLock(t.Context()); ok || err != nil {
		t.Errorf("a leader of that name, while it is held: got %v, %v, want no", ok, err)
	}
	for _, other := range []*pg.Holder{h, newHolder(t, pool, ns)} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, err := other.Lock(ctx, "lane 1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("somebody else: got %v, want to wait in vain", err)
		}
		cancel()
	}
	mustHold(t, h, "lane 2")
	held.Release()
	held.Release()
	mustLead(t, pg.NewLeader(pool, ns, "lane 1")) // whoever gave up in between took nothing
}

func TestHoldersOfAProcessFollowEachOtherOnOneConnection(t *testing.T) {
	pool, _, ns := pgtest.New(t)
	h := newHolder(t, pool, ns)
	var inside [4]atomic.Int64
	var rounds atomic.Int64
	var all sync.WaitGroup
	for w := range 32 {
		all.Go(func() {
			for i := range 10 {
				name := (w + i) % len(inside)
				held, err := h.Lock(t.Context(), fmt.Sprint("lane ", name))
				if err != nil {
					t.Errorf("lock: %v", err)
					return
				}
				if n := inside[name].Add(1); n != 1 {
					t.Errorf("%d hold lane %d at once", n, name)
				}
				if rounds.Add(1) == 100 {
					if n := connections(t, pool, ns); n != 1 {
						t.Errorf("the locks lie on %d connections, want 1", n)
					}
				}
				inside[name].Add(-1)
				held.Release()
			}
		})
	}
	all.Wait()
	for name := range inside {
		mustLead(t, pg.NewLeader(pool, ns, fmt.Sprint("lane ", name)))
	}
}

// connections counts the sessions that hold a lock in a namespace.
func connections(t *testing.T, pool *pgxpool.Pool, ns string) (n int) {
	t.Helper()
	err := pool.QueryRow(t.Context(), `select count(distinct l.pid) from pg_locks l join pg_stat_activity a using (pid)
where l.locktype = 'advisory' and l.objsubid = 1 and a.application_name = 'test '||$1`, ns).Scan(&n)
	if err != nil {
		t.Error(err)
	}
	return n
}

func TestEveryHolderHearsThatTheSessionIsGoneAndTheNextGetsAnother(t *testing.T) {
	pool, url, ns := pgtest.New(t)
	h := newHolder(t, pool, ns)
	first, second := mustHold(t, h, "lane 1"), mustHold(t, h, "lane 2")
	asOwner(t, url, `select pg_terminate_backend(l.pid) from pg_locks l join pg_stat_activity a using (pid)
where l.locktype = 'advisory' and a.application_name = 'test `+ns+`'`)
	for _, held := range []*pg.Held{first, second} {
		select {
		case <-held.Lost():
		case <-time.After(30 * time.Second):
			t.Fatal("a holder was not told that its lock is lost")
		}
		held.Release()
	}
	mustHold(t, h, "lane 1")
}

func TestAHolderThatIsClosedLeavesNothingBehind(t *testing.T) {
	pool, _, ns := pgtest.New(t)
	before := goleak.IgnoreCurrent()
	h := pg.NewHolder(pool, ns)
	held := mustHold(t, h, "lane 1")
	h.Close()
	select {
	case <-held.Lost():
	default:
		t.Error("a lock is said to be held after its holder was closed")
	}
	held.Release()
	if _, err := h.Lock(t.Context(), "lane 1"); err == nil {
		t.Error("a lock was taken after the end")
	}
	goleak.VerifyNone(t, before)
	testenv.Eventually(t, 30*time.Second, func() error {
		lease, ok, err := pg.NewLeader(pool, ns, "lane 1").TryLock(t.Context())
		if err == nil && !ok {
			return errors.New("the lock is still held")
		}
		if err == nil {
			lease.Release(t.Context())
		}
		return err
	})
}

func TestALockOnADatabaseThatIsAwayIsAnErrorWithinItsTime(t *testing.T) {
	pool, _, ns := pgtest.New(t)
	cfg := pool.Config()
	cfg.ConnConfig.Host, cfg.ConnConfig.Port = "127.0.0.1", 1
	away, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(away.Close)
	h := newHolder(t, away, ns)
	for range 3 {
		if _, err := h.Lock(t.Context(), "lane 1"); err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want why nobody answers", err)
		}
	}
}
