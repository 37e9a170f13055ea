package e2e

import (
	"flag"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/infra/figures"
	"seckill/infra/load"
	"seckill/infra/testenv"
)

var (
	buyersFew    = flag.Int("buyers.few", 300, "buyers of the small sale")
	buyersMany   = flag.Int("buyers.many", 1500, "buyers of the large sale")
	buyersRounds = flag.Int("buyers.rounds", 1, "how many small sales there are; of their costs the median counts")
)

// buyersPerUnit is how many buyers come for each unit.
const buyersPerUnit = 10

// attended is what a sale with so many buyers took.
type attended struct {
	cost          spent   // µs a buyer, until the last row of the views
	winner, loser float64 // bytes of Redis
}

// BenchmarkCostOfManyBuyers lets few and many buyers come, ten for each unit, to
// installations of their own, and tells what a buyer takes of the processor, what a
// winner and a loser leave in Redis, and the most memory of the process that served all.
func BenchmarkCostOfManyBuyers(b *testing.B) {
	for range b.N {
		var few attended
		var costs []float64
		v := newVenue(b)
		for range *buyersRounds {
			few = v.sell(b, *buyersFew)
			costs = append(costs, few.cost.all())
		}
		v.child.Stop()
		v = newVenue(b)
		many := v.sell(b, *buyersMany)
		_, most := memoryOf(b, v.child.cmd.Process.Pid)
		settings := v.rig.settings(b)
		v.child.Stop()
		told := func(row string, ours, yardstick, value float64, details ...figures.Detail) {
			figures.Tell(b, figures.Figure{Row: row, Ours: ours, Yardstick: yardstick, Value: value, Settings: settings,
				Details: append(details, figures.Detail{Name: "buyers, ten for each unit", Value: float64(*buyersMany)})})
		}
		told("memory", float64(most), 0, float64(most))
		told("winner", many.winner, 0, many.winner, figures.Detail{Name: fmt.Sprintf("with %d buyers", *buyersFew), Value: few.winner, Unit: "B"})
		told("loser", many.loser, 0, many.loser)
		told("cost-buyers", many.cost.all(), median(costs), many.cost.all()/median(costs),
			figures.Detail{Name: fmt.Sprintf("buyers of the yardstick, median of %d sales", *buyersRounds), Value: float64(*buyersFew)},
			figures.Detail{Name: "of our process, many buyers", Value: many.cost.node, Unit: "µs"},
			figures.Detail{Name: "of Redis, many buyers", Value: many.cost.redis, Unit: "µs"},
			figures.Detail{Name: "of PostgreSQL, many buyers", Value: many.cost.postgres, Unit: "µs"})
	}
}

// venue is an installation at which crowds come.
type venue struct {
	rig    *Rig
	child  *Child
	client *Client
	came   int
}

// newVenue makes one and lets a first crowd warm it up.
func newVenue(b *testing.B) *venue {
	b.Helper()
	v := &venue{rig: durableRig(b)}
	v.child = ServeRig(b, v.rig, gatesOn[:]...)
	v.client = NewClient(v.child.URL)
	sale := v.open(b, 100)
	v.crowd(b, sale, 100, load.Accepted)
	v.crowd(b, sale, max(*buyersFew/5, 200), "sold_out")
	return v
}

// open makes a sale, and buys one unit more than it has for buyers.
func (v *venue) open(b *testing.B, stock int) string {
	b.Helper()
	sale := v.client.CreateSale(b, stock+1)
	testenv.Eventually(b, time.Minute, func() error { return statusOf(v.client.Buy(sale, "the-first", "k")) })
	v.rig.awaitProjected(b, sale, 1)
	return sale
}

// sell lets so many buyers come: first those who get a unit, then all others.
func (v *venue) sell(b *testing.B, buyers int) (a attended) {
	b.Helper()
	winners := buyers / buyersPerUnit
	sale := v.open(b, winners)
	fresh, before := v.settled(b), v.rig.spentBy(b, v.child)
	v.crowd(b, sale, winners, load.Accepted)
	v.rig.awaitProjected(b, sale, winners+1)
	middle := v.rig.spentBy(b, v.child)
	sold := v.settled(b)
	resumed := v.rig.spentBy(b, v.child)
	v.crowd(b, sale, buyers-winners, "sold_out")
	after := v.rig.spentBy(b, v.child)
	after.node, after.redis, after.postgres = after.node-resumed.node+middle.node, after.redis-resumed.redis+middle.redis, after.postgres-resumed.postgres+middle.postgres
	a.cost = after.each(before, buyers)
	a.winner = float64(sold-fresh) / float64(winners)
	// Buffers of Redis itself move by some KB. Whoever left anything would leave some bytes.
	a.loser = max(0, math.Round(float64(v.settled(b)-sold)/float64(buyers-winners)))
	return a
}

// settled gives the bytes that Redis uses once marks of limits, which go by themselves
// after a moment, are gone.
func (v *venue) settled(b *testing.B) int64 {
	b.Helper()
	const marks = 1500 * time.Millisecond // live for one second
	c := redisOf(b, v.rig.Redis.URL)
	last, since := heldBy(b, c), time.Now()
	for tick := time.NewTicker(100 * time.Millisecond); time.Since(since) < marks; <-tick.C {
		now := heldBy(b, c)
		if now.keys < last.keys {
			since = time.Now()
		}
		last = now
	}
	return last.bytes
}

// crowd lets so many new buyers press until they have their answer, which must be the
// wanted one.
func (v *venue) crowd(b *testing.B, sale string, n int, want string) {
	b.Helper()
	first, m := v.came, &mix{}
	v.came += n
	run, err := load.Start(b.Context(), load.Attack{
		Addr: strings.TrimPrefix(v.child.URL, "http://"), Arrivals: make([]time.Duration, n), Conns: 128, Timeout: time.Minute,
		Build: func(dst []byte, i int) []byte {
			return m.request(dst, sale, signed(b, fmt.Sprintf("buyer-%d", first+i)))
		},
		Judge: func(_ int, a load.Answer) load.Next {
			switch {
			case a.Err != nil:
				return load.Next{Outcome: a.Err.Error(), Failed: true}
			case a.Status == http.StatusServiceUnavailable:
				return load.Next{Again: 50 * time.Millisecond}
			case a.Status/100 == 2:
				return load.Next{Outcome: load.Accepted}
			case a.Status == http.StatusConflict:
				return load.Next{Outcome: "sold_out"}
			}
			return load.Next{Outcome: fmt.Sprintf("%d %.200s", a.Status, a.Body), Failed: true}
		},
	}, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	if seen := run.Wait(); seen.Outcomes[want] != n {
		b.Fatalf("%d of %d were told %s: %v", seen.Outcomes[want], n, want, seen.Outcomes)
	}
}
