package properties

import (
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"seckill/domain"
	"seckill/infra/cli/e2e"
)

// TestTheLogDefendsItselfAgainstAGateThatLies lets somebody write into Redis by hand:
// the gate says yes to what it must not, and the log keeps none of it.
func TestTheLogDefendsItselfAgainstAGateThatLies(t *testing.T) {
	h := newHouse(t)
	defer h.close()
	for name, lie := range map[string]struct {
		terms  terms
		tell   func(r *run, c *redis.Client)
		buyers [4]string
		reason domain.Reason
	}{
		"about its stock": {
			terms{domain.StrategyRedisAsync, 1, [2]int64{2, 0}, 1, 1, false},
			func(r *run, c *redis.Client) { r.tamper(c, "stock:"+r.m.sale+":item:*", "available", "4") },
			[4]string{"ann", "bob", "cao", "dag"}, domain.RejectedGuard,
		},
		"about a buyer's orders": {
			terms{domain.StrategyRedisAsync, 1, [2]int64{9, 0}, 2, 1, true},
			func(r *run, c *redis.Client) { r.tamper(c, "sale:"+r.m.sale+":*", "b:ann", "") },
			[4]string{"ann", "bob", "ann", "bob"}, domain.RejectedDuplicate,
		},
		"about a buyer's units": {
			terms{domain.StrategyRedisAsync, 1, [2]int64{9, 0}, 1, 9, true},
			func(r *run, c *redis.Client) { r.tamper(c, "sale:"+r.m.sale+":*", "b:ann", "") },
			[4]string{"ann", "bob", "ann", "cao"}, domain.RejectedLimit,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRun(t, h, program{Terms: lie.terms})
			r.begin()
			opts, err := redis.ParseURL(h.rig.Redis.URL)
			if err != nil {
				t.Fatal(err)
			}
			client := redis.NewClient(opts)
			defer func() { _ = client.Close() }() // a test's own connection
			accepted := map[string]string{}
			for i, who := range lie.buyers {
				if i == 2 {
					lie.tell(r, client)
				}
				p := r.api([]int{0, 1, 1, 0}[i]) // who has sold to a buyer remembers it
				got, _ := ask(p, purchase(who, r.m.sale, fmt.Sprint("key-", i), ourLines(0)))
				if got.err == nil && got.res.Outcome == domain.Reserved {
					accepted[got.res.Order.ID] = who
				}
			}
			if len(accepted) < 3 {
				t.Fatalf("the gate accepted %d of four purchases: it does not lie", len(accepted))
			}
			r.observer.AwaitDecided(r.tb, accepted)
			if _, err := r.observer.Keeper.Rehydrate(r.ctx, r.m.sale, nil); err != nil {
				t.Fatalf("rehydrate: %v", err)
			}
			refused := 0
			for _, o := range e2e.ReadBooks(r.tb, r.observer.Store, r.m.sale).Orders {
				if o.Status == domain.OrderStatusRejected && o.Reason == lie.reason {
					refused++
				}
			}
			if refused == 0 {
				t.Errorf("the log kept everything that a lying gate accepted; want a rejection for %s", lie.reason)
			}
			e2e.StandingChecks(r.tb, r.observer, r.m.sale, accepted)
		})
	}
}

// tamper writes a field of the one hash that matches; "" removes the field.
func (r *run) tamper(c *redis.Client, pattern, field, value string) {
	keys, err := c.Keys(r.ctx, "*:"+pattern).Result()
	if err != nil || len(keys) != 1 {
		r.t.Fatalf("keys %v match %s (%v), want one", keys, pattern, err)
	}
	if value == "" {
		err = c.HDel(r.ctx, keys[0], field).Err()
	} else {
		err = c.HSet(r.ctx, keys[0], field, value).Err()
	}
	if err != nil {
		r.t.Fatalf("write into Redis: %v", err)
	}
}
