package simulation_test

import (
	"flag"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"seckill/infra/simulation"
)

var (
	simSeed  = flag.Uint64("sim.seed", 1, "first seed that is played")
	simSeeds = flag.Int("sim.seeds", 0, "how many seeds are played, one after the other; 0 is a few, for CI; with 1 its trace is printed")
	simFull  = flag.Bool("sim.full", false, "trace questions without an effect too")
	simBreak = flag.String("sim.variant", "", "the way in which the system is broken, see Variants")
)

// few is how many seeds CI plays.
const few = 300

// play plays one seed in a bubble of its own.
func play(t *testing.T, c simulation.Config) (r simulation.Result) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { r = simulation.Run(c) })
	return r
}

// report fails the test with everything that led to a violation, and how to see it again.
func report(t *testing.T, r simulation.Result) {
	t.Helper()
	t.Errorf("seed %d: %s\n%s\n\nseed %d: %s\nmake simulate ARGS=\"-sim.seed %d -sim.seeds 1\" plays it again.",
		r.Seed, r.Violation, strings.Join(r.Trace, "\n"), r.Seed, r.Violation, r.Seed)
}

// crowdOfSeeds plays many seeds on all processors, and gives what they had in them.
func crowdOfSeeds(t *testing.T, first uint64, n int, see func(simulation.Result)) {
	var next atomic.Uint64
	var mu sync.Mutex
	t.Run("seeds", func(t *testing.T) {
		for worker := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(worker), func(t *testing.T) {
				t.Parallel()
				for !t.Failed() {
					at := next.Add(1) - 1
					if at >= uint64(n) {
						return
					}
					r := play(t, simulation.Config{Seed: first + at, Variant: simulation.Variant(*simBreak), Full: *simFull})
					if r.Violation != "" {
						report(t, r)
						return
					}
					mu.Lock()
					see(r)
					mu.Unlock()
				}
			})
		}
	})
}

func TestEverySeedKeepsEveryPromise(t *testing.T) {
	n := *simSeeds
	switch {
	case n == 0 && testing.Short():
		n = few / 8
	case n == 0:
		n = few
	}
	var all simulation.Stats
	played, began := 0, time.Now()
	crowdOfSeeds(t, *simSeed, n, func(r simulation.Result) {
		played++
		all.Add(r.Stats)
		if n == 1 {
			t.Log("\n" + strings.Join(r.Trace, "\n"))
		}
	})
	took := time.Since(began)
	t.Logf("%d seeds from %d in %s, %.0f a minute: %+v", played, *simSeed, took.Round(time.Millisecond), float64(played)/took.Minutes(), all)
	if n >= few/8 && !t.Failed() {
		missing := all.Missing()
		if len(missing) > 0 {
			t.Errorf("in none of %d seeds happened: %v", played, missing)
		}
	}
}

func TestOneSeedGivesOneTrace(t *testing.T) {
	n := uint64(20)
	if testing.Short() {
		n = 5
	}
	for seed := range n {
		c := simulation.Config{Seed: 1000 + seed, Full: true}
		first := play(t, c)
		for range 2 {
			again := play(t, c)
			for i := range min(len(first.Trace), len(again.Trace)) {
				if first.Trace[i] != again.Trace[i] {
					t.Fatalf("seed %d: line %d is\n%s\nand the second time\n%s", c.Seed, i, first.Trace[i], again.Trace[i])
				}
			}
			if len(first.Trace) != len(again.Trace) || first.Violation != again.Violation {
				t.Fatalf("seed %d: %d lines (%s), and the second time %d (%s)", c.Seed, len(first.Trace), first.Violation, len(again.Trace), again.Violation)
			}
		}
		if len(first.Trace) < 100 {
			t.Errorf("seed %d: a trace of %d lines shows nothing", c.Seed, len(first.Trace))
		}
	}
}

// foundWithin is within how many seeds each variant must be found.
const foundWithin = 300

func TestEveryBrokenVariantIsFound(t *testing.T) {
	for _, v := range simulation.Variants() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			if testing.Short() && v == simulation.NoFence {
				t.Skip("it takes more than a hundred seeds")
			}
			for seed := uint64(1); seed <= foundWithin; seed++ {
				if r := play(t, simulation.Config{Seed: seed, Variant: v}); r.Violation != "" {
					t.Logf("found by seed %d: %s", seed, r.Violation)
					return
				}
			}
			t.Errorf("%d seeds find nothing", foundWithin)
		})
	}
}
