package redisgate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/testenv"
)

// BenchmarkTheWritesOfAPurchaseAlone is what Redis takes for what an accepted purchase
// leaves there, without judging it and without a script: its three fields and its part of
// an entry, of 128 purchases at once. No gate of this layout is faster.
func BenchmarkTheWritesOfAPurchaseAlone(b *testing.B) {
	const together = 128
	s := testenv.PrivateRedis(b, testenv.RedisOptions{Config: []string{"appendonly no"}})
	o, err := redis.ParseURL(s.URL)
	if err != nil {
		b.Fatal(err)
	}
	c := redis.NewClient(o)
	defer c.Close()
	calls := make([][3][]any, max(1, b.N/together))
	for i := range calls {
		var blobs []string
		for j := range together {
			n := i*together + j
			r := commands.Reservation{
				Order: fmt.Sprintf("%045x", uint64(n)*0x9E3779B97F4A7C15), Buyer: fmt.Sprintf("buyer-%d", n), TraceID: "trace",
				Place: domain.Place{Sale: "00000001"}, Lines: []domain.Line{{SKU: "A", Quantity: 1}},
			}
			blobs = append(blobs, string(commands.AppendPurchase(nil, &r)))
			calls[i][0] = append(calls[i][0], "o:"+r.Order, fmt.Sprintf("A|2-%d.%d|A|%s", i+1, j+1, r.Buyer), "b:"+r.Buyer, r.Order)
			calls[i][1] = append(calls[i][1], "h:"+r.Order, "T|1|"+r.Buyer)
		}
		calls[i][2] = []any{"b", "[" + strings.Join(blobs, ",") + "]"}
	}
	ctx, before := context.Background(), redisCPU(b, s.URL)
	b.ResetTimer()
	for i, call := range calls {
		pipe := c.Pipeline()
		pipe.XAdd(ctx, &redis.XAddArgs{Stream: "{lane}journal", ID: fmt.Sprintf("2-%d", i+1), Values: call[2]})
		pipe.HSet(ctx, "{lane}sale", call[0]...)
		pipe.HSet(ctx, "{lane}stock", call[1]...)
		if _, err := pipe.Exec(ctx); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	b.ReportMetric(1e6*(redisCPU(b, s.URL)-before)/float64(len(calls)*together), "redis-cpu-µs/purchase")
}
