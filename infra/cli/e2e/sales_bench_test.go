package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/testenv"
)

var (
	liveSales     = flag.String("sales.live", "1,100", "numbers of live sales that are compared, the first is the yardstick")
	salePurchases = flag.Int("sales.purchases", 5_000, "purchases of a round, spread evenly over the sales")
	saleRounds    = flag.Int("sales.rounds", 1, "rounds for each number of sales")
	saleProfile   = flag.String("sales.profile", "", "a file for the processor profile of the last number of sales")
)

// shopped is how a number of live sales went: a round each, but made once.
type shopped struct {
	made               time.Duration
	accepted, recorded []float64 // purchases a second
	idle               float64   // processor time of the background process at rest, in percent of a core
}

// BenchmarkLiveSales is the throughput with few and with many live sales, purchases
// spread over all of them: bought through one node, recorded, relayed, projected and
// looked after by a process of its own, on one PostgreSQL and one Redis.
func BenchmarkLiveSales(b *testing.B) {
	for range b.N {
		var yardstick float64
		for _, text := range strings.Split(*liveSales, ",") {
			count, err := strconv.Atoi(text)
			if err != nil {
				b.Fatal(err)
			}
			s := shopFor(b, count)
			rate := median(s.recorded)
			if yardstick == 0 {
				yardstick = rate
			}
			b.Logf("%6d live sales: made in %6.1f s (%5.0f/s), %6.0f accepted/s, %6.0f recorded/s = %.2f × of the first; at rest the background takes %3.0f %% of a core",
				count, s.made.Seconds(), float64(count)/s.made.Seconds(), median(s.accepted), rate, rate/yardstick, s.idle)
			b.ReportMetric(rate, fmt.Sprintf("recorded/s-of-%d", count))
			b.ReportMetric(rate/yardstick, fmt.Sprintf("×of-%d", count))
		}
	}
}

func shopFor(b *testing.B, count int) (s shopped) {
	r := NewRig(b)
	child := Serve(b, ChildOptions{Env: r.Settings(b), Args: []string{"--roles", "recorder,relay,projector,scheduler"}})
	n := r.Node(b, NodeOptions{APIOnly: true})
	began := time.Now()
	sales := scheduleMany(b, n, count)
	s.made = time.Since(began)
	if *saleProfile != "" {
		f, err := os.Create(*saleProfile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			b.Fatal(err)
		}
		defer pprof.StopCPUProfile()
	}
	s.idle = min(child.busy(b, 2*time.Second), child.busy(b, 2*time.Second)) // the views may not have all of it at once
	for round := range *saleRounds {
		accepted, recorded := buyEverywhere(b, n, sales, round)
		s.accepted, s.recorded = append(s.accepted, accepted), append(s.recorded, recorded)
	}
	child.Stop()
	n.Stop()
	r.Redis.Kill()
	return s
}

// scheduleMany makes sales that sell, several at a time.
func scheduleMany(b *testing.B, n *Node, count int) []string {
	b.Helper()
	sales := make([]string, count)
	var next atomic.Int64
	var making sync.WaitGroup
	for range 16 {
		making.Go(func() {
			for i := next.Add(1) - 1; i < int64(count); i = next.Add(1) - 1 {
				sale, err := n.Operator.Schedule(context.Background(), Terms(domain.MaxQuantity), commands.Actor{By: "bench"})
				if err != nil {
					b.Errorf("schedule sale %d: %v", i, err)
					return
				}
				sales[i] = sale.ID
			}
		})
	}
	making.Wait()
	if b.Failed() {
		b.FailNow()
	}
	for _, i := range []int{0, count / 2, count - 1} {
		n.AwaitOpen(b, sales[i])
	}
	return sales
}

// buyEverywhere lets distinct buyers come from 512 goroutines, one sale after the
// other, and waits until the log has all of them.
func buyEverywhere(b *testing.B, n *Node, sales []string, round int) (accepted, recorded float64) {
	b.Helper()
	total := *salePurchases
	var next, refused atomic.Int64
	var buying sync.WaitGroup
	began := time.Now()
	for range 512 {
		buying.Go(func() {
			for i := next.Add(1) - 1; i < int64(total); i = next.Add(1) - 1 {
				got, err := n.Buy(sales[i%int64(len(sales))], fmt.Sprintf("r%d-%d", round, i))
				if err != nil || got.Outcome != domain.Reserved {
					if refused.Add(1) == 1 {
						b.Errorf("buy: got %s, %v", got.Outcome, err)
					}
				}
			}
		})
	}
	buying.Wait()
	accepted = float64(total) / time.Since(began).Seconds()
	testenv.Eventually(b, 2*time.Minute, func() error {
		if left := n.Kept.Size(); left > 0 {
			return fmt.Errorf("%d accepted purchases are not in the log", left)
		}
		return nil
	})
	recorded = float64(total) / time.Since(began).Seconds()
	if refused.Load() > 0 {
		b.Fatalf("%d of %d purchases were not accepted", refused.Load(), total)
	}
	return accepted, recorded
}

// busy gives the processor time that the child takes while nothing is asked of it, in
// percent of a core.
func (c *Child) busy(b *testing.B, howLong time.Duration) float64 {
	b.Helper()
	before := processorTime(b, c.cmd.Process.Pid)
	began := time.Now()
	<-time.After(howLong)
	return 100 * (processorTime(b, c.cmd.Process.Pid) - before).Seconds() / time.Since(began).Seconds()
}
