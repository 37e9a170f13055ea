package lifecycle

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// diary notes what happens, in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

func (d *diary) part(name string) Entry {
	return Entry{Name: name, Part: Hooks{
		OnStart: func(context.Context) error { d.note("start " + name); return nil },
		OnStop:  func(context.Context) error { d.note("stop " + name); return nil },
	}}
}

func (d *diary) check(t *testing.T, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if diff := cmp.Diff(want, d.lines); diff != "" {
		t.Errorf("what happened (-want +got):\n%s", diff)
	}
}

func TestPartsStartInOrderAndStopInReverse(t *testing.T) {
	var d diary
	ctx, cancel := context.WithCancel(t.Context())
	err := Run(ctx, Options{Ready: cancel}, d.part("a"), d.part("b"), d.part("c"))
	if err != nil {
		t.Errorf("got %v want no error", err)
	}
	d.check(t, "start a", "start b", "start c", "stop c", "stop b", "stop a")
}

func TestAPartThatCannotStartStopsThoseThatDid(t *testing.T) {
	var d diary
	broken := errors.New("port taken")
	err := Run(t.Context(), Options{}, d.part("a"),
		Entry{Name: "server", Part: Hooks{OnStart: func(context.Context) error { return broken }}}, d.part("c"))
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "start server") {
		t.Errorf("got %v want the error with the part's name", err)
	}
	d.check(t, "start a", "stop a")
}

func TestTheFirstSignalStopsInOrder(t *testing.T) {
	var d diary
	signals := make(chan os.Signal, 2)
	exit := func(int) { t.Error("exit after one signal") }
	err := Run(t.Context(), Options{Signals: signals, Exit: exit, Ready: func() { signals <- syscall.SIGTERM }}, d.part("a"), d.part("b"))
	if err != nil {
		t.Errorf("got %v want no error", err)
	}
	d.check(t, "start a", "start b", "stop b", "stop a")
}

func TestASignalDuringTheStartStopsWhatHasStarted(t *testing.T) {
	var d diary
	signals := make(chan os.Signal, 2)
	slow := Entry{Name: "slow", Part: Hooks{OnStart: func(ctx context.Context) error {
		signals <- os.Interrupt
		<-ctx.Done()
		return ctx.Err()
	}}}
	if err := Run(t.Context(), Options{Signals: signals}, d.part("a"), slow, d.part("c")); err != nil {
		t.Errorf("got %v want no error", err)
	}
	d.check(t, "start a", "stop a")
}

func TestTheSecondSignalExitsAtOnce(t *testing.T) {
	signals := make(chan os.Signal, 2)
	exited := make(chan int, 1)
	stuck := Entry{Name: "stuck", Part: Hooks{OnStop: func(context.Context) error {
		signals <- syscall.SIGINT
		if code := <-exited; code != 1 {
			t.Errorf("exit code: got %d want 1", code)
		}
		return nil
	}}}
	err := Run(t.Context(), Options{
		Signals: signals, Exit: func(code int) { exited <- code }, Ready: func() { signals <- syscall.SIGINT },
	}, stuck)
	if err != nil {
		t.Errorf("got %v want no error", err)
	}
}

func TestAFailureInTheBackgroundStopsAllWithItsError(t *testing.T) {
	var d diary
	broken := errors.New("connection lost")
	loop := Entry{Name: "relay", Part: NewLoop(func(context.Context) error { return broken })}
	err := Run(t.Context(), Options{}, d.part("a"), loop, d.part("c"))
	if !errors.Is(err, broken) || !strings.Contains(err.Error(), "relay") {
		t.Errorf("got %v want the error with the part's name", err)
	}
	if strings.Count(err.Error(), broken.Error()) != 1 {
		t.Errorf("the error is told more than once: %v", err)
	}
	d.check(t, "start a", "start c", "stop c", "stop a")
}

func TestALoopRunsUntilItIsStoppedAndIsWaitedFor(t *testing.T) {
	var d diary
	ctx, cancel := context.WithCancel(t.Context())
	loop := Entry{Name: "loop", Part: NewLoop(func(ctx context.Context) error {
		<-ctx.Done()
		d.note("loop ended")
		return ctx.Err()
	})}
	if err := Run(ctx, Options{Ready: cancel}, d.part("a"), loop); err != nil {
		t.Errorf("got %v want no error", err)
	}
	d.check(t, "start a", "loop ended", "stop a")
}

func TestALoopWhoseWorkIsDoneStopsNobody(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	loop := NewLoop(func(context.Context) error { close(done); return nil })
	err := Run(ctx, Options{Ready: func() { <-done; cancel() }}, Entry{Name: "once", Part: loop})
	if err != nil {
		t.Errorf("got %v want no error", err)
	}
}

func TestTheErrorOfALoopThatEndsBadlyIsReturned(t *testing.T) {
	broken := errors.New("could not flush")
	ctx, cancel := context.WithCancel(t.Context())
	loop := NewLoop(func(ctx context.Context) error { <-ctx.Done(); return broken })
	err := Run(ctx, Options{Ready: cancel}, Entry{Name: "loop", Part: loop})
	if !errors.Is(err, broken) {
		t.Errorf("got %v want %v", err, broken)
	}
}

func TestAPartThatMissesItsDeadlineDoesNotHoldUpTheOthers(t *testing.T) {
	var d diary
	ctx, cancel := context.WithCancel(t.Context())
	slow := Entry{Name: "slow", StopWithin: time.Millisecond, Part: Hooks{OnStop: func(ctx context.Context) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}}}
	release := make(chan struct{})
	deaf := Entry{Name: "deaf", StopWithin: time.Millisecond, Part: Hooks{OnStop: func(context.Context) error {
		<-release
		return nil
	}}}
	err := Run(ctx, Options{Ready: cancel}, d.part("a"), slow, deaf)
	close(release)
	for _, name := range []string{"stop slow", "stop deaf"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v want a sentence with %q", err, name)
		}
	}
	d.check(t, "start a", "stop a")
}

func TestAPartThatStartsTooLateIsStoppedAgain(t *testing.T) {
	var d diary
	late := Entry{Name: "late", StartWithin: time.Millisecond, Part: Hooks{
		OnStart: func(ctx context.Context) error {
			<-ctx.Done()
			timer := time.NewTimer(grace + 200*time.Millisecond)
			<-timer.C // deaf to its context for longer than it may
			d.note("late start")
			return nil
		},
		OnStop: func(context.Context) error { d.note("stop late"); return nil },
	}}
	err := Run(t.Context(), Options{}, d.part("a"), late)
	if err == nil || !strings.Contains(err.Error(), "start late: not done within 1ms") {
		t.Errorf("got %v want the missed deadline", err)
	}
	d.check(t, "start a", "late start", "stop late", "stop a")
}
