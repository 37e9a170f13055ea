package redisgate_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/commands"
	"seckill/commands/gatetest"
	"seckill/domain"
	"seckill/infra/redisgate"
	"seckill/infra/testenv"
)

// BenchmarkReserve sells to distinct buyers from 512 goroutines, one sale in one
// lane: the hottest shape there is.
func BenchmarkReserve(b *testing.B) { benchmarkGate(b, 1, int64(b.N), domain.Reserved) }

// BenchmarkReserveManySales sells to as many buyers in 1,000 sales, in every lane.
func BenchmarkReserveManySales(b *testing.B) { benchmarkGate(b, 1000, int64(b.N), domain.Reserved) }

// BenchmarkSoldOut turns distinct buyers away.
func BenchmarkSoldOut(b *testing.B) { benchmarkGate(b, 1, 0, domain.SoldOut) }

func benchmarkGate(b *testing.B, sales int, stock int64, want domain.Outcome) {
	var longest, calls, purchases atomic.Int64
	s := testenv.PrivateRedis(b, testenv.RedisOptions{Config: []string{"appendonly no"}})
	g := openGate(b, s.URL, redisgate.Options{MaxBatch: *gateBatch, OnCall: func(script string, batch int, took time.Duration) {
		if script == "reserve" {
			calls.Add(1)
			purchases.Add(int64(batch))
			longest.Store(max(longest.Load(), int64(took)))
		}
	}})
	stage := gatetest.NewStage(b, gatetest.Subject{Ports: g})
	shows := make([]*gatetest.Show, sales)
	for i := range shows {
		shows[i] = stage.Open(nil, min(stock, domain.MaxQuantity))
	}
	asks := make([]commands.Reservation, b.N)
	for i := range asks {
		asks[i] = stage.Ask(shows[i%sales], "buyer-"+strconv.Itoa(i), 1)
	}
	var next atomic.Int64
	var done sync.WaitGroup
	before, memory := redisCPU(b, s.URL), redisInfo(b, s.URL, "memory", "used_memory")
	b.ResetTimer()
	for range 512 {
		done.Go(func() {
			for i := next.Add(1) - 1; i < int64(b.N); i = next.Add(1) - 1 {
				v, err := g.Reserve(context.Background(), asks[i])
				if err != nil || v.Outcome != want {
					b.Errorf("reserve: got %s, %v, want %s", v.Outcome, err, want)
					return
				}
			}
		})
	}
	done.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "purchases/s")
	b.ReportMetric(float64(purchases.Load())/float64(max(1, calls.Load())), "batch")
	b.ReportMetric(float64(longest.Load())/1e6, "longest-ms")
	b.ReportMetric(1e6*(redisCPU(b, s.URL)-before)/float64(b.N), "redis-cpu-µs/purchase")
	b.ReportMetric((redisInfo(b, s.URL, "memory", "used_memory")-memory)/float64(b.N), "redis-B/purchase")
}

// redisCPU gives the seconds of processor that Redis has used: what a purchase
// costs there even when the machine is busy with other things.
func redisCPU(b *testing.B, url string) float64 {
	return redisInfo(b, url, "cpu", "used_cpu_user", "used_cpu_sys")
}

// redisInfo sums fields of a section of INFO.
func redisInfo(b *testing.B, url, section string, fields ...string) float64 {
	b.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		b.Fatal(err)
	}
	c := redis.NewClient(o)
	defer c.Close()
	info, err := c.Info(context.Background(), section).Result()
	if err != nil {
		b.Fatal(err)
	}
	var sum float64
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if slices.Contains(fields, name) {
			v, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			sum += v
		}
	}
	return sum
}
