package redisgate_test

import (
	"context"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"seckill/commands/gatetest"
	"seckill/infra/redisgate"
	"seckill/infra/testenv"
)

func TestGateOnRedisKeepsTheContract(t *testing.T) {
	s := testenv.PrivateRedis(t, testenv.RedisOptions{})
	gatetest.Run(t, func(tb testing.TB) gatetest.Subject {
		return gatetest.Subject{
			Ports:    openGate(tb, s.URL, redisgate.Options{}),
			Failover: func(testing.TB) { s.Restart() },
		}
	})
}

func TestGateOnMiniredisKeepsTheContract(t *testing.T) {
	m := miniredis.RunT(t)
	gatetest.Run(t, func(tb testing.TB) gatetest.Subject {
		return gatetest.Subject{Ports: openGate(tb, "redis://"+m.Addr(), redisgate.Options{ProcessToken: "this process"})}
	})
}

// openGate opens a gate of store 1 that ends with the test, in a namespace of
// its own unless one is given.
func openGate(tb testing.TB, url string, opt redisgate.Options) *redisgate.Gate {
	tb.Helper()
	if opt.Namespace == "" {
		opt.Namespace = testenv.Namespace(tb)
	}
	opt.Store = 1
	g, err := redisgate.Open(context.Background(), url, opt)
	if err != nil {
		tb.Fatalf("open the gate: %v", err)
	}
	tb.Cleanup(func() {
		if err := g.Close(); err != nil {
			tb.Errorf("close the gate: %v", err)
		}
	})
	return g
}
