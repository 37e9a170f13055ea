package pg_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"seckill/infra/pg"
	"seckill/infra/pg/pgtest"
	"seckill/infra/testenv"
)

// TestActivityShowsWhatRunsAndForHowLong looks, with the application's pool, at a
// statement that runs, one that waits for a lock, and a transaction that idles.
func TestActivityShowsWhatRunsAndForHowLong(t *testing.T) {
	pool, url, namespace := pgtest.New(t)
	other, err := pg.Open(t.Context(), url, pg.Options{Namespace: namespace, AppName: "the slow one", StatementTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Close)
	holder, err := other.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), "select pg_advisory_xact_lock(4711)"); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	for _, statement := range []string{"select pg_sleep(60) /* slow */", "select pg_advisory_xact_lock(4711) /* waits */"} {
		go func() {
			_, err := other.Exec(t.Context(), statement)
			ended <- err
		}()
	}
	testenv.Eventually(t, 30*time.Second, func() error {
		a, err := pg.LookAtActivity(t.Context(), pool, 10*time.Millisecond)
		if err != nil {
			return err
		}
		var slow, waits *pg.Statement
		for i, s := range a.Slow {
			switch {
			case s.Application == "the slow one" && strings.Contains(s.Query, "/* slow */"):
				slow = &a.Slow[i]
			case s.Application == "the slow one" && strings.Contains(s.Query, "/* waits */"):
				waits = &a.Slow[i]
			}
		}
		if slow == nil || waits == nil || slow.Took <= 10*time.Millisecond || slow.Wait != "Timeout:PgSleep" || waits.Wait != "Lock:advisory" {
			return fmt.Errorf("got slow statements %+v", a.Slow)
		}
		if a.Active < 3 || a.WaitingForLocks < 1 || a.IdleInTransaction < 1 || a.Oldest < 10*time.Millisecond || a.Max < 10 || a.Other > 0 {
			return fmt.Errorf("got %+v", a)
		}
		return nil
	})
	if err := holder.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	if a, err := pg.LookAtActivity(t.Context(), pool, time.Hour); err != nil || len(a.Slow) > 0 {
		t.Errorf("got %v %v, want nothing slower than an hour", a.Slow, err)
	}
	var role string
	if err := errors.Join(pool.QueryRow(t.Context(), "select current_user").Scan(&role)); err != nil || role != pg.AppRole(namespace) {
		t.Errorf("afterwards the pool works as %q (%v), want %q", role, err, pg.AppRole(namespace))
	}
}
