package redisgate_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"seckill/commands"
	"seckill/commands/gatetest"
	"seckill/infra/redisgate"
	"seckill/infra/testenv"
)

// BenchmarkSoldOutLook tells the distinct buyers of BenchmarkSoldOut that nothing is
// left by a look, without asking the gate to reserve.
func BenchmarkSoldOutLook(b *testing.B) {
	s := testenv.PrivateRedis(b, testenv.RedisOptions{Config: []string{"appendonly no"}})
	g := openGate(b, s.URL, redisgate.Options{})
	stage := gatetest.NewStage(b, gatetest.Subject{Ports: g})
	show := stage.Open(nil, 0)
	ask := stage.Ask(show, "buyer", 1)
	asks := make([]commands.Reservation, b.N)
	for i := range asks {
		asks[i] = ask
		asks[i].Buyer = "buyer-" + strconv.Itoa(i)
	}
	var next atomic.Int64
	var done sync.WaitGroup
	before := redisCPU(b, s.URL)
	b.ResetTimer()
	for range 512 {
		done.Go(func() {
			for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
				if sold, err := g.SoldOut(context.Background(), asks[i]); err != nil || !sold.Sold {
					b.Errorf("look: got %t, %v, want sold out", sold.Sold, err)
					return
				}
			}
		})
	}
	done.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "looks/s")
	b.ReportMetric(1e6*(redisCPU(b, s.URL)-before)/float64(b.N), "redis-cpu-µs/look")
}
