package redisgate_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"seckill/commands"
	"seckill/commands/gatetest"
	"seckill/domain"
	"seckill/infra/redisgate"
	"seckill/infra/testenv"
)

// BenchmarkAcknowledgement is what each acknowledgement costs an accepted purchase, 64
// buyers at a time on one lane, a server of its own for each. ns/op is per purchase;
// weak is the share that no replica confirmed in time.
func BenchmarkAcknowledgement(b *testing.B) {
	for _, c := range []struct {
		asked   domain.Acknowledgement
		config  []string
		replica bool
	}{
		{domain.AcknowledgeMemory, []string{"appendonly no"}, false},
		{domain.AcknowledgeAOF, []string{"appendfsync everysec"}, false},
		{domain.AcknowledgeFsync, []string{"appendfsync always"}, false},
		{domain.AcknowledgeReplicated, []string{"appendonly no"}, true},
	} {
		b.Run(string(c.asked), func(b *testing.B) {
			server := testenv.PrivateRedis(b, testenv.RedisOptions{Config: c.config})
			if c.replica {
				replicaOf(b, server)
			}
			gate := openGate(b, server.URL, redisgate.Options{})
			stage := gatetest.NewStage(b, gatetest.Subject{Ports: gate})
			show := stage.Open(nil, domain.MaxQuantity)
			asks := make([]commands.Reservation, b.N)
			for i := range asks {
				asks[i] = stage.Ask(show, fmt.Sprintf("u%d", i), 1)
				asks[i].Strength = c.asked
			}
			var next, weak atomic.Int64
			b.SetParallelism(32) // times GOMAXPROCS: 64 on two cores
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					v, err := gate.Reserve(context.Background(), asks[next.Add(1)-1])
					if err != nil || v.Outcome != domain.Reserved {
						b.Errorf("buy: %v, %v", v.Outcome, err)
						return
					}
					if v.Weak {
						weak.Add(1)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "purchases/s")
			b.ReportMetric(float64(weak.Load())/float64(b.N), "weak")
		})
	}
}
