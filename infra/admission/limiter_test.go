package admission_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"seckill/infra/admission"
	"seckill/infra/testenv"
)

// clock is a clock that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newLimiter(t *testing.T, o admission.Options) *admission.Limiter {
	t.Helper()
	l, err := admission.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func opening(sale string) bool { return sale == "opening" }

// window lets inside purchases in, tells of calls that took so long, and closes the window.
func window(l *admission.Limiter, c *clock, inside int, took time.Duration) {
	entered := 0
	for range inside {
		if l.Enter(context.Background(), "any") {
			entered++
		}
	}
	c.at = c.at.Add(100 * time.Millisecond)
	for range 10 {
		l.Observe(took)
	}
	for range entered {
		l.Leave()
	}
}

func TestOverTheCeilingTheNewestIsRefusedAndNobodyInsideIsHurt(t *testing.T) {
	l := newLimiter(t, admission.Options{Floor: 2, Cap: 2})
	ctx := t.Context()
	if !l.Ready("any") || !l.Enter(ctx, "any") || !l.Enter(ctx, "any") {
		t.Fatal("the first two were not let in")
	}
	if l.Ready("any") || l.Enter(ctx, "any") {
		t.Error("a third was let in over a ceiling of two")
	}
	if s := l.Stats(); s.Inside != 2 || s.Refused != 2 || s.Waiting != 0 {
		t.Errorf("got %+v, want two inside, two refused and nobody waiting", s)
	}
	l.Leave()
	if !l.Ready("any") || !l.Enter(ctx, "any") {
		t.Error("a place that was given back is not taken")
	}
}

func TestAtAnOpeningABoundedNumberWaitsInTheOrderOfTheirComing(t *testing.T) {
	defer goleak.VerifyNone(t)
	l := newLimiter(t, admission.Options{Floor: 1, Cap: 1, Queue: 2, Wait: time.Minute, Opening: opening})
	if !l.Enter(t.Context(), "opening") {
		t.Fatal("the first was not let in")
	}
	served := make(chan int, 2)
	var all sync.WaitGroup
	for i := range 2 {
		all.Go(func() {
			if l.Enter(context.Background(), "opening") {
				served <- i
				l.Leave()
			}
		})
		testenv.Eventually(t, 10*time.Second, func() error { return waiting(l, i+1) })
	}
	if l.Ready("opening") || l.Enter(t.Context(), "opening") {
		t.Error("more wait than the queue holds")
	}
	if l.Ready("other") {
		t.Error("a sale that is not opening has a queue")
	}
	l.Leave()
	all.Wait()
	if first, second := <-served, <-served; first != 0 || second != 1 {
		t.Errorf("served in the order %d, %d", first, second)
	}
	if s := l.Stats(); s.Inside != 0 || s.Waiting != 0 {
		t.Errorf("in the end: %+v", s)
	}
}

type countError struct{ got, want int }

func (e countError) Error() string { return "not so many wait yet" }

func waiting(l *admission.Limiter, want int) error {
	if got := l.Stats().Waiting; got != want {
		return countError{got, want}
	}
	return nil
}

func TestWhoWaitsTooLongOrHangsUpIsRefusedAndLeavesNoTrace(t *testing.T) {
	defer goleak.VerifyNone(t)
	l := newLimiter(t, admission.Options{Floor: 1, Cap: 1, Queue: 5, Wait: 5 * time.Millisecond, Opening: opening})
	l.Enter(t.Context(), "opening")
	if l.Enter(t.Context(), "opening") {
		t.Error("let in although nobody left")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if l.Enter(gone, "opening") {
		t.Error("somebody who hung up was let in")
	}
	if s := l.Stats(); s.Waiting != 0 || s.Outdated != 2 || s.Inside != 1 {
		t.Errorf("got %+v, want nobody waiting and two outdated", s)
	}
}

func TestTheCeilingShrinksToItsFloorWhenTheGateIsSlowAndGrowsBackToItsCap(t *testing.T) {
	c := &clock{at: time.Unix(1000, 0)}
	l := newLimiter(t, admission.Options{Floor: 10, Cap: 500, Now: c.now})
	for range 60 {
		window(l, c, 600, 2*time.Millisecond)
	}
	if got := l.Stats().Ceiling; got != 500 {
		t.Errorf("while the gate is well and everybody comes the ceiling is %d, want its cap", got)
	}
	for range 30 {
		window(l, c, 600, 250*time.Millisecond)
	}
	if got := l.Stats().Ceiling; got != 10 {
		t.Errorf("while the gate takes as long as it may the ceiling is %d, want its floor", got)
	}
	for range 60 {
		window(l, c, 600, 2*time.Millisecond)
	}
	if got := l.Stats().Ceiling; got != 500 {
		t.Errorf("after the gate got well the ceiling is %d, want its cap", got)
	}
}

func TestAQuietHourDoesNotRaiseTheCeiling(t *testing.T) {
	c := &clock{at: time.Unix(1000, 0)}
	l := newLimiter(t, admission.Options{Floor: 10, Cap: 500, Now: c.now})
	before := l.Stats().Ceiling
	for range 100 {
		window(l, c, 3, time.Millisecond)
	}
	if got := l.Stats().Ceiling; got != before {
		t.Errorf("the ceiling went from %d to %d without use", before, got)
	}
}

func TestAGateThatIsFarAwayIsNotTakenForASlowOne(t *testing.T) {
	c := &clock{at: time.Unix(1000, 0)}
	l := newLimiter(t, admission.Options{Floor: 10, Cap: 500, Target: 10 * time.Millisecond, Now: c.now})
	for range 30 {
		window(l, c, 600, 40*time.Millisecond)
	}
	if got := l.Stats().Ceiling; got != 500 {
		t.Errorf("behind a gate that always takes 40 ms the ceiling is %d, want its cap", got)
	}
}

// Whatever happens at once, no more are inside than the ceiling ever was.
func TestNeverMoreInsideThanTheCap(t *testing.T) {
	defer goleak.VerifyNone(t)
	const most = 8
	l := newLimiter(t, admission.Options{Floor: 1, Cap: most, Queue: 16, Wait: time.Millisecond, Opening: opening})
	var inside, peak atomic.Int64
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			for range 500 {
				if !l.Enter(context.Background(), "opening") {
					continue
				}
				n := inside.Add(1)
				for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
				}
				l.Observe(time.Duration(rand.IntN(1000)) * time.Microsecond)
				inside.Add(-1)
				l.Leave()
			}
		})
	}
	all.Wait()
	if peak.Load() > most || peak.Load() < 1 {
		t.Errorf("%d were inside at once, want 1 to %d", peak.Load(), most)
	}
	if s := l.Stats(); s.Inside != 0 || s.Waiting != 0 {
		t.Errorf("in the end: %+v", s)
	}
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	for _, o := range []admission.Options{{Floor: 10, Cap: 5}, {Floor: -1}, {Queue: -1}, {Wait: -1}, {Target: -1}} {
		if _, err := admission.New(o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
}

func BenchmarkRefusal(b *testing.B) {
	l, err := admission.New(admission.Options{Floor: 1, Cap: 1})
	if err != nil {
		b.Fatal(err)
	}
	l.Enter(context.Background(), "any")
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			l.Ready("any")
		}
	})
}
