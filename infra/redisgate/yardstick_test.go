package redisgate_test

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os/exec"
	"runtime"
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
	"seckill/infra/figures"
	"seckill/infra/redisgate"
	"seckill/infra/testenv"
)

var (
	gateRounds    = flag.Int("gate.rounds", 1, "how often each side is driven")
	gateBatch     = flag.Int("gate.batch", 0, "bound of a batch; 0 is the default")
	gateFile      = flag.String("gate.appendonly", "yes", "whether the server of both sides writes an append-only file, as in use")
	gateBuyers    = flag.Int("gate.buyers", 1024, "how many buyers ask at once")
	gatePurchases = flag.Int("gate.purchases", 20_000, "purchases of a side in a round")
)

// plainScript is the yardstick: the classic four outcomes and nothing else. One stock,
// one count a buyer; no journal, no terms, no window, no key, no record of an order.
const plainScript = `
local left = tonumber(redis.call('get', KEYS[1]))
if not left then return -1 end
local wanted, limit = tonumber(ARGV[2]), tonumber(ARGV[3])
local has = tonumber(redis.call('hget', KEYS[2], ARGV[1]) or '0')
if has + wanted > limit then return -2 end
if left < wanted then return 0 end
redis.call('decrby', KEYS[1], wanted)
redis.call('hincrby', KEYS[2], ARGV[1], wanted)
return 1`

// BenchmarkGateBesideAPlainScript is how many purchases a second the gate answers
// beside how often redis-benchmark can call a plain script of four outcomes, 50
// connections and no pipelining: on one server, in turns, for reservations and for
// what is sold out.
func BenchmarkGateBesideAPlainScript(b *testing.B) {
	tool := testenv.Program(b, "redis-tools", "redis-benchmark")
	s := testenv.PrivateRedis(b, testenv.RedisOptions{Config: []string{"appendonly " + *gateFile}})
	var sells, plainSells, soldOut, looks, plainSoldOut []float64
	for range b.N {
		for range *gateRounds { // a stage is there for half a minute
			stage := gatetest.NewStage(b, gatetest.Subject{Ports: openGate(b, s.URL, redisgate.Options{MaxBatch: *gateBatch})})
			plainSells = append(plainSells, plainRate(b, tool, s.URL, domain.MaxQuantity))
			sells = append(sells, gateRate(b, stage, *gatePurchases, domain.Reserved))
			plainSoldOut = append(plainSoldOut, plainRate(b, tool, s.URL, 0))
			soldOut = append(soldOut, gateRate(b, stage, 0, domain.SoldOut))
			looks = append(looks, lookRate(b, stage))
		}
	}
	middle := func(rates []float64) float64 { slices.Sort(rates); return rates[len(rates)/2] }
	for _, row := range []struct {
		name         string
		ours, theirs []float64
	}{{"gate-reserve", sells, plainSells}, {"gate-soldout", soldOut, plainSoldOut}, {"gate-look", looks, plainSoldOut}} {
		ours, theirs := middle(row.ours), middle(row.theirs)
		b.Logf("%-12s %8.0f/s   plain EVALSHA %7.0f/s   %5.2f ×", row.name, ours, theirs, ours/theirs)
		figures.Tell(b, figures.Figure{Row: row.name, Ours: ours, Yardstick: theirs, Value: ours / theirs,
			Settings: []string{"appendonly=" + *gateFile, "appendfsync=everysec", "one Redis for both sides, in turns"},
			Details:  []figures.Detail{{Name: "rounds", Value: float64(*gateRounds), Unit: fmt.Sprintf("of %d purchases a side, ours from %d buyers at once", *gatePurchases, *gateBuyers)}}})
	}
}

// plainRate calls the plain script by redis-benchmark for buyers at random.
func plainRate(b *testing.B, tool, address string, stock int64) float64 {
	b.Helper()
	o, err := redis.ParseURL(address)
	if err != nil {
		b.Fatal(err)
	}
	c := redis.NewClient(o)
	defer c.Close()
	ctx := b.Context()
	if err := c.Set(ctx, "{plain}stock", stock, 0).Err(); err != nil {
		b.Fatal(err)
	}
	if err := c.Del(ctx, "{plain}buyers").Err(); err != nil {
		b.Fatal(err)
	}
	sha, err := c.ScriptLoad(ctx, plainScript).Result()
	if err != nil {
		b.Fatal(err)
	}
	at, err := url.Parse(address)
	if err != nil {
		b.Fatal(err)
	}
	out, err := exec.CommandContext(ctx, tool, "-h", at.Hostname(), "-p", at.Port(), "-c", "50", "-P", "1", "-r", "1000000000", "--csv",
		"-n", strconv.Itoa(*gatePurchases), "evalsha", sha, "2", "{plain}stock", "{plain}buyers", "buyer-__rand_int__", "1", "1").Output()
	if err != nil {
		b.Fatalf("run redis-benchmark: %v", err)
	}
	left, err := c.Get(ctx, "{plain}stock").Int64()
	if err != nil || (left == stock) != (stock == 0) {
		b.Fatalf("after redis-benchmark: got %d units of %d, %v: its script did not run", left, stock, err)
	}
	return csvRate(b, string(out))
}

// csvRate reads the requests a second out of redis-benchmark's last line.
func csvRate(b *testing.B, out string) float64 {
	b.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	// The test's own name stands first and has commas of its own.
	_, rest, ok := strings.Cut(lines[len(lines)-1][1:], `","`)
	rate, _, _ := strings.Cut(rest, `"`)
	n, err := strconv.ParseFloat(rate, 64)
	if !ok || err != nil {
		b.Fatalf("read redis-benchmark's answer %q: %v", out, err)
	}
	return n
}

// gateRate sells to distinct buyers, or turns them away, through one gate.
func gateRate(b *testing.B, stage *gatetest.Stage, stock int, want domain.Outcome) float64 {
	asks := newAsks(stage, int64(stock))
	return rateOf(b, len(asks), func(i int) bool {
		v, err := stage.Ports.Reserve(context.Background(), asks[i])
		return err == nil && v.Outcome == want
	})
}

// lookRate tells distinct buyers by a look that nothing is left.
func lookRate(b *testing.B, stage *gatetest.Stage) float64 {
	asks := newAsks(stage, 0)
	return rateOf(b, len(asks), func(i int) bool {
		sold, err := stage.Ports.SoldOut(context.Background(), asks[i])
		return err == nil && sold.Sold
	})
}

func newAsks(stage *gatetest.Stage, stock int64) []commands.Reservation {
	show := stage.Open(nil, stock)
	asks := make([]commands.Reservation, *gatePurchases)
	for i := range asks {
		asks[i] = stage.Ask(show, "buyer-"+strconv.Itoa(i), 1)
	}
	return asks
}

// rateOf does n things from as many goroutines as there are buyers at once, and gives how
// many a second. What was made for it before is cleared away first.
func rateOf(b *testing.B, n int, do func(i int) bool) float64 {
	b.Helper()
	var next, wrong atomic.Int64
	var done sync.WaitGroup
	runtime.GC()
	began := time.Now()
	for range *gateBuyers {
		done.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if !do(int(i)) {
					wrong.Add(1)
				}
			}
		})
	}
	done.Wait()
	took := time.Since(began)
	if wrong.Load() > 0 {
		b.Fatalf("got %d answers of %d that are not the expected one", wrong.Load(), n)
	}
	return float64(n) / took.Seconds()
}
