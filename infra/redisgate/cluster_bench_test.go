package redisgate_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"seckill/commands"
	"seckill/commands/gatetest"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/redisgate"
	"seckill/infra/testenv"
)

// ownCPU gives the seconds of processor that this process has used.
func ownCPU(b *testing.B) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// BenchmarkIdleJournals waits for entries of 64 lanes that do not come: one operation
// is a second of it.
func BenchmarkIdleJournals(b *testing.B) {
	server := testenv.PrivateRedis(b, testenv.RedisOptions{})
	cluster := testenv.PrivateRedisCluster(b, 0)
	for _, kind := range []struct {
		name, url string
		servers   []*testenv.RedisServer
	}{{"one server", server.URL, []*testenv.RedisServer{server}}, {"cluster", cluster.URL, cluster.Servers}} {
		b.Run(kind.name, func(b *testing.B) {
			g := openGate(b, kind.url, redisgate.Options{})
			after := make([]eventstore.Cursor, domain.Lanes)
			for lane := range after {
				after[lane] = eventstore.Cursor{Lane: lane, Epoch: 1}
			}
			used := func() (redis float64) {
				for _, s := range kind.servers {
					redis += redisCPU(b, s.URL)
				}
				return redis
			}
			redisBefore, ownBefore := used(), ownCPU(b)
			for b.Loop() {
				if got, err := g.Read(context.Background(), after, 1000, time.Second); err != nil || len(got) > 0 {
					b.Fatalf("read: got %d entries, %v", len(got), err)
				}
			}
			b.ReportMetric(1e3*(ownCPU(b)-ownBefore)/b.Elapsed().Seconds(), "own-cpu-ms/s")
			b.ReportMetric(1e3*(used()-redisBefore)/b.Elapsed().Seconds(), "redis-cpu-ms/s")
		})
	}
}

// BenchmarkReserveOnACluster sells eight sales of different lanes at once.
func BenchmarkReserveOnACluster(b *testing.B) {
	c := testenv.PrivateRedisCluster(b, 0, "appendonly no")
	g := openGate(b, c.URL, redisgate.Options{})
	stage := gatetest.NewStage(b, gatetest.Subject{Ports: g})
	shows := make([]*gatetest.Show, 8)
	for i := range shows {
		shows[i] = stage.Open(nil, min(int64(b.N), domain.MaxQuantity))
	}
	asks := make([]commands.Reservation, b.N)
	for i := range asks {
		asks[i] = stage.Ask(shows[i%len(shows)], "buyer-"+strconv.Itoa(i), 1)
	}
	var next atomic.Int64
	var done sync.WaitGroup
	b.ResetTimer()
	for range 512 {
		done.Go(func() {
			for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
				if v, err := g.Reserve(context.Background(), asks[i]); err != nil || v.Outcome != domain.Reserved {
					b.Errorf("reserve: got %s, %v", v.Outcome, err)
					return
				}
			}
		})
	}
	done.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "purchases/s")
}
