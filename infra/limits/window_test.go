package limits

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"seckill/infra/testenv"
)

func newClock() *testenv.Clock {
	return testenv.NewClock(time.Date(2026, 11, 11, 10, 0, 0, 0, time.UTC))
}

func TestB69OneBuyerAtSixASecondIsLimitedToFive(t *testing.T) {
	c := newClock()
	w := window(t, Options{Limit: 5, Now: c.Now})
	passed := 0
	for range 60 {
		if w.Take(t.Context(), "alice").OK {
			passed++
		}
		c.Move(time.Second / 6)
	}
	if passed < 45 || passed > 50 {
		t.Errorf("of 60 attempts in 10 s %d passed, want 5 a second at most, and nearly that", passed)
	}
}

func TestAWindowIsNoBucketThatFillsAgain(t *testing.T) {
	c := newClock()
	w := window(t, Options{Limit: 5, Now: c.Now})
	c.Move(time.Hour) // a bucket would be full, and then full again soon
	for range 5 {
		w.Take(t.Context(), "alice")
	}
	c.Move(900 * time.Millisecond)
	if v := w.Take(t.Context(), "alice"); v.OK || v.Wait != 100*time.Millisecond {
		t.Errorf("after 0.9 s: got %+v, want a wait of 100ms", v)
	}
	c.Move(100 * time.Millisecond)
	if v := w.Take(t.Context(), "alice"); !v.OK {
		t.Errorf("after the wait: got %+v, want it to pass", v)
	}
}

func TestB69MemoryIsFlatAfterAMillionBuyers(t *testing.T) {
	c := newClock()
	w := window(t, Options{Limit: 5, Now: c.Now})
	before := heap()
	for i := range 1_000_000 {
		w.Take(context.Background(), fmt.Sprintf("buyer-%07d", i))
		if i%50 == 0 {
			c.Move(time.Millisecond)
		}
	}
	grown := heap() - before
	if grown > 1<<20 {
		t.Errorf("a million buyers left %d bytes, want nothing to speak of", grown)
	}
	if lost := w.Forgotten(); lost > 1000 {
		t.Errorf("at 50,000 buyers a second %d of 1,000,000 were forgotten within their window, want hardly any", lost)
	}
	t.Logf("%.1f MiB for any number of buyers; a million of them left %d bytes more; %d were forgotten early",
		float64(w.places.size())/(1<<20), grown, w.Forgotten())
	runtime.KeepAlive(w)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestWhoKeepsAskingIsNotForgottenInACrowd(t *testing.T) {
	c := newClock()
	w := window(t, Options{Limit: 5, Now: c.Now, Capacity: 4096})
	passed := 0
	for i := range 100_000 {
		w.Take(t.Context(), fmt.Sprint(i))
		if i%10 == 0 {
			c.Move(time.Microsecond)
			if w.Take(t.Context(), "alice").OK {
				passed++
			}
		}
	}
	if passed != 5 {
		t.Errorf("beside a crowd that is too large, %d attempts of one buyer passed within a window, want 5", passed)
	}
	if w.Forgotten() == 0 {
		t.Error("the crowd was not too large; this test tests nothing")
	}
}

func TestATotalPassesItsLimitInNoStretchOfAWindow(t *testing.T) {
	c := newClock()
	total, err := NewTotal(Options{Limit: 100, Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	var passed []time.Time
	for range 40_000 {
		v := total.Take()
		if v.OK {
			passed = append(passed, c.Now())
		} else if v.Wait <= 0 || v.Wait > 2*time.Second {
			t.Fatalf("got a wait of %s", v.Wait)
		}
		c.Move(250 * time.Microsecond)
	}
	for i := range len(passed) - 100 {
		if span := passed[i+100].Sub(passed[i]); span < time.Second {
			t.Fatalf("101 passed within %s", span)
		}
	}
	if len(passed) < 930 || len(passed) > 1000+100 {
		t.Errorf("in 10 s %d passed, want nearly 1,000", len(passed))
	}
}

func TestATotalThatWasQuietForLongTakesItsWholeLimit(t *testing.T) {
	c := newClock()
	total, err := NewTotal(Options{Limit: 10, Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 3 {
		for i := range 11 {
			if v := total.Take(); v.OK != (i < 10) {
				t.Errorf("round %d, request %d: got %+v", round, i+1, v)
			}
		}
		c.Move(time.Duration(round+1) * 100 * time.Minute)
	}
}

func TestTheWaitOfATotalIsWhatItTakes(t *testing.T) {
	c := newClock()
	total, err := NewTotal(Options{Limit: 3, Now: c.Now})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		total.Take()
		c.Move(300 * time.Millisecond)
	}
	v := total.Take()
	c.Move(v.Wait - time.Millisecond)
	if total.Take().OK {
		t.Error("one passed before the wait was over")
	}
	c.Move(time.Millisecond)
	if !total.Take().OK {
		t.Error("none passed when the wait was over")
	}
}

func TestOfRacingRequestsExactlyTheTotalPasses(t *testing.T) {
	total, err := NewTotal(Options{Limit: 500, Window: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	passed := 0
	race(20, func() {
		for range 100 {
			if total.Take().OK {
				mu.Lock()
				passed++
				mu.Unlock()
			}
		}
	})
	if passed != 500 {
		t.Errorf("%d passed, want 500", passed)
	}
}
