package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"seckill/infra/embedded"
	"seckill/infra/testenv"
)

// gatesOn are the limits that figures are taken with: a buyer's as they are by default,
// and one of the node that nobody reaches.
var gatesOn = [...]string{"SECKILL_LIMIT_PURCHASES=5", "SECKILL_LIMIT_POLLS=20", "SECKILL_LIMIT_ENDPOINT=1000000"}

// durableRig is an installation on stores that are as durable as in use, and of its own:
// PostgreSQL that syncs every commit, Redis with an append-only file.
func durableRig(t testing.TB) *Rig {
	t.Helper()
	stores, err := embedded.Start(context.Background(), embedded.Options{DataDir: t.TempDir(), NeedPostgres: true})
	if err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := stores.Stop(ctx); err != nil {
			t.Errorf("stop PostgreSQL: %v", err)
		}
	})
	return rigOn(t, stores.DatabaseURL, testenv.PrivateRedis(t, testenv.RedisOptions{}))
}

// durability reads the settings that make the rig durable, and fails the test where one
// is off: a figure without them would be none.
func (r *Rig) durability(t testing.TB) []string {
	t.Helper()
	var told []string
	for _, name := range []string{"fsync", "full_page_writes", "synchronous_commit"} {
		var value string
		if err := r.Pool.QueryRow(t.Context(), "select current_setting($1)", name).Scan(&value); err != nil || value != "on" {
			t.Fatalf("PostgreSQL has %s %q (%v), want on", name, value, err)
		}
		told = append(told, name+"="+value)
	}
	for name, want := range map[string]string{"appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction"} {
		value, err := redisOf(t, r.Redis.URL).ConfigGet(t.Context(), name).Result()
		if err != nil || value[name] != want {
			t.Fatalf("Redis has %s %q (%v), want %s", name, value[name], err, want)
		}
	}
	return append(told, "appendonly=yes", "appendfsync=everysec", "maxmemory-policy=noeviction")
}

// settings are those of a figure that was taken over HTTP with every gate on.
func (r *Rig) settings(t testing.TB) []string {
	t.Helper()
	return append(r.durability(t), gatesOn[:]...)
}

// spent is processor time of everything that serves a purchase, in µs.
type spent struct{ node, redis, postgres float64 }

// spentBy reads what a node and the rig's stores have used.
func (r *Rig) spentBy(b *testing.B, c *Child) spent {
	b.Helper()
	return spent{float64(processorTime(b, c.cmd.Process.Pid).Microseconds()), float64(processorTime(b, r.redisPID(b)).Microseconds()), r.postgresTime(b)}
}

// each is what was used since before, for one of n.
func (s spent) each(before spent, n int) spent {
	of := float64(n)
	return spent{(s.node - before.node) / of, (s.redis - before.redis) / of, (s.postgres - before.postgres) / of}
}

func (s spent) all() float64 { return s.node + s.redis + s.postgres }

// awaitProjected waits until all three views have so many orders of a sale.
func (r *Rig) awaitProjected(b *testing.B, sale string, orders int) {
	b.Helper()
	// The first is cheap to ask for again and again; the others are mostly there then.
	for _, question := range []string{
		"select coalesce(sum(placed), 0)::bigint from sale_summary where sale_id = $1",
		"select count(*) from order_view where sale_id = $1",
		"select count(*) from stock_log where sale_id = $1 and quantity < 0",
	} {
		testenv.Eventually(b, 10*time.Minute, func() error {
			var n int
			err := r.Pool.QueryRow(b.Context(), question, sale).Scan(&n)
			if err == nil && n < orders {
				err = fmt.Errorf("%d of %d orders by %s", n, orders, question)
			}
			return err
		})
	}
}
