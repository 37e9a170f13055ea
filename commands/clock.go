package commands

import (
	"context"
	"sync/atomic"
	"time"
)

// GateTime tells what time it is where purchases are judged.
type GateTime interface {
	Time(ctx context.Context) (time.Time, error)
}

// GateClock estimates the gate's clock from memory, with a bound on its error. It
// is never more certain than its measurements: where the last one is too old, it
// knows nothing. It decides nothing; whoever is in doubt asks the gate.
type GateClock struct {
	env *Env
	ask GateTime
	now atomic.Pointer[gateReading]
}

// NewGateClock makes a clock that knows nothing until Run or Measure asked.
func NewGateClock(env *Env, ask GateTime) *GateClock { return &GateClock{env: env, ask: ask} }

// gateReading is the best measurement of the last ones, and when the last was.
type gateReading struct {
	at    time.Time // here
	gate  time.Time // there, at that moment, give or take bound
	bound time.Duration
	last  time.Time
}

const (
	// clockEvery is how often the gate's clock is asked.
	clockEvery = 250 * time.Millisecond
	// clockBudget bounds one question.
	clockBudget = 150 * time.Millisecond
	// clockTrust is the age at which the last measurement says nothing any more.
	clockTrust = time.Second
	// clockDrift is how much two clocks may part in a second: each may be slewed by
	// 500 parts in a million.
	clockDrift = time.Millisecond
)

// elapsed is the time since at. Where the clock of this machine was set, or stood
// still with the machine, it is the longer one: then the gate's time is taken to be
// late rather than early, and nobody is refused from memory who should not be.
func elapsed(at, now time.Time) time.Duration {
	return max(now.Sub(at), now.Round(0).Sub(at.Round(0)))
}

// estimate brings a reading forward to now.
func (r *gateReading) estimate(now time.Time) (gate time.Time, bound time.Duration) {
	since := elapsed(r.at, now)
	return r.gate.Add(since), r.bound + time.Duration(since.Seconds()*float64(clockDrift))
}

// Now gives the gate's time, give or take bound; ok is false where it is not known.
func (c *GateClock) Now() (gate time.Time, bound time.Duration, ok bool) { return c.at(c.env.Now()) }

// at is Now for a moment of this machine.
func (c *GateClock) at(now time.Time) (gate time.Time, bound time.Duration, ok bool) {
	r := c.now.Load()
	if r == nil {
		return time.Time{}, 0, false
	}
	if elapsed(r.last, now) > clockTrust {
		return time.Time{}, 0, false
	}
	gate, bound = r.estimate(now)
	return gate, bound, true
}

// Offset is how far the gate's clock is ahead of this machine's, give or take
// bound; ok is false where it is not known.
func (c *GateClock) Offset() (offset, bound time.Duration, ok bool) {
	gate, bound, ok := c.Now()
	return gate.Round(0).Sub(c.env.Now().Round(0)), bound, ok
}

// Measure asks the gate once. The answer was given somewhere between asking and
// hearing it: half of the way is the estimate, and the bound.
func (c *GateClock) Measure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, clockBudget)
	defer cancel()
	before := c.env.Now()
	gate, err := c.ask.Time(ctx)
	if err != nil {
		return err
	}
	after := c.env.Now()
	half := elapsed(before, after) / 2
	fresh := &gateReading{at: after, gate: gate.Add(half), bound: half + time.Microsecond, last: after}
	c.now.Store(fresh.or(c.now.Load()))
	return nil
}

// or gives the better one of a fresh reading and the one kept so far. Where the two
// cannot both be true a clock was set, or another server answers: only the fresh
// one counts.
func (r *gateReading) or(kept *gateReading) *gateReading {
	if kept == nil {
		return r
	}
	gate, bound := kept.estimate(r.at)
	if apart := gate.Sub(r.gate).Abs(); apart > bound+r.bound || bound >= r.bound {
		return r
	}
	best := *kept
	best.last = r.last
	return &best
}

// Run measures until ctx ends. A gate that does not answer makes the clock know
// nothing, soon.
func (c *GateClock) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := c.Measure(ctx); err != nil && ctx.Err() == nil {
			c.env.Log.Debug("clock of the gate not measured", "error", err)
		}
		pause(ctx, clockEvery)
	}
	return nil
}
