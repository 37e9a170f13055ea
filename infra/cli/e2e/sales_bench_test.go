package e2e

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/domain"
	"seckill/infra/figures"
	"seckill/infra/testenv"
)

var (
	liveSales     = flag.String("sales.live", "1,100", "numbers of live sales that are compared, the first is the yardstick")
	salePurchases = flag.Int("sales.purchases", 5_000, "purchases of a round, spread evenly over the sales")
	saleBuyers    = flag.Int("sales.buyers", 512, "buyers who come at once")
	saleRounds    = flag.Int("sales.rounds", 1, "rounds for each number of sales")
	saleProfile   = flag.String("sales.profile", "", "a file for the processor profile of the last number of sales")
)

// shopped is how a number of live sales went: a round each, but made once.
type shopped struct {
	sales              int
	settings           []string
	made               time.Duration
	accepted, recorded []float64 // purchases a second
	// What a purchase takes of the processor, in µs: of the background process, of Redis,
	// of the node that buys (with what it is driven by), and of PostgreSQL, whoever asks.
	behind, redis, node, postgres []float64
	batch                         []float64 // purchases of a call of the gate's script
	gateBytes, logBytes           float64   // a purchase, in Redis and in PostgreSQL
	idle                          float64   // processor time of the background process at rest, in percent of a core
}

// BenchmarkLiveSales is the throughput with few and with many live sales, purchases
// spread over all of them: bought through one node, recorded, relayed, projected and
// looked after by a process of its own, on one PostgreSQL and one Redis.
func BenchmarkLiveSales(b *testing.B) {
	for range b.N {
		var yardstick float64
		var first, largest shopped
		for _, text := range strings.Split(*liveSales, ",") {
			count, err := strconv.Atoi(text)
			if err != nil {
				b.Fatal(err)
			}
			s := shopFor(b, count)
			rate := median(s.recorded)
			if yardstick == 0 {
				yardstick, first = rate, s
			}
			if s.sales >= largest.sales {
				largest = s
			}
			b.Logf("%6d live sales: made in %6.1f s (%5.0f/s), %6.0f accepted/s, %6.0f recorded/s = %.2f × of the first; a purchase takes %3.0f µs of the background, %3.0f of Redis (%.1f in a call), %3.0f of PostgreSQL, %3.0f of the node; %.0f bytes of Redis, %.0f of PostgreSQL; at rest the background takes %3.0f %% of a core",
				count, s.made.Seconds(), float64(count)/s.made.Seconds(), median(s.accepted), rate, rate/yardstick, median(s.behind), median(s.redis), median(s.batch), median(s.postgres), median(s.node), s.gateBytes, s.logBytes, s.idle)
			b.ReportMetric(rate, fmt.Sprintf("recorded/s-of-%d", count))
			b.ReportMetric(rate/yardstick, fmt.Sprintf("×of-%d", count))
		}
		figures.Tell(b, figures.Figure{Row: "cost-sales", Ours: largest.cost(), Yardstick: first.cost(), Value: largest.cost() / first.cost(),
			Settings: first.settings, Details: []figures.Detail{
				{Name: "live sales", Value: float64(largest.sales), Unit: fmt.Sprintf("beside %d", first.sales)},
				{Name: "recorded a second", Value: median(largest.recorded), Unit: fmt.Sprintf("beside %.0f", median(first.recorded))},
				{Name: "purchases of a call of the gate", Value: median(largest.batch), Unit: fmt.Sprintf("beside %.0f", median(first.batch))},
				{Name: "of the process that records and projects", Value: median(largest.behind), Unit: fmt.Sprintf("µs beside %.0f", median(first.behind))},
				{Name: "of Redis", Value: median(largest.redis), Unit: fmt.Sprintf("µs beside %.0f", median(first.redis))},
				{Name: "of PostgreSQL", Value: median(largest.postgres), Unit: fmt.Sprintf("µs beside %.0f", median(first.postgres))},
				{Name: "of the node that buys", Value: median(largest.node), Unit: fmt.Sprintf("µs beside %.0f", median(first.node))},
			}})
	}
}

// cost is what a purchase takes of the processor, in µs, of everything together.
func (s shopped) cost() float64 {
	return median(s.behind) + median(s.redis) + median(s.postgres) + median(s.node)
}

func shopFor(b *testing.B, count int) (s shopped) {
	r := durableRig(b)
	s.sales, s.settings = count, r.durability(b)
	child := Serve(b, ChildOptions{Env: r.Settings(b), Args: []string{"--roles", "recorder,relay,projector,scheduler"}})
	n := r.Node(b, NodeOptions{APIOnly: true})
	began := time.Now()
	sales := openMany(b, n, count)
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
	s.drive(b, r, n, child, sales)
	child.Stop()
	n.Stop()
	r.Redis.Kill()
	return s
}

// drive lets buyers come in rounds, and notes what a purchase takes.
func (s *shopped) drive(b *testing.B, r *Rig, n *Node, child *Child, sales []string) {
	b.Helper()
	total := float64(*salePurchases)
	gate, log := r.gateBytes(b), r.logBytes(b)
	pids := []int{child.cmd.Process.Pid, r.redisPID(b), os.Getpid()}
	for round := range *saleRounds {
		before, postgres, calls := processorTimes(b, pids), r.postgresTime(b), n.calls.Load()
		accepted, recorded := buyEverywhere(b, n, sales, round)
		s.accepted, s.recorded = append(s.accepted, accepted), append(s.recorded, recorded)
		s.postgres = append(s.postgres, (r.postgresTime(b)-postgres)/total)
		s.batch = append(s.batch, total/float64(max(n.calls.Load()-calls, 1)))
		used := processorTimes(b, pids)
		for i, of := range []*[]float64{&s.behind, &s.redis, &s.node} {
			*of = append(*of, (used[i]-before[i])/total)
		}
	}
	s.gateBytes = (r.gateBytes(b) - gate) / total / float64(*saleRounds)
	s.logBytes = (r.logBytes(b) - log) / total / float64(*saleRounds)
}

// openMany makes sales that sell, several at a time.
func openMany(b *testing.B, n *Node, count int) []string {
	b.Helper()
	sales := scheduleMany(b, n, count, func(int) domain.SaleTerms { return Terms(domain.MaxQuantity) })
	for _, i := range []int{0, count / 2, count - 1} {
		n.AwaitOpen(b, sales[i])
	}
	return sales
}

// buyEverywhere lets distinct buyers come, so many at once, one sale after the
// other, and waits until the log has all of them.
func buyEverywhere(b *testing.B, n *Node, sales []string, round int) (accepted, recorded float64) {
	b.Helper()
	total := *salePurchases
	var next, refused atomic.Int64
	var buying sync.WaitGroup
	began := time.Now()
	for range *saleBuyers {
		buying.Go(func() {
			for i := next.Add(1) - 1; i < int64(total); i = next.Add(1) - 1 {
				if err := n.buyPatiently(sales[i%int64(len(sales))], fmt.Sprintf("r%d-%d", round, i)); err != nil && refused.Add(1) == 1 {
					b.Errorf("buy: %v", err)
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

// buyPatiently buys one unit. Whoever is told that the gate is busy, which it is where
// the machine stalls, tries again: that never buys twice.
func (n *Node) buyPatiently(sale, buyer string) error {
	for tries := 0; ; tries++ {
		got, err := n.Buy(sale, buyer)
		switch {
		case err == nil && (got.Outcome == domain.Reserved || got.Repeat):
			return nil
		case err == nil:
			return fmt.Errorf("got %s", got.Outcome)
		case tries == 20:
			return err
		}
	}
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

// processorTimes gives what processes have used, in µs.
func processorTimes(b *testing.B, pids []int) []float64 {
	b.Helper()
	used := make([]float64, len(pids))
	for i, pid := range pids {
		used[i] = float64(processorTime(b, pid).Microseconds())
	}
	return used
}

// info reads one number of what the rig's Redis says of itself.
func (r *Rig) info(b *testing.B, section, field string) int {
	b.Helper()
	opts, err := redis.ParseURL(r.Redis.URL)
	if err != nil {
		b.Fatal(err)
	}
	client := redis.NewClient(opts)
	defer func() { _ = client.Close() }() // a test's own connection
	text, err := client.Info(context.Background(), section).Result()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if number, ok := strings.CutPrefix(strings.TrimSpace(line), field+":"); ok {
			n, err := strconv.Atoi(number)
			if err != nil {
				b.Fatal(err)
			}
			return n
		}
	}
	b.Fatalf("Redis says nothing of %s", field)
	return 0
}

func (r *Rig) redisPID(b *testing.B) int      { return r.info(b, "server", "process_id") }
func (r *Rig) gateBytes(b *testing.B) float64 { return float64(r.info(b, "memory", "used_memory")) }

// logBytes is what the tables of the rig take, with their indexes.
func (r *Rig) logBytes(b *testing.B) float64 {
	b.Helper()
	var size int64
	err := r.Pool.QueryRow(context.Background(), `
select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint from pg_class c
where c.relnamespace = $1::regnamespace and c.relkind = 'r'`, r.Namespace).Scan(&size)
	if err != nil {
		b.Fatal(err)
	}
	return float64(size)
}

// postgresTime is what the rig's PostgreSQL has used, in µs, whoever asked: the server,
// its sessions that live, and those that have ended.
func (r *Rig) postgresTime(b *testing.B) float64 {
	b.Helper()
	var session int
	if err := r.Pool.QueryRow(context.Background(), "select pg_backend_pid()").Scan(&session); err != nil {
		b.Fatal(err)
	}
	server := parentOf(session)
	if server <= 1 {
		return 0 // on another machine
	}
	used := processTime(server, true)
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		b.Fatal(err)
	}
	for _, dir := range all {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && parentOf(pid) == server {
			used += processTime(pid, false)
		}
	}
	return float64(used.Microseconds())
}

// statOf gives the fields of a process behind its name; none where it has ended.
func statOf(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
}

func parentOf(pid int) int {
	if stat := statOf(pid); len(stat) > 1 {
		parent, _ := strconv.Atoi(stat[1]) // the kernel writes numbers
		return parent
	}
	return 0
}

// processTime is what a process has used, with or without its children that ended.
func processTime(pid int, children bool) time.Duration {
	stat, sum := statOf(pid), int64(0)
	if len(stat) < 15 {
		return 0
	}
	for i, field := range stat[11:15] {
		if ticks, err := strconv.ParseInt(field, 10, 64); err == nil && (i < 2 || children) {
			sum += ticks
		}
	}
	return time.Duration(sum) * 10 * time.Millisecond
}
