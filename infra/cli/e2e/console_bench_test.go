package e2e

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"runtime"
	"sync"
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/figures"
)

var (
	consoleBuyers   = flag.Int("console.buyers", 1500, "buyers of a burst, each of whom gets a unit, and of the crowd that comes after them")
	consoleWatchers = flag.Int("console.watchers", 2, "consoles that are open in the other half of each pair")
	consoleIdle     = flag.Duration("console.idle", time.Second, "how long the processor time of consoles is taken while nothing is sold")
	consolePairs    = flag.Int("console.pairs", 1, "pairs of runs, one without and one with consoles")
)

// consoleShares are, of each pair, what was reached with consoles as a share of what
// was reached without; used is the processor time of node and stores that a buyer took.
type consoleShares struct {
	accepted, placed, refused, used []float64
	placedAlone, placedWith         []float64 // purchases placed a second
}

// BenchmarkConsole drives the same sale at full rate in pairs of runs, one with nobody
// watching and one with consoles open, in turns which comes first, on one installation. A
// console is what the page asks for: the stream of the overview and, one after another,
// what it polls.
func BenchmarkConsole(b *testing.B) {
	r := durableRig(b)
	child := ServeRig(b, r, "SECKILL_LIMIT_PURCHASES=0", "SECKILL_LIMIT_POLLS=0", "SECKILL_ADMISSION_QUEUE=100000")
	s := &strategies{b: b, rig: r, child: child, client: NewClient(child.URL), sides: map[domain.Strategy]*strategySide{}}
	var shares consoleShares
	for range b.N {
		for pair := range *consolePairs {
			var ran [2][4]float64 // without and with consoles
			for turn := range 2 {
				with := (pair + turn) % 2
				ran[with] = s.watchedRun(with == 1)
			}
			shares.accepted = append(shares.accepted, ran[1][0]/ran[0][0])
			shares.placed = append(shares.placed, ran[1][1]/ran[0][1])
			shares.refused = append(shares.refused, ran[1][2]/ran[0][2])
			shares.placedAlone, shares.placedWith = append(shares.placedAlone, ran[0][1]), append(shares.placedWith, ran[1][1])
			shares.used = append(shares.used, ran[1][3]/ran[0][3])
			b.Logf("pair %d: without %.0f, with %d consoles %.0f (accepted, placed, sold out a second; µs of processor time a buyer)", pair, ran[0], *consoleWatchers, ran[1])
		}
	}
	quiet, watched := s.takes(0, *consoleIdle), s.takes(*consoleWatchers, *consoleIdle)
	b.Logf("| with %d consoles, of without, median of %d pairs | %d buyers |\n|---|---|\n| accepted | %.1f %% |\n| until all are placed | %.1f %% |\n| sold out | %.1f %% |\n"+
		"| processor time a buyer | %.1f %% |\n| processor time while nothing is sold | %.1f %% of one core without, %.1f %% with |",
		*consoleWatchers, len(shares.accepted), *consoleBuyers, 100*median(shares.accepted), 100*median(shares.placed), 100*median(shares.refused),
		100*median(shares.used), 100*quiet, 100*watched)
	cost := func(share []float64) float64 { return 100 * (1 - median(share)) }
	most := max(cost(shares.accepted), cost(shares.placed), cost(shares.refused))
	figures.Tell(b, figures.Figure{Row: "console", Ours: median(shares.placedWith), Yardstick: median(shares.placedAlone), Value: most,
		Settings: append(r.durability(b), "limits of a buyer off: the crowd presses as fast as it can"), Details: []figures.Detail{
			{Name: "of purchases accepted", Value: cost(shares.accepted), Unit: "%"},
			{Name: "of purchases placed", Value: cost(shares.placed), Unit: "%"},
			{Name: "of refusals", Value: cost(shares.refused), Unit: "%"},
			{Name: "processor time of node and stores a buyer, more than without", Value: 100 * (median(shares.used) - 1), Unit: "%"},
			{Name: "processor time of the consoles while nothing is sold, of all cores", Value: 100 * (watched - quiet) / float64(runtime.NumCPU()), Unit: "%"},
			{Name: "consoles open", Value: float64(*consoleWatchers)},
			{Name: "pairs of runs", Value: float64(len(shares.accepted)), Unit: fmt.Sprintf("of %d buyers", *consoleBuyers)},
		}})
}

// used is the processor time that the node, Redis and PostgreSQL have used, in µs.
func (s *strategies) used() float64 {
	of := processorTimes(s.b, []int{s.child.cmd.Process.Pid, s.rig.redisPID(s.b)})
	return of[0] + of[1] + s.rig.postgresTime(s.b)
}

// watch opens consoles and gives what closes them.
func (s *strategies) watch(consoles int, sale string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	for range consoles {
		watching.Go(func() { readStream(ctx, s.b, s.child.URL) })
		watching.Go(func() { s.polls(ctx, sale) })
	}
	return func() { cancel(); watching.Wait() }
}

// takes gives how many cores node and stores take while nothing is sold.
func (s *strategies) takes(consoles int, howLong time.Duration) float64 {
	sale, _ := s.sale(domain.StrategyRedisAsync, 1)
	stop := s.watch(consoles, sale)
	defer stop()
	before, began := s.used(), time.Now()
	<-time.After(howLong)
	return (s.used() - before) / float64(time.Since(began).Microseconds())
}

// watchedRun gives purchases accepted, purchases placed and refusals a second, and the
// processor time that a buyer took.
func (s *strategies) watchedRun(watched bool) [4]float64 {
	n := *consoleBuyers
	sale, _ := s.sale(domain.StrategyRedisAsync, n)
	first, second := s.buyers(n), s.buyers(n)
	stop := func() {}
	if watched {
		stop = s.watch(*consoleWatchers, sale)
	}
	defer func() { stop() }()
	before, began := s.used(), time.Now()
	seen := s.send(sale, first, make([]time.Duration, n))
	accepted := float64(seen.OK) / time.Since(began).Seconds()
	if seen.OK != n {
		s.b.Fatalf("%d of %d bought: %v", seen.OK, n, seen.Outcomes)
	}
	s.awaitPlaced(sale, n)
	placed := float64(n) / time.Since(began).Seconds()
	began = time.Now()
	seen = s.send(sale, second, make([]time.Duration, n))
	if seen.Outcomes["sold_out"] != n {
		s.b.Fatalf("%d of %d were told that nothing is left: %v", seen.Outcomes["sold_out"], n, seen.Outcomes)
	}
	return [4]float64{accepted, placed, float64(n) / time.Since(began).Seconds(), (s.used() - before) / float64(2*n)}
}

// polls asks for what the page asks for beside the stream, as often, one at a time.
func (s *strategies) polls(ctx context.Context, sale string) {
	paths := []string{"/readyz", "/api/v1/admin/switches", "/api/v1/sales?limit=100", "/api/v1/admin/limits", "/api/v1/admin/sales/" + sale, "/api/v1/admin/dead-letters"}
	const round = 1500 * time.Millisecond
	pace := time.NewTicker(round / time.Duration(len(paths)))
	defer pace.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
		}
		if got, err := s.client.Call(http.MethodGet, paths[i%len(paths)], "operator", "admin", nil); err != nil || got.Status >= 500 {
			s.b.Errorf("%s: %d, %v", paths[i%len(paths)], got.Status, err)
			return
		}
	}
}
