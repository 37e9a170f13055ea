package redisgate_test

import (
	"testing"

	"github.com/alicebob/miniredis/v2"

	"seckill/commands/gatetest"
	"seckill/infra/redisgate"
)

func TestGateOnRedisKeepsTheContract(t *testing.T) {
	s := privateRedis(t)
	gatetest.Run(t, func(tb testing.TB) gatetest.Subject {
		return gatetest.Subject{Ports: openGate(tb, s.url(), redisgate.Options{})}
	})
}

func TestGateOnMiniredisKeepsTheContract(t *testing.T) {
	m := miniredis.RunT(t)
	gatetest.Run(t, func(tb testing.TB) gatetest.Subject {
		return gatetest.Subject{Ports: openGate(tb, "redis://"+m.Addr(), redisgate.Options{ProcessToken: "this process"})}
	})
}
