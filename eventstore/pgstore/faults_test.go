package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/eventstore/storetest"
	"seckill/infra/pg"
	"seckill/infra/pg/pgtest"
	"seckill/infra/testenv"
)

// once calls fn the first time the named step is reached.
func once(name string, fn func()) func(string) {
	var first sync.Once
	return func(step string) {
		if step == name {
			first.Do(fn)
		}
	}
}

// throughProxy opens a store whose every connection passes a proxy, and the
// same store once more directly, to look at what happened.
func throughProxy(t *testing.T, opts func(*testenv.FaultProxy) pgstore.Options) (store, direct *pgstore.Store, p *testenv.FaultProxy) {
	t.Helper()
	pool, url, ns := pgtest.New(t)
	p = testenv.Proxy(t, url)
	through, err := pg.Open(t.Context(), p.URL(), pg.Options{Namespace: ns})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(through.Close)
	direct = start(t, pool, ns, pgstore.Options{})
	storetest.MustSubmit(t, direct, placed("order-first"), eventstore.Stored) // makes the first partition
	return start(t, through, ns, opts(p)), direct, p
}

// losesCommitReply commits once without hearing of it, and soon loses patience.
func losesCommitReply(p *testenv.FaultProxy) pgstore.Options {
	return pgstore.Options{
		StatementTimeout: 200 * time.Millisecond,
		Step:             once(pgstore.StepBeforeCommit, func() { p.DropReplyTo("COMMIT") }),
	}
}

func mustHaveDropped(t *testing.T, p *testenv.FaultProxy) {
	t.Helper()
	if p.Dropped() != 1 {
		t.Errorf("the proxy dropped %d replies, want one: this test has shown nothing", p.Dropped())
	}
}

func placed(stream string) eventstore.Work {
	return storetest.Plain(storetest.To(stream, 0, storetest.NewEvent("order.placed")))
}

func TestB17ACommitWhoseReplyIsLostIsFoundOutToBeStored(t *testing.T) {
	store, direct, p := throughProxy(t, func(p *testenv.FaultProxy) pgstore.Options {
		return losesCommitReply(p)
	})
	var decided atomic.Int64
	w := placed("order-a")
	decide := w.Decide
	w.Decide = func(l eventstore.Look) (*eventstore.Group, error) { decided.Add(1); return decide(l) }
	storetest.MustSubmit(t, store, w, eventstore.Stored)
	mustHaveDropped(t, p)
	if n := len(storetest.ReadAll(t, direct)); n != 2 {
		t.Errorf("got %d events, want the first and this one", n)
	}
	if decided.Load() != 1 {
		t.Errorf("decided %d times, want once: the batch was stored and must not be tried again", decided.Load())
	}
	storetest.MustSubmit(t, store, w, eventstore.AlreadyThere)
}

func TestACursorMoveWhoseCommitReplyIsLostIsFoundOutToBeStored(t *testing.T) {
	store, _, p := throughProxy(t, func(p *testenv.FaultProxy) pgstore.Options {
		return losesCommitReply(p)
	})
	errMoved := errors.New("moved")
	r, err := store.Submit(t.Context(), eventstore.Work{
		Needs: eventstore.Needs{Lanes: []int{1}},
		Decide: func(l eventstore.Look) (*eventstore.Group, error) {
			if l.Cursor(1).N != 0 {
				return nil, errMoved
			}
			return &eventstore.Group{Cursors: []eventstore.Cursor{{Lane: 1, Epoch: 1, N: 1, Digest: "d"}}}, nil
		},
	})
	mustHaveDropped(t, p)
	if err != nil || r.Outcome != eventstore.Stored {
		t.Errorf("got outcome %d, %v, want stored: it was this very work that moved the cursor", r.Outcome, err)
	}
}

func TestASessionKilledBeforeItsCommitStoresNothingAndIsTriedAgain(t *testing.T) {
	for name, work := range map[string]eventstore.Work{
		"with events": placed("order-a"),
		"cursor alone": storetest.Always(&eventstore.Group{
			Cursors: []eventstore.Cursor{{Lane: 1, Epoch: 1, N: 1, Digest: "d"}}}),
	} {
		t.Run(name, func(t *testing.T) {
			pool, url, ns := pgtest.New(t)
			kill := func() { terminateWriters(t, url, ns) }
			storetest.MustSubmit(t, start(t, pool, ns, pgstore.Options{}), placed("order-first"), eventstore.Stored)
			store := start(t, pool, ns, pgstore.Options{Step: once(pgstore.StepBeforeCommit, kill)})
			decided := 0
			decide := work.Decide
			work.Decide = func(l eventstore.Look) (*eventstore.Group, error) { decided++; return decide(l) }
			storetest.MustSubmit(t, store, work, eventstore.Stored)
			if decided != 2 {
				t.Errorf("decided %d times, want twice: once in vain", decided)
			}
			if n := len(storetest.ReadAll(t, store)); n > 2 {
				t.Errorf("got %d events, want at most two", n)
			}
		})
	}
}

// TestASessionKilledWithinItsCommit: everything was written, the commit had
// begun and did not take place, and nobody said so to the appender.
func TestASessionKilledWithinItsCommitStoresNothingAndIsTriedAgain(t *testing.T) {
	pool, url, ns := pgtest.New(t)
	store := start(t, pool, ns, pgstore.Options{LockTimeout: 20 * time.Second})
	storetest.MustSubmit(t, store, placed("order-first"), eventstore.Stored)
	gate := pg.LockKey(ns, "gate")
	letGo := commitsWait(t, url, ns, "order-a", gate)
	var decided atomic.Int64
	w := placed("order-a")
	decide := w.Decide
	w.Decide = func(l eventstore.Look) (*eventstore.Group, error) { decided.Add(1); return decide(l) }
	var todo sync.WaitGroup
	todo.Go(func() { storetest.MustSubmit(t, store, w, eventstore.Stored) })
	poll(t, "the writer to wait within its commit", func() bool { return waitsFor(t, pool, gate) })
	if _, err := owner(t, url).Exec(t.Context(), "select pg_terminate_backend(pid) from ("+selectWaiters+") w", gate); err != nil {
		t.Error(err)
	}
	letGo()
	todo.Wait()
	if decided.Load() != 2 {
		t.Errorf("decided %d times, want twice: once in vain", decided.Load())
	}
	if n := len(storetest.ReadAll(t, store)); n != 2 {
		t.Errorf("got %d events, want two", n)
	}
}

func TestABatchThatKillsEverySessionThatWritesItIsUnavailableInTheEnd(t *testing.T) {
	pool, url, ns := pgtest.New(t)
	store := start(t, pool, ns, pgstore.Options{RetryFor: 50 * time.Millisecond})
	storetest.MustSubmit(t, store, placed("order-first"), eventstore.Stored)
	_, err := owner(t, url).Exec(t.Context(), fmt.Sprintf(`
set search_path = %s;
create function die() returns trigger language plpgsql security definer as $$
begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$;
create trigger die after insert on streams for each row when (new.stream = 'order-a') execute function die()`, ns))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Submit(t.Context(), placed("order-a")); !errors.Is(err, eventstore.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	} else {
		t.Log(err)
	}
	storetest.MustSubmit(t, store, placed("order-b"), eventstore.Stored)
}

// terminateWriters ends the sessions that are in a transaction of our test.
func terminateWriters(t testing.TB, url, ns string) {
	t.Helper()
	tag, err := owner(t, url).Exec(context.Background(), `
select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1 and state = 'idle in transaction'`, "test "+ns)
	if err != nil || tag.RowsAffected() != 1 {
		t.Errorf("terminate the appender's session: got %s, %v, want one", tag, err)
	}
}

func TestAStoreThatCannotBeReachedIsUnavailableWithinItsBounds(t *testing.T) {
	store, direct, p := throughProxy(t, func(*testenv.FaultProxy) pgstore.Options {
		return pgstore.Options{RetryFor: 200 * time.Millisecond}
	})
	storetest.MustSubmit(t, store, placed("order-a"), eventstore.Stored)
	p.Cut()
	if _, err := store.Submit(t.Context(), placed("order-b")); !errors.Is(err, eventstore.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnavailable", err)
	} else {
		t.Log(err)
	}
	p.Heal()
	storetest.MustSubmit(t, store, placed("order-b"), eventstore.Stored)
	if n := len(storetest.ReadAll(t, direct)); n != 3 {
		t.Errorf("got %d events, want 3", n)
	}
}

func TestAnOutcomeThatStaysUnknownUntilTheStoreIsClosedIsSaidToBeUnknown(t *testing.T) {
	cut := make(chan struct{})
	store, _, _ := throughProxy(t, func(p *testenv.FaultProxy) pgstore.Options {
		return pgstore.Options{Step: once(pgstore.StepBeforeCommit, func() { p.Cut(); close(cut) })}
	})
	answered := make(chan error, 1)
	go func() {
		_, err := store.Submit(context.Background(), placed("order-a"))
		answered <- err
	}()
	<-cut
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := store.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("close: got %v, want the context's error", err)
	}
	if err := <-answered; !errors.Is(err, eventstore.ErrUnknown) || errors.Is(err, eventstore.ErrUnavailable) {
		t.Errorf("got %v, want ErrUnknown alone", err)
	}
}
