package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Options say how a process is told to stop.
type Options struct {
	// Signals stops at the first and exits at the second signal; nil has none.
	// A channel of signal.Notify needs room for two.
	Signals <-chan os.Signal
	// Exit ends the process at the second signal; nil is os.Exit. It is called
	// with 1.
	Exit func(code int)
	// Ready is called when all parts have started; nil does nothing.
	Ready func()
}

// errSignal is why a start or a run ended in order.
var errSignal = errors.New("stopped by a signal")

// Run starts the parts, waits until ctx ends, a signal comes or a part fails,
// and stops them. It returns nil if it ended as asked and all stopped in time.
// The context of the parts' Stop has ctx's values but not its end.
func Run(ctx context.Context, o Options, parts ...Entry) error {
	if o.Exit == nil {
		o.Exit = os.Exit
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := watchSignals(o, cancel)
	defer watch.end()

	started, err := start(ctx, parts)
	if err == nil {
		if o.Ready != nil {
			o.Ready()
		}
		err = wait(ctx, started)
	}
	if isEnd(err) || errors.Is(err, errSignal) {
		err = nil
	}
	return errors.Join(err, stop(context.WithoutCancel(ctx), started))
}

// watcher owns the goroutine that listens for signals.
type watcher struct {
	quit, done chan struct{}
}

func watchSignals(o Options, cancel context.CancelCauseFunc) watcher {
	w := watcher{quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for _, act := range []func(){func() { cancel(errSignal) }, func() { o.Exit(1) }} {
			select {
			case <-o.Signals:
				act()
			case <-w.quit:
				return
			}
		}
	}()
	return w
}

func (w watcher) end() {
	close(w.quit)
	<-w.done
}

// start returns the parts that started, in order.
func start(ctx context.Context, parts []Entry) ([]Entry, error) {
	var started []Entry
	for _, p := range parts {
		if ctx.Err() != nil {
			return started, context.Cause(ctx)
		}
		late, err := within(ctx, orDefault(p.StartWithin, DefaultStartWithin), p.Part.Start)
		if err == nil {
			started = append(started, p)
			continue
		}
		if late != nil {
			// It may come up after all; then it must not stay.
			started = append(started, Entry{Name: p.Name, Part: lateStart{late, p.Part}, StopWithin: p.StopWithin})
		}
		if ctx.Err() != nil && (isEnd(err) || errors.Is(err, errSignal)) {
			return started, context.Cause(ctx)
		}
		return started, fmt.Errorf("start %s: %w", p.Name, err)
	}
	return started, nil
}

// lateStart is a part whose Start has not returned in time.
type lateStart struct {
	start <-chan error
	part  Part
}

func (l lateStart) Start(context.Context) error { return nil }

// Stop stops the part if its start ends well after all.
func (l lateStart) Stop(ctx context.Context) error {
	select {
	case err := <-l.start:
		if err != nil {
			return nil // it has not started
		}
		return l.part.Stop(ctx)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wait returns when ctx ends or a part fails.
func wait(ctx context.Context, parts []Entry) error {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	watched := 0
	for _, p := range parts {
		f, ok := p.Part.(Failing)
		if !ok {
			continue
		}
		watched++
		go func() {
			defer func() { done <- struct{}{} }()
			select {
			case err := <-f.Failed():
				cancel(fmt.Errorf("%s failed: %w", p.Name, err))
			case <-ctx.Done():
			}
		}()
	}
	<-ctx.Done()
	for range watched {
		<-done
	}
	cancel(nil)
	return context.Cause(ctx)
}

// stop stops the parts, last first.
func stop(ctx context.Context, parts []Entry) error {
	var errs []error
	for i := len(parts) - 1; i >= 0; i-- {
		p := parts[i]
		if _, err := within(ctx, orDefault(p.StopWithin, DefaultStopWithin), p.Part.Stop); err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", p.Name, err))
		}
	}
	return errors.Join(errs...)
}

// grace is what a part gets to return after its context ended.
const grace = time.Second

// within runs f under a deadline. If f does not return even then, late is
// where its result comes.
func within(ctx context.Context, d time.Duration, f func(context.Context) error) (late <-chan error, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d, fmt.Errorf("not done within %s", d))
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- f(ctx) }()
	select {
	case err := <-result:
		return nil, err
	case <-ctx.Done():
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case err := <-result:
		return nil, err
	case <-timer.C:
		return result, context.Cause(ctx)
	}
}

func isEnd(err error) bool {
	return errors.Is(err, context.Canceled)
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}
