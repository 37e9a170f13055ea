package e2e

import (
	"fmt"
	"strings"
	"testing"

	"seckill/infra/pg"
	"seckill/projections"
)

// orders counts the rows of order_view.
func (l *logbook) orders() (n int) {
	l.t.Helper()
	if err := l.pool.QueryRow(l.t.Context(), "select count(*) from order_view").Scan(&n); err != nil {
		l.t.Fatal(err)
	}
	return n
}

// lose removes the events after a position, as somebody who may do anything.
func (l *logbook) lose(after int64) {
	l.owner(fmt.Sprintf("alter table events_000000000001 disable trigger all; delete from events_000000000001 where position > %d", after))
}

func TestARebuildOfADestroyedLogLeavesTheViewsAlone(t *testing.T) {
	t.Parallel()
	for name, left := range map[string]int64{"all of it": 0, "its tail": 12} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLogbook(t)
			for i := range 20 {
				l.rejected(fmt.Sprintf("o%d", i))
			}
			l.project()
			l.lose(left)
			says := fmt.Sprintf("The log ends at position %d, but the view order_view has applied position 20", left)
			for _, args := range [][]string{{"--all"}, {"stock_log"}} {
				done := Run(t, l.env, append([]string{"rebuild"}, args...)...)
				wantOneSentence(t, done, 3, says)
				wantOneSentence(t, done, 3, "--accept-log-loss")
			}
			if told := wantFault(t, Run(t, l.env, "rebuild", "--all", "--json")); !strings.HasPrefix(told.Fault.Detail, says) || told.OK {
				t.Errorf("as JSON: %+v, want the same sentence", told)
			}
			if n := l.orders(); n != 20 {
				t.Fatalf("%d orders are left in the view, want all 20", n)
			}
			if done := Run(t, l.env, "rebuild", "--all", "--accept-log-loss"); done.Code != 0 || !strings.Contains(done.Stderr, says) {
				t.Errorf("with the loss accepted: %+v, want that it goes on with a warning", done)
			}
			if n := l.orders(); n != int(left) {
				t.Errorf("%d orders are in the view, want the %d of the log", n, left)
			}
		})
	}
}

func wantFault(t *testing.T, done Finished) rebuiltAnswer {
	t.Helper()
	if done.Code != 3 {
		t.Errorf("exit code %d, want 3", done.Code)
	}
	done.Code = 0
	return wantJSON[rebuiltAnswer](t, done)
}

func TestARebuildGoesOnOverAnAcceptedLossButNotOverTheNextOne(t *testing.T) {
	t.Parallel()
	l := newLogbook(t)
	for i := range 20 {
		l.rejected(fmt.Sprintf("o%d", i))
	}
	l.project()
	l.lose(12)
	// As `audit accept-loss` writes it: sealed up to 18 only, the views were further.
	l.owner("insert into log_losses (head, lost_to, by, reason) values (12, 18, 'ops', 'a test')")
	if done := Run(t, l.env, "rebuild", "--all"); done.Code != 0 || l.orders() != 12 {
		t.Fatalf("got %+v and %d orders, want it rebuilt with 12", done, l.orders())
	}
	l.lose(5)
	wantOneSentence(t, Run(t, l.env, "rebuild", "--all"), 3, "position 12")
	if n := l.orders(); n != 12 {
		t.Errorf("%d orders are in the view, want the 12 of before", n)
	}
}

func TestASealBeyondTheLogStopsARebuildWhereNoCheckpointDoes(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	env := append(r.Settings(t), "SECKILL_SEAL_AFTER=100ms")
	child := Serve(t, ChildOptions{Env: env})
	client := NewClient(child.URL)
	client.buy(t, client.CreateSale(t, 5), "early", 3)
	awaitAllSealed(t, r)
	child.Stop()
	l := &logbook{t: t, pool: r.Pool, url: r.URL, env: env}
	l.lose(2)
	l.owner("delete from checkpoints")
	done := Run(t, env, "rebuild", "--all")
	wantOneSentence(t, done, 3, "in the database covers positions up to")
	wantOneSentence(t, done, 3, "exported seal")
}

func TestThereIsNothingToRebuildFromAnEmptyLogOrAFolderThatIsNotThere(t *testing.T) {
	t.Parallel()
	l := newLogbook(t)
	wantOneSentence(t, Run(t, l.env, "rebuild", "--all"), 1, "nothing to rebuild: the log is empty")
	wantOneSentence(t, Run(t, l.env, "rebuild", "--all", "--archive", "/nonexist"), 2, "--archive names no folder")
}

// B57
func TestARebuildStopsAtAnEventThatThisProgramDoesNotKnowWhateverItsFamily(t *testing.T) {
	t.Parallel()
	l := newLogbook(t)
	l.rejected("o1")
	at := l.add("o2", "gift.given", "{}")
	l.project()
	for _, args := range [][]string{{"--all"}, {"stock_log"}} {
		done := Run(t, l.env, append([]string{"rebuild"}, args...)...)
		if done.Code != 3 || !strings.Contains(done.Stderr, fmt.Sprintf("position %d (gift.given", at)) || !strings.Contains(done.Stderr, "newer one") || strings.Contains(done.Stderr, "parks") {
			t.Errorf("%v: got %+v, want exit code 3 with position and type", args, done)
		}
	}
}

func TestCheckpointsTellARebuildThatDiedFromOneThatRuns(t *testing.T) {
	t.Parallel()
	l := newLogbook(t)
	l.rejected("o1")
	l.owner("insert into rebuilds (projection, version, store, position, target, started_at, seen_at) values ('order_view', 1, 1, 3, 9, now(), now())")
	if done := Run(t, l.env, "checkpoints"); !strings.Contains(done.Stdout, "order_view version 1: a rebuild that died at position 3 of 9") {
		t.Errorf("nobody rebuilds: got %s", done.Stdout)
	}
	lease, ok, err := pg.NewLeader(l.pool, l.namespace(), projections.RebuildLock("order_view")).TryLock(t.Context())
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer lease.Release(t.Context())
	if done := Run(t, l.env, "checkpoints"); !strings.Contains(done.Stdout, "order_view version 1 is being rebuilt: at position 3 of 9") {
		t.Errorf("somebody rebuilds: got %s", done.Stdout)
	}
}

// namespace is that of the settings.
func (l *logbook) namespace() string {
	for _, kv := range l.env {
		if v, ok := strings.CutPrefix(kv, "SECKILL_NAMESPACE="); ok {
			return v
		}
	}
	return ""
}
