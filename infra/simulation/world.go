package simulation

import (
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing/synctest"
	"time"

	"seckill/domain"
	"seckill/eventstore/memstore"
	"seckill/infra/memgate"
)

// Config is one run.
type Config struct {
	Seed uint64
	// Variant breaks the system in one way, to see that the checks find it. "" is the
	// system as it ships.
	Variant Variant
	// Full traces questions without an effect too.
	Full bool
}

// Result is what a run found. Violation is "" where everything held.
type Result struct {
	Seed      uint64
	Violation string
	// Trace is what happened, a line each: seconds since the beginning, who asked whom,
	// and what came of it.
	Trace []string
	Stats Stats
}

// World is everything of one run. Its fields belong to the scheduler, which is the
// goroutine of Run; processes share what stands under mu.
type World struct {
	cfg   Config
	rng   *rand.Rand
	began time.Time
	log   *slog.Logger

	gate  *memgate.Gate
	store *memstore.Store
	views *views
	keys  domain.Keys
	// writes counts effects on the gate.
	writes int

	weather weather
	stormy  bool
	// lateOnly: who came in the storm buys no more.
	lateOnly bool
	calls    []*call
	agenda   []planned
	procs    []*process
	book     *book
	cuts     cuts
	stats    Stats
	steps    int
	// acting counts what people wait for.
	acting int

	terms      domain.SaleTerms
	sale       string
	buyers     []*buyer
	acks       map[string]*ack
	accepted   map[string]acceptance // by order: what the gate took
	gateCopies []*memgate.Snapshot
	logCopies  []backup
	servers    int
	trace      []string
	// violation is the first thing that must not be.
	violation string

	arrived chan struct{}
	mu      sync.Mutex
	// Under mu: what came since the last step, and who holds which lock.
	arrivals []*call
	notes    []noted
	locks    map[string]*heldLock
}

// acceptance is when the gate took the units of an order: how often it had fallen back
// by then.
type acceptance struct{ gateFalls int }

// storeNumber is the number of the event store.
const storeNumber = 1

func newWorld(c Config) *World {
	w := &World{
		cfg: c, rng: rand.New(rand.NewPCG(c.Seed, 0x5eedc0de)), began: time.Now(),
		log:   slog.New(slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelError + 1})),
		store: memstore.New(time.Now), views: newViews(),
		keys: domain.Keys{Current: 1, Secrets: map[uint8][]byte{1: []byte("a secret of the simulation")}},
		book: newBook(), cuts: newCuts(), acks: map[string]*ack{}, accepted: map[string]acceptance{},
		arrived: make(chan struct{}, 1), locks: map[string]*heldLock{},
	}
	w.gate = memgate.New(storeNumber, time.Now)
	w.gate.SetServer(w.nextServer())
	return w
}

// Run plays one seed, in a bubble of testing/synctest, and ends every goroutine that it
// began.
func Run(c Config) Result {
	w := newWorld(c)
	w.play()
	w.stormy = false
	for len(w.procs) > 0 {
		w.kill(w.procs[0])
	}
	w.stats.Steps, w.stats.Virtual = w.steps, time.Since(w.began)
	time.Sleep(windDown)
	synctest.Wait()
	return Result{Seed: c.Seed, Violation: w.violation, Trace: w.trace, Stats: w.stats}
}

// windDown is how long the goroutines of dead processes may take to notice: longer than
// any budget of theirs.
const windDown = time.Minute

// Lengths of the parts of a run, in virtual time.
const (
	openWithin  = 30 * time.Second
	stormFor    = 5 * time.Second
	drainWithin = 120 * time.Second
)

// play lets a sale open in good weather, sells it in bad, and then, in good weather
// again, waits until everything is drained and every unit left is sold.
func (w *World) play() {
	w.prepare()
	w.run(w.began.Add(openWithin), w.selling)
	if w.violation == "" && !w.selling() {
		w.violate("liveness: the sale does not sell %s after it was scheduled", openWithin)
	}
	w.storm()
	w.run(time.Now().Add(stormFor), func() bool { return false })
	w.calm()
	w.drain("the storm")
	for round := 0; round < sellRounds && w.violation == "" && w.unsold() > 0; round++ {
		w.sellOut() // what was bought meanwhile and not paid comes back
		w.drain("the last unit was sold")
	}
	w.finalChecks()
}

// sellRounds bounds how often what came back is sold again.
const sellRounds = 10

// unsold gives the units that are left of all items.
func (w *World) unsold() (n int64) {
	for _, sku := range w.skus() {
		n += w.book.left(sku)
	}
	return n
}

// drain waits until nothing is under way.
func (w *World) drain(since string) {
	if w.violation != "" {
		return
	}
	w.pollUndecided()
	w.run(time.Now().Add(drainWithin), func() bool { return w.unquiet() == "" })
	if why := w.unquiet(); w.violation == "" && why != "" {
		w.violate("liveness: %s after %s: %s", drainWithin, since, why)
	}
}
