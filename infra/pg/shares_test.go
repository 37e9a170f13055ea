package pg_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/infra/pg"
	"seckill/infra/pg/pgtest"
	"seckill/infra/testenv"
)

func mustJoin(t *testing.T, pool *pgxpool.Pool, ns string) *pg.Share {
	t.Helper()
	share, err := pg.NewShares(pool, ns, "work", 8).Join(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { share.Leave(context.Background()) })
	return share
}

// settle lets each holder balance until nobody has anything to give, and gives how
// many parts each holds, sorted. No part may be held twice, none by nobody.
func settle(t *testing.T, holders ...*pg.Share) []int {
	t.Helper()
	for range 4 {
		for _, h := range holders {
			surplus, err := h.Balance(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := h.Give(t.Context(), surplus); err != nil {
				t.Fatal(err)
			}
		}
	}
	var counts, all []int
	for _, h := range holders {
		counts = append(counts, len(h.Held()))
		all = append(all, h.Held()...)
	}
	slices.Sort(counts)
	slices.Sort(all)
	if !slices.Equal(all, []int{0, 1, 2, 3, 4, 5, 6, 7}) {
		t.Fatalf("the parts held are %v, want each of 8 once", all)
	}
	return counts
}

func TestPartsAreSharedEvenlyByWhoLives(t *testing.T) {
	t.Parallel()
	pool, _, ns := pgtest.New(t)
	a := mustJoin(t, pool, ns)
	want := func(want []int, holders ...*pg.Share) {
		t.Helper()
		if got := settle(t, holders...); !slices.Equal(got, want) {
			t.Errorf("%d holders have %v parts, want %v", len(holders), got, want)
		}
	}
	want([]int{8}, a)
	b := mustJoin(t, pool, ns)
	want([]int{4, 4}, a, b)
	c := mustJoin(t, pool, ns)
	want([]int{2, 3, 3}, a, b, c)
	d, e := mustJoin(t, pool, ns), mustJoin(t, pool, ns)
	want([]int{1, 1, 2, 2, 2}, a, b, c, d, e)
	mustJoin(t, pool, ns+"x") // another installation
	for _, dead := range []*pg.Share{a, c, e} {
		dead.Leave(t.Context())
	}
	// The server has noticed when the last of them can no longer be seen.
	testenv.Eventually(t, 30*time.Second, func() error {
		if _, err := d.Balance(t.Context()); err != nil {
			return err
		}
		if surplus, err := b.Balance(t.Context()); err != nil || len(surplus) > 0 || len(b.Held())+len(d.Held()) != 8 {
			return fmt.Errorf("two are left and hold %v and %v, %v", b.Held(), d.Held(), err)
		}
		return nil
	})
	want([]int{4, 4}, b, d)
}

func TestAShareIsLostWithItsConnection(t *testing.T) {
	t.Parallel()
	pool, url, ns := pgtest.New(t)
	share := mustJoin(t, pool, ns)
	settle(t, share)
	asOwner(t, url, `select pg_terminate_backend(l.pid) from pg_locks l join pg_stat_activity a using (pid)
where l.locktype = 'advisory' and a.application_name = 'test `+ns+`'`)
	if _, err := share.Balance(t.Context()); err == nil {
		t.Error("a share whose connection is gone balances without an error")
	}
	settle(t, mustJoin(t, pool, ns))
}

// One that leads alone, as every version before did, and those that share keep each
// other out: a rollout has the one or the others at work.
func TestWhoLeadsAloneAndWhoShareKeepEachOtherOut(t *testing.T) {
	t.Parallel()
	pool, _, ns := pgtest.New(t)
	leader := pg.NewLeader(pool, ns, "work")
	alone := mustLead(t, leader)
	var joined sync.WaitGroup
	joined.Go(func() {
		share, err := pg.NewShares(pool, ns, "work", 8).Join(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		defer share.Leave(context.Background())
		if held, err := leader.Held(t.Context()); err != nil || !held {
			t.Errorf("while somebody shares it nobody seems to lead: %v", err)
		}
		if _, ok, err := leader.TryLock(t.Context()); ok || err != nil {
			t.Errorf("one leads alone what others share: %t, %v", ok, err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := pg.NewShares(pool, ns, "work", 8).Join(ctx); ctx.Err() == nil {
		t.Errorf("it is shared while one leads alone: %v", err)
	}
	alone.Release(t.Context())
	joined.Wait()
}
