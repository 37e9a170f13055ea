package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing/synctest"
	"time"
)

// planned is something that the world does at a time.
type planned struct {
	at   time.Time
	name string
	do   func()
}

// after plans something; what is planned for one moment is done in a random order.
func (w *World) after(d time.Duration, name string, do func()) {
	w.agenda = append(w.agenda, planned{time.Now().Add(d), name, do})
}

// note hands the end of somebody's work over to the scheduler.
func (w *World) note(strand string, do func()) {
	w.mu.Lock()
	w.notes = append(w.notes, noted{strand, do})
	w.mu.Unlock()
	w.wake()
}

// noted is the end of the work of a strand.
type noted struct {
	strand string
	do     func()
}

// wake tells the scheduler that there is something to do.
func (w *World) wake() {
	select {
	case w.arrived <- struct{}{}:
	default:
	}
}

// mostSteps bounds a run: one that takes more goes in circles.
const mostSteps = 400_000

// run answers calls one at a time until a moment, until stop says so where nothing is
// left to do at once, or until something is found.
func (w *World) run(until time.Time, stop func() bool) {
	var looked time.Time
	for w.violation == "" {
		synctest.Wait()
		w.takeIn()
		if w.violation != "" || w.step() {
			continue
		}
		now := time.Now()
		if !now.Before(until) {
			return
		}
		if now.Sub(looked) >= stopEvery {
			if looked = now; stop() {
				return
			}
		}
		w.sleep(until)
	}
}

// stopEvery is how often it is looked whether a run may stop.
const stopEvery = 20 * time.Millisecond

// takeIn takes in what arrived since the last step, in an order that does not depend on
// which goroutine was faster.
func (w *World) takeIn() {
	select {
	case <-w.arrived:
	default:
	}
	w.mu.Lock()
	calls, notes := w.arrivals, w.notes
	w.arrivals, w.notes = nil, nil
	w.calls = slices.DeleteFunc(w.calls, func(c *call) bool { return c.gone && (c.reads || c.patient || c.ran) })
	w.mu.Unlock()
	slices.SortStableFunc(notes, func(a, b noted) int { return cmp.Compare(a.strand, b.strand) })
	for _, n := range notes {
		n.do()
	}
	slices.SortStableFunc(calls, func(a, b *call) int { return strings.Compare(a.key, b.key) })
	for _, c := range calls {
		if c.proc.dead.Load() { // it died in this very moment
			c.tell(unheard)
			continue
		}
		c.notBefore = time.Now().Add(w.foretell(c))
		w.calls = append(w.calls, c)
	}
}

// foretell decides the fate of a call and how late it is begun. No call takes no time.
func (w *World) foretell(c *call) (delay time.Duration) {
	delay = time.Duration(50+w.rng.IntN(500)) * time.Microsecond
	if !w.stormy || c.to == toLocks {
		return delay
	}
	x := &w.weather
	switch r := w.rng.IntN(1000); {
	case r < x.refuse:
		c.fate.kind = fateRefused
	case c.patient, c.to == toViews: // a commit's outcome is found out
	case r < x.refuse+x.drop:
		c.fate.kind = fateDropped
	case r < x.refuse+x.drop+x.mute:
		c.fate.kind = fateMute
	}
	if w.rng.IntN(1000) < x.slow {
		delay += time.Duration(w.rng.Int64N(int64(x.slowest)))
	}
	if x.lag > 0 && c.patient && c.to == toLog && strings.HasPrefix(c.proc.name, "recorder") && w.rng.IntN(1000) < x.lag {
		delay += time.Duration(w.rng.Int64N(int64(1500 * time.Millisecond)))
	}
	if w.rng.IntN(1000) < x.slow {
		c.fate.reply = time.Duration(w.rng.Int64N(int64(x.slowest)))
	}
	return delay
}

// step does one thing that can be done now; false when there is none.
func (w *World) step() bool {
	now := time.Now()
	var able []int // indexes into calls, then into agenda
	for i, c := range w.calls {
		if !now.Before(c.notBefore) && (c.ran || c.ready == nil || c.ready()) {
			able = append(able, i)
		}
	}
	n := len(able)
	for i := range w.agenda {
		if !now.Before(w.agenda[i].at) {
			able = append(able, i)
		}
	}
	if len(able) == 0 {
		return false
	}
	if w.steps++; w.steps > mostSteps {
		w.violate("liveness: more than %d steps, it goes in circles", mostSteps)
		return true
	}
	pick := w.rng.IntN(len(able))
	if pick >= n {
		at := able[pick]
		p := w.agenda[at]
		w.agenda = slices.Delete(w.agenda, at, at+1)
		if p.name != "" {
			w.tracef("world: %s", p.name)
		}
		p.do()
		return true
	}
	w.execute(able[pick])
	return true
}

// execute answers a call, or gives it its effect now and its answer later.
func (w *World) execute(at int) {
	c := w.calls[at]
	if c.ran && c.broken {
		w.answer(at, unheard)
		return
	}
	if c.ran {
		w.answer(at, answered)
		return
	}
	switch c.fate.kind {
	case fateRefused:
		w.tracef("%s: %s %s: refused", c.key, c.to, c.what)
		w.answer(at, refused)
		return
	case fateDropped:
		w.tracef("%s: %s %s: lost on its way", c.key, c.to, c.what)
		w.answer(at, unheard)
		return
	}
	w.mu.Lock()
	c.ran = true
	w.mu.Unlock()
	w.effect(c)
	switch {
	case c.fate.kind == fateMute:
		w.answer(at, unheard)
	case c.fate.reply > 0 && !c.gone:
		c.notBefore = time.Now().Add(c.fate.reply)
	default:
		w.answer(at, answered)
	}
}

// effect gives a call its effect, traces it and checks the world.
func (w *World) effect(c *call) {
	result := c.run()
	if c.reads {
		if w.cfg.Full {
			w.tracef("%s: %s", c.key, c.to)
		}
		return
	}
	lost := ""
	switch {
	case c.gone:
		lost = " (nobody waits for it)"
	case c.fate.kind == fateMute:
		lost = " (the answer is lost)"
	}
	w.tracef("%s: %s → %s%s", c.key, c.to, result, lost)
	w.changed(c.to)
}

// answer lets whoever sent a call go on.
func (w *World) answer(at int, v verdict) {
	c := w.calls[at]
	w.calls = slices.Delete(w.calls, at, at+1)
	if !c.told {
		c.tell(v)
	}
}

// sleep lets time pass until something can be done, or until a moment.
func (w *World) sleep(until time.Time) {
	next, now := until, time.Now()
	for _, c := range w.calls {
		if (c.ready == nil || c.notBefore.After(now)) && c.notBefore.Before(next) {
			next = c.notBefore
		}
	}
	for i := range w.agenda {
		if w.agenda[i].at.Before(next) {
			next = w.agenda[i].at
		}
	}
	d := min(time.Until(next), longestSleep)
	t := time.NewTimer(max(d, time.Microsecond))
	defer t.Stop()
	select {
	case <-t.C:
	case <-w.arrived:
	}
}

// longestSleep bounds a sleep, so that stop is asked.
const longestSleep = 100 * time.Millisecond

func (w *World) tracef(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf("%11.6f  ", time.Since(w.began).Seconds())+fmt.Sprintf(format, args...))
}

// violate notes the first thing that must not be.
func (w *World) violate(format string, args ...any) {
	if w.violation != "" {
		return
	}
	w.violation = fmt.Sprintf(format, args...)
	w.tracef("VIOLATION: %s", w.violation)
}
