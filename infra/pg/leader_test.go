package pg_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/goleak"

	"seckill/infra/pg"
	"seckill/infra/pg/pgtest"
)

func mustLead(t *testing.T, l *pg.Leader) *pg.Lease {
	t.Helper()
	lease, ok, err := l.TryLock(t.Context())
	if err != nil || !ok {
		t.Fatalf("try to lead: got %v, %v, want the lease", ok, err)
	}
	t.Cleanup(func() { lease.Release(context.Background()) })
	return lease
}

func TestOneLeadsAndTheNextLeadsAfterItsRelease(t *testing.T) {
	pool, _, ns := pgtest.New(t)
	lease := mustLead(t, pg.NewLeader(pool, ns, "recovery 1"))
	second := pg.NewLeader(pool, ns, "recovery 1")
	if _, ok, err := second.TryLock(t.Context()); ok || err != nil {
		t.Errorf("while another leads: got %v, %v, want no", ok, err)
	}
	mustLead(t, pg.NewLeader(pool, ns, "recovery 2"))
	mustLead(t, pg.NewLeader(pool, ns+"x", "recovery 1"))

	waited := make(chan error, 1)
	go func() {
		next, err := second.Lock(context.Background())
		if err == nil {
			next.Release(context.Background())
		}
		waited <- err
	}()
	lease.Release(t.Context())
	lease.Release(t.Context())
	if err := <-waited; err != nil {
		t.Errorf("waiting for the lease: %v", err)
	}
	select {
	case <-lease.Lost():
		t.Error("a lease that was released is said to be lost")
	default:
	}
}

func TestAWaitingLeaderGivesUpWithItsContext(t *testing.T) {
	pool, _, ns := pgtest.New(t)
	mustLead(t, pg.NewLeader(pool, ns, "x"))
	before := goleak.IgnoreCurrent()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := pg.NewLeader(pool, ns, "x").Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
	goleak.VerifyNone(t, before)
}

func TestALeaderHearsThatItsConnectionIsGone(t *testing.T) {
	pool, url, ns := pgtest.New(t)
	lease := mustLead(t, pg.NewLeader(pool, ns, "x"))
	ctx, stop := lease.Context(t.Context())
	defer stop()
	asOwner(t, url, `select pg_terminate_backend(l.pid) from pg_locks l join pg_stat_activity a using (pid)
where l.locktype = 'advisory' and a.application_name = 'test `+ns+`'`)
	select {
	case <-ctx.Done():
		if !errors.Is(context.Cause(ctx), pg.ErrLeaseLost) {
			t.Errorf("cause: got %v, want ErrLeaseLost", context.Cause(ctx))
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the leader was not told that its lease is lost")
	}
	<-lease.Lost()
	waiting, cancel := context.WithTimeout(t.Context(), 30*time.Second) // the server says good-bye before it gives its locks back
	defer cancel()
	next, err := pg.NewLeader(pool, ns, "x").Lock(waiting)
	if err != nil {
		t.Fatalf("lead after it: %v", err)
	}
	next.Release(t.Context())
}

func TestAnybodyCanSeeWhetherSomebodyLeads(t *testing.T) {
	pool, _, ns := pgtest.New(t)
	held := func(name string) bool {
		t.Helper()
		is, err := pg.NewLeader(pool, ns, name).Held(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	for _, name := range []string{"a", "b", "c", "d"} { // keys with either sign
		if held(name) {
			t.Errorf("somebody leads %s before anybody does", name)
		}
		lease := mustLead(t, pg.NewLeader(pool, ns, name))
		if !held(name) {
			t.Errorf("nobody leads %s although somebody does", name)
		}
		lease.Release(t.Context())
	}
}
