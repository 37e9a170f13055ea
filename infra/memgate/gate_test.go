package memgate_test

import (
	"testing"
	"time"

	"seckill/commands/gatetest"
	"seckill/infra/memgate"
)

func TestGateInMemoryKeepsTheContract(t *testing.T) {
	gatetest.Run(t, func(testing.TB) gatetest.Subject {
		g := memgate.New(1, time.Now)
		return gatetest.Subject{Ports: g, Failover: func(testing.TB) { g.SetServer("another process") }}
	})
}
