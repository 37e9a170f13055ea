package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/commands"
	"seckill/eventstore"
)

// verdict is what became of a call, for whoever sent it.
type verdict int

const (
	answered verdict = iota
	refused          // nothing happened, and he knows
	unheard          // he cannot know
	givenUp          // he had gone before it was begun, and nothing happened
)

// target is whom a call is for.
type target string

const (
	toGate  target = "gate"
	toLog   target = "log"
	toViews target = "views"
	toBus   target = "bus"
	toLocks target = "locks"
)

// question is what a call asks.
type question struct {
	to   target
	what string
	// reads: it has no effect, and is dropped when nobody waits for it any more.
	reads bool
	// patient: once begun its outcome is waited for, whatever the caller's context says,
	// and its answer is never lost: as an appender does it.
	patient bool
	// ready tells whether it can be answered now. Nil: always.
	ready func() bool
}

// call is a question on its way, guarded by the world's lock while others may see it.
type call struct {
	question
	proc *process
	key  string // orders calls that came at one moment
	run  func() string

	fate      fate
	notBefore time.Time
	ran, gone bool
	broken    bool // its answer was lost with a connection
	told      bool // whoever sent it
	verdict   verdict
	done      chan struct{}
}

// tell lets whoever sent a call go on.
func (c *call) tell(v verdict) {
	c.verdict, c.told = v, true
	close(c.done)
}

// fate is what the seed has in store for a call.
type fate struct {
	kind  fateKind
	reply time.Duration // from the effect to its answer
}

type fateKind int

const (
	fateGood    fateKind = iota
	fateRefused          // nothing happens, and the caller is told
	fateDropped          // nothing happens, and the caller is not told
	fateMute             // it happens, and the caller is not told
)

var (
	errInjected = errors.New("the simulation refused this call")
	errNoAnswer = errors.New("no answer came")
)

type strandKey struct{}

// withStrand names whose work is done under ctx, so that calls that come at one moment
// have an order.
func withStrand(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, strandKey{}, name)
}

func strandOf(ctx context.Context) string {
	name, _ := ctx.Value(strandKey{}).(string)
	return name
}

// ask sends a question through the scheduler. f is its effect; it runs in the
// scheduler's goroutine, when nothing else runs, even where the caller has gone.
func ask[T any](ctx context.Context, p *process, q question, f func() (T, error), show func(T) string) (T, error) {
	var value T
	var err error
	c := &call{question: q, proc: p, key: p.name + " " + strandOf(ctx) + " " + q.what, done: make(chan struct{})}
	c.run = func() string {
		value, err = f()
		switch {
		case err != nil:
			return "error: " + err.Error()
		case show != nil:
			return show(value)
		}
		return ""
	}
	v := p.send(ctx, c)
	if v == answered {
		return value, err
	}
	var none T
	return none, q.fault(ctx, v)
}

// fault gives the error that a port has for a verdict.
func (q *question) fault(ctx context.Context, v verdict) error {
	cause := errNoAnswer
	switch {
	case ctx.Err() != nil:
		cause = ctx.Err()
	case v == refused:
		cause = errInjected
	}
	switch q.to {
	case toGate:
		return &commands.GateError{Unknown: v == unheard, Err: cause}
	case toLog, toViews:
		if v == givenUp {
			return fmt.Errorf("submit work: %w", cause)
		}
		return fmt.Errorf("%s: %w: %w", q.what, eventstore.ErrUnavailable, cause)
	}
	return fmt.Errorf("%s: %w", q.what, cause)
}

// send parks a call until the scheduler has answered it, or ctx ends.
func (p *process) send(ctx context.Context, c *call) verdict {
	w := p.world
	switch {
	case p.dead.Load():
		return unheard
	case ctx.Err() != nil:
		return givenUp
	}
	w.mu.Lock()
	w.arrivals = append(w.arrivals, c)
	w.mu.Unlock()
	w.wake()
	select {
	case <-c.done:
		return c.verdict
	case <-ctx.Done():
		return w.abandon(c)
	}
}

// abandon says that nobody waits for a call any more.
func (w *World) abandon(c *call) verdict {
	w.mu.Lock()
	if c.patient && c.ran {
		w.mu.Unlock()
		<-c.done
		return c.verdict
	}
	defer w.mu.Unlock()
	c.gone = true
	if c.patient {
		return givenUp
	}
	return unheard
}
