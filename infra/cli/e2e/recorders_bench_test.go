package e2e

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/pg"
	"seckill/infra/testenv"
)

var (
	recorderCounts    = flag.String("recorders.counts", "1,2", "numbers of recorder processes that are compared, the first is the yardstick")
	recorderPurchases = flag.Int("recorders.purchases", 2_000, "purchases that wait in the journals when they begin")
	recorderSales     = flag.Int("recorders.sales", 64, "sales that the purchases are spread over")
)

// BenchmarkRecorders is how fast recorder processes bring journals that are full into
// the log, with few and with several of them: one leads alone, in a test's hand, until
// everything is bought, and so keeps them all waiting.
func BenchmarkRecorders(b *testing.B) {
	for range b.N {
		var yardstick float64
		for _, text := range strings.Split(*recorderCounts, ",") {
			count, err := strconv.Atoi(text)
			if err != nil {
				b.Fatal(err)
			}
			rate := recordWith(b, count)
			if yardstick == 0 {
				yardstick = rate
			}
			b.Logf("%2d recorders: %6.0f purchases recorded a second = %.2f × of the first", count, rate, rate/yardstick)
			b.ReportMetric(rate, fmt.Sprintf("recorded/s-by-%d", count))
		}
	}
}

// recordWith gives how many purchases a second so many recorders record.
func recordWith(b *testing.B, count int) float64 {
	b.Helper()
	r := NewRig(b)
	hand, ok, err := pg.NewLeader(r.Pool, r.Namespace, "recorder").TryLock(b.Context())
	if err != nil || !ok {
		b.Fatalf("keep the recorders waiting: %t, %v", ok, err)
	}
	defer hand.Release(context.Background())
	env := r.Settings(b)
	running := []*Child{NewChild(b, ChildOptions{Env: env, Args: []string{"--roles", "scheduler"}})}
	for range count {
		running = append(running, NewChild(b, ChildOptions{Env: env, Args: []string{"--roles", "recorder"}}))
	}
	for _, c := range running {
		c.Start()
	}
	for _, c := range running {
		c.AwaitReady()
	}
	n := r.Node(b, NodeOptions{APIOnly: true})
	sales := openMany(b, n, *recorderSales)
	fill(b, n, sales, *recorderPurchases)
	before := headOf(b, n)
	began := time.Now()
	hand.Release(context.Background())
	testenv.Eventually(b, 5*time.Minute, func() error {
		// Of each purchase the log has two events.
		if left := before + 2*int64(*recorderPurchases) - headOf(b, n); left > 0 {
			return fmt.Errorf("%d events are missing", left)
		}
		return nil
	})
	rate := float64(*recorderPurchases) / time.Since(began).Seconds()
	for _, c := range running {
		c.Stop()
	}
	n.Stop()
	r.Redis.Kill()
	return rate
}

func headOf(b *testing.B, n *Node) int64 {
	b.Helper()
	head, err := n.Store.Head(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	return head.Number
}

// fill lets distinct buyers buy, all over the sales.
func fill(b *testing.B, n *Node, sales []string, total int) {
	b.Helper()
	var next, refused atomic.Int64
	var buying sync.WaitGroup
	for range 256 {
		buying.Go(func() {
			for i := next.Add(1) - 1; i < int64(total); i = next.Add(1) - 1 {
				if got, err := n.Buy(sales[i%int64(len(sales))], fmt.Sprintf("buyer-%d", i)); err != nil || got.Outcome != domain.Reserved {
					refused.Add(1)
				}
			}
		})
	}
	buying.Wait()
	if refused.Load() > 0 {
		b.Fatalf("%d of %d purchases were not accepted", refused.Load(), total)
	}
}
