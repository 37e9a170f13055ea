package limits

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"seckill/infra/testenv"
)

func names(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("buyer-%07d", i)
	}
	return all
}

// BenchmarkLocalDecision is one attempt at one node, of a crowd that presses once
// and of one buyer who presses all the time.
func BenchmarkLocalDecision(b *testing.B) {
	for name, buyers := range map[string][]string{"a million buyers": names(1_000_000), "one buyer": names(1)} {
		b.Run(name, func(b *testing.B) {
			w := window(b, Options{Limit: 5})
			var next atomic.Int64
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				i := int(next.Add(1)) * 7919
				for pb.Next() {
					i++
					w.Take(b.Context(), buyers[i%len(buyers)])
				}
			})
		})
	}
}

// BenchmarkSharedDecision asks Redis for every attempt, from 256 goroutines.
func BenchmarkSharedDecision(b *testing.B) {
	var calls, asked atomic.Int64
	store := openStore(b, testenv.Redis(b), StoreOptions{
		Namespace: testenv.Namespace(b), Patience: patient, ProbeEvery: time.Hour,
		OnCall: func(n int) { calls.Add(1); asked.Add(int64(n)) },
	})
	node := shared(b, Options{Limit: 5}, store, 0)
	buyers := names(20_000)
	var next atomic.Int64
	b.SetParallelism(128)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			node.Take(b.Context(), buyers[int(next.Add(1))%len(buyers)])
		}
	})
	b.ReportMetric(float64(asked.Load())/b.Elapsed().Seconds(), "asked/s")
	b.ReportMetric(float64(asked.Load())/float64(max(calls.Load(), 1)), "asked/call")
}
