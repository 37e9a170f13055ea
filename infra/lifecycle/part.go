package lifecycle

import (
	"context"
	"time"
)

// Part is something that runs from Start to Stop. Both return when it is done,
// or with an error soon after their context ended. What runs in the background
// outlives the context of Start. Stop is called once, and only after a Start
// without error.
type Part interface {
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
}

// Failing is implemented by parts that may fail while they run. The channel
// gets at most one error.
type Failing interface {
	Failed() <-chan error
}

// Default deadlines of a part.
const (
	DefaultStartWithin = 30 * time.Second
	DefaultStopWithin  = 15 * time.Second
)

// Entry is a part in its place.
type Entry struct {
	Name string // for errors, such as "http server"
	Part Part
	// StartWithin and StopWithin bound the part's Start and Stop; 0 is the default.
	StartWithin, StopWithin time.Duration
}

// Hooks is a part made of two functions; a nil one does nothing.
type Hooks struct {
	OnStart, OnStop func(ctx context.Context) error
}

// Start calls OnStart.
func (h Hooks) Start(ctx context.Context) error { return call(ctx, h.OnStart) }

// Stop calls OnStop.
func (h Hooks) Stop(ctx context.Context) error { return call(ctx, h.OnStop) }

func call(ctx context.Context, f func(ctx context.Context) error) error {
	if f == nil {
		return nil
	}
	return f(ctx)
}

// Loop is a part that runs a function in the background until it is stopped.
type Loop struct {
	run    func(ctx context.Context) error
	cancel context.CancelFunc
	done   chan struct{}
	failed chan error
	// What run returned, and whether it did so before it was asked to; read after done.
	err   error
	early bool
}

// NewLoop returns a part that runs run. Its context ends when the part is
// stopped, and then run must return soon; what it returns then, other than the
// context's own error, is the error of Stop. A run that returns before is a
// failure of the part if it returns an error, else its work is done.
func NewLoop(run func(ctx context.Context) error) *Loop {
	return &Loop{run: run, done: make(chan struct{}), failed: make(chan error, 1)}
}

// Start starts the function. The values of ctx are passed on, its end is not.
func (l *Loop) Start(ctx context.Context) error {
	runCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	l.cancel = cancel
	go func() {
		defer close(l.done)
		l.err = l.run(runCtx)
		l.early = runCtx.Err() == nil
		if l.early && l.err != nil {
			l.failed <- l.err
		}
	}()
	return nil
}

// Failed implements Failing.
func (l *Loop) Failed() <-chan error { return l.failed }

// Stop ends the function's context and waits for the function.
func (l *Loop) Stop(ctx context.Context) error {
	l.cancel()
	select {
	case <-l.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-l.failed: // nobody has heard of it yet
		return err
	default:
	}
	if l.early || isEnd(l.err) {
		return nil
	}
	return l.err
}
