package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"seckill/domain"
	"seckill/eventstore/memstore"
	"seckill/infra/memgate"
)

// weather is what may happen in the storm, in thousandths of all calls, and how often.
type weather struct {
	refuse, drop, mute, slow int
	slowest                  time.Duration
	// Of messages: lost, doubled, late.
	lose, double, late int
	// Of answers to buyers.
	silent int
	// How often in a storm.
	crashes, restarts, gateFalls, logFalls, losses, unlocks int
	// lag is how many of the commits of recorders are slow.
	lag int
}

// forecast draws the weather: in each run only some kinds of trouble, so that one kind
// does not keep another from being seen.
func (w *World) forecast() weather {
	some := func(most int) int { // none in half of the runs
		if w.rng.IntN(2) == 0 {
			return 0
		}
		return w.rng.IntN(most + 1)
	}
	x := weather{
		refuse: some(60), drop: some(40), mute: some(60), slow: some(200), slowest: time.Millisecond * time.Duration(20+w.rng.IntN(2000)),
		lose: some(300), double: some(300), late: some(500), silent: some(200),
		crashes: some(6), restarts: some(2), losses: some(3), unlocks: some(3),
	}
	switch w.rng.IntN(5) { // stores fall back in two runs of five
	case 0:
		x.gateFalls = 1 + w.rng.IntN(2)
	case 1:
		x.logFalls, x.gateFalls = 1, w.rng.IntN(2)
	}
	w.bring(&x)
	return x
}

// bring makes the weather one in which what a variant breaks can show.
func (w *World) bring(x *weather) {
	switch w.cfg.Variant {
	case NoFence:
		x.gateFalls, x.logFalls, x.lag = 3, 0, 700
	case SameServer:
		x.gateFalls, x.logFalls = 2, 0
	case SkippedTail:
		x.restarts = 3
	}
}

// sometime is a moment in the storm.
func (w *World) sometime() time.Duration { return time.Duration(w.rng.Int64N(int64(stormFor))) }

// storm begins the bad weather, and plans what happens in it.
func (w *World) storm() {
	if w.violation != "" {
		return
	}
	w.weather = w.forecast()
	w.stormy = true
	w.tracef("world: storm of %+v", w.weather)
	w.copy()
	times := func(n int, do func()) {
		for range n {
			w.after(w.sometime(), "", do)
		}
	}
	times(w.weather.crashes, w.crashSome)
	times(w.weather.restarts, w.restartGate)
	times(w.weather.losses, w.loseHash)
	times(w.weather.unlocks, w.loseLock)
	times(w.weather.gateFalls, w.gateFall)
	times(w.weather.logFalls, w.logFall)
	times(4, w.copy)
	w.crowd()
}

// calm ends the bad weather: what nobody waits for never arrives, and every process runs
// again.
func (w *World) calm() {
	if w.violation != "" {
		return
	}
	w.tracef("world: calm")
	w.stormy = false
	w.mu.Lock()
	w.calls = slices.DeleteFunc(w.calls, func(c *call) bool { return c.gone })
	w.mu.Unlock()
	for _, c := range w.calls {
		c.fate = fate{}
	}
	w.reviveAll()
	w.operate("resume")
}

func (w *World) crashSome() {
	if len(w.procs) == 0 {
		return
	}
	p := w.procs[w.rng.IntN(len(w.procs))]
	w.stats.Crashes++
	w.tracef("world: %s dies", p.name)
	w.kill(p)
	down := time.Duration(1+w.rng.IntN(1500)) * time.Millisecond
	w.after(down, "", func() { w.revive(p.name) })
}

// backup is a copy of the log's database: log, views and the place of the relay.
type backup struct {
	log   *memstore.Snapshot
	views *views
}

// copy copies what gate and log may fall back to.
func (w *World) copy() {
	w.gateCopies = append(w.gateCopies, w.gate.Snapshot())
	w.logCopies = append(w.logCopies, backup{w.store.Snapshot(), w.views.clone()})
}

func (w *World) nextServer() string {
	w.servers++
	return w.server()
}

// server names the process that answers for the gate.
func (w *World) server() string { return fmt.Sprintf("server %d", w.servers) }

// restartGate lets another process answer from the same data.
func (w *World) restartGate() {
	w.stats.Restarts++
	server := w.nextServer()
	w.tracef("world: the gate restarts as %s", server)
	w.gate.SetServer(server)
	w.changed(toGate)
}

// gateFall lets a server answer that has an older state, or none at all.
func (w *World) gateFall() {
	w.stats.GateFalls++
	server := w.server()
	if w.cfg.Variant != SameServer {
		server = w.nextServer()
	}
	at := w.rng.IntN(len(w.gateCopies) + 1)
	var to *memgate.Snapshot // none: an empty server
	if at < len(w.gateCopies) {
		to, w.gateCopies = w.gateCopies[at], w.gateCopies[:at+1]
	}
	w.tracef("world: the gate falls back to copy %d as %s", at, server)
	w.gate.Restore(to, server)
	w.changed(toGate)
}

// logFall puts the database back to an older state: log, views and the relay's place.
// Connections break.
func (w *World) logFall() {
	w.stats.LogFalls++
	at := w.rng.IntN(len(w.logCopies))
	from := w.logCopies[at]
	w.logCopies = w.logCopies[:at+1]
	w.store.Restore(from.log)
	w.views = from.views.clone()
	w.tracef("world: the log falls back to copy %d, position %d", at, len(w.records()))
	for _, c := range w.calls { // one after the other: their callers share what they know
		if c.to != toLog && c.to != toViews {
			continue
		}
		if c.broken = c.reads; !c.ran {
			c.fate, c.notBefore = fate{kind: fateRefused}, time.Now()
		}
	}
	w.book, w.cuts = newBook(), newCuts()
	w.changed(toLog)
}

// loseHash lets the gate forget one hash: a sale's record, or the stock of an item.
func (w *World) loseHash() {
	bucket := w.rng.IntN(w.terms.Buckets)
	sku := ""
	if i := w.rng.IntN(len(w.terms.Items) + 1); i > 0 {
		sku = w.terms.Items[i-1].SKU
	}
	w.stats.Lost++
	w.tracef("world: the gate loses %q of bucket %d", sku, bucket)
	w.gate.Lose(domain.Place{Store: storeNumber, Sale: w.sale, Bucket: bucket}, sku)
	w.changed(toGate)
}

// loseLock breaks the connection that holds a lock: it is free at once, and whoever held
// it hears so.
func (w *World) loseLock() {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for name := range w.locks {
		names = append(names, name)
	}
	if len(names) == 0 {
		return
	}
	slices.SortFunc(names, cmp.Compare)
	name := names[w.rng.IntN(len(names))]
	w.tracef("world: the lock %s is lost", name)
	w.locks[name].lose()
	delete(w.locks, name)
}
