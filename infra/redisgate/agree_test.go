package redisgate_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"seckill/commands/gatetest"
	"seckill/domain"
	"seckill/infra/memgate"
	"seckill/infra/redisgate"
	"seckill/infra/testenv"
)

func TestGatesOnRedisAndInMemoryAgree(t *testing.T) {
	url := testenv.Redis(t)
	gatetest.Agree(t, func(tb testing.TB) gatetest.Subject {
		s, data := faultyGate(tb, url, testenv.Namespace(tb))
		s.Copy = data.copy
		return s
	}, memoryGate)
}

func TestGatesOnMiniredisAndInMemoryAgree(t *testing.T) {
	m := miniredis.RunT(t)
	runs := 0
	gatetest.Agree(t, func(tb testing.TB) gatetest.Subject {
		runs++
		s, _ := faultyGate(tb, "redis://"+m.Addr(), fmt.Sprintf("run%d", runs))
		return s
	}, memoryGate)
}

func memoryGate(testing.TB) gatetest.Subject {
	g := memgate.New(1, time.Now)
	processes := 0
	return gatetest.Subject{
		Ports: g,
		Failover: func(testing.TB) {
			processes++
			g.SetServer(fmt.Sprintf("process %d", processes))
		},
		Copy: func(testing.TB) func(testing.TB) {
			copied := g.Snapshot()
			return func(testing.TB) { g.Restore(copied, "a restored process") }
		},
		Lose: func(_ testing.TB, p domain.Place, sku string) { g.Lose(p, sku) },
	}
}

// processes is a gate whose process changes: the token stands for it.
type processes struct{ gatetest.Ports }

func faultyGate(tb testing.TB, url, namespace string) (gatetest.Subject, *dataset) {
	tb.Helper()
	next := 0
	start := func() *redisgate.Gate {
		next++
		return openGate(tb, url, redisgate.Options{Namespace: namespace, ProcessToken: fmt.Sprintf("process%d", next)})
	}
	gate := &processes{start()}
	o, err := redis.ParseURL(url)
	if err != nil {
		tb.Fatalf("parse URL: %v", err)
	}
	data := &dataset{client: redis.NewClient(o), namespace: namespace}
	tb.Cleanup(func() { data.client.Close() })
	return gatetest.Subject{
		Ports:    gate,
		Failover: func(testing.TB) { gate.Ports = start() },
		Lose:     data.lose,
	}, data
}

// dataset is what a namespace holds.
type dataset struct {
	client    *redis.Client
	namespace string
}

func (d *dataset) lose(tb testing.TB, p domain.Place, sku string) {
	tb.Helper()
	key := fmt.Sprintf("%s:{s1l%d}:sale:%s:%d", d.namespace, p.Lane(), p.Sale, p.Bucket)
	if sku != "" {
		key = fmt.Sprintf("%s:{s1l%d}:stock:%s:%s:%d", d.namespace, p.Lane(), p.Sale, sku, p.Bucket)
	}
	if err := d.client.Del(context.Background(), key).Err(); err != nil {
		tb.Fatalf("lose %s: %v", key, err)
	}
}

func (d *dataset) keys(tb testing.TB) []string {
	tb.Helper()
	keys, err := d.client.Keys(context.Background(), d.namespace+":*").Result()
	if err != nil {
		tb.Fatalf("list keys: %v", err)
	}
	return keys
}

func (d *dataset) copy(tb testing.TB) func(testing.TB) {
	tb.Helper()
	ctx, dump := context.Background(), map[string]string{}
	for _, key := range d.keys(tb) {
		v, err := d.client.Dump(ctx, key).Result()
		if err != nil {
			tb.Fatalf("copy %s: %v", key, err)
		}
		dump[key] = v
	}
	return func(tb testing.TB) {
		tb.Helper()
		if err := d.client.Del(ctx, d.keys(tb)...).Err(); err != nil {
			tb.Fatalf("remove what is newer: %v", err)
		}
		for key, v := range dump {
			if err := d.client.Restore(ctx, key, 0, v).Err(); err != nil {
				tb.Fatalf("put back %s: %v", key, err)
			}
		}
	}
}
