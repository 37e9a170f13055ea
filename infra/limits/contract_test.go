package limits

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"seckill/infra/testenv"
)

// limiter makes a limiter of one node.
type limiter func(t testing.TB, o Options) Limiter

func TestEveryLimiterKeepsTheContract(t *testing.T) {
	for name, open := range map[string]limiter{
		"in process":             func(t testing.TB, o Options) Limiter { return window(t, o) },
		"shared, asking always":  func(t testing.TB, o Options) Limiter { return shared(t, o, sharedRedis(t), 0) },
		"shared, the first free": func(t testing.TB, o Options) Limiter { return shared(t, o, sharedRedis(t), 1) },
		"shared, store away":     func(t testing.TB, o Options) Limiter { return shared(t, o, nowhere(t), 1) },
		"shared, imitated Redis": func(t testing.TB, o Options) Limiter { return shared(t, o, imitated(t), 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Run("the limit passes and the next is told how long to wait", func(t *testing.T) { passesTheLimit(t, open) })
			t.Run("of racing attempts exactly the limit passes", func(t *testing.T) { holdsInARace(t, open) })
			t.Run("no stretch of a window holds more than the limit", func(t *testing.T) { slides(t, open) })
		})
	}
}

func passesTheLimit(t *testing.T, open limiter) {
	l := open(t, Options{Limit: 5, Window: time.Minute})
	for i := range 5 {
		if v := l.Take(t.Context(), "alice"); !v.OK || v.Wait != 0 {
			t.Fatalf("attempt %d: got %+v, want it to pass", i+1, v)
		}
	}
	for range 3 {
		if v := l.Take(t.Context(), "alice"); v.OK || v.Wait <= 0 || v.Wait > time.Minute {
			t.Errorf("got %+v, want a wait of up to a minute", v)
		}
	}
	if v := l.Take(t.Context(), "bob"); !v.OK {
		t.Errorf("another buyer: got %+v, want it to pass", v)
	}
}

func holdsInARace(t *testing.T, open limiter) {
	l := open(t, Options{Limit: 7, Window: time.Minute})
	var passed atomic.Int64
	race(30, func() {
		for range 10 {
			if l.Take(t.Context(), "alice").OK {
				passed.Add(1)
			}
		}
	})
	if got := passed.Load(); got != 7 {
		t.Errorf("of 300 racing attempts %d passed, want 7", got)
	}
}

// slides attacks from several goroutines for many windows. The time of an attempt
// lies between its call and its return, so sorted calls and returns bound the
// sorted times.
func slides(t *testing.T, open limiter) {
	const limit, window, enough = 5, 30 * time.Millisecond, 60
	l := open(t, Options{Limit: limit, Window: window})
	var mu sync.Mutex
	var calls, returns []time.Duration
	begin := time.Now()
	race(3, func() {
		for {
			called := time.Since(begin)
			ok := l.Take(t.Context(), "alice").OK
			returned := time.Since(begin)
			mu.Lock()
			if ok {
				calls, returns = append(calls, called), append(returns, returned)
			}
			done := len(calls) >= enough
			mu.Unlock()
			if done || returned > time.Minute {
				return
			}
		}
	})
	if len(calls) < enough {
		t.Fatalf("within a minute only %d attempts passed, want %d: a refused attempt must not count", len(calls), enough)
	}
	slices.Sort(calls)
	slices.Sort(returns)
	for i := range len(calls) - limit {
		// Redis counts in µs of a clock that may be set.
		if span := returns[i+limit] - calls[i]; span < window-time.Millisecond {
			t.Fatalf("%d attempts passed within %s, want at most %d in %s", limit+1, span, limit, window)
		}
	}
}

// race runs do on n goroutines at once.
func race(n int, do func()) {
	start := make(chan struct{})
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			<-start
			do()
		})
	}
	close(start)
	all.Wait()
}

func window(t testing.TB, o Options) *Window {
	t.Helper()
	w, err := NewWindow(o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// shared is a node with a window of its own.
func shared(t testing.TB, o Options, store *Store, free int) *Shared {
	t.Helper()
	s, err := NewShared(window(t, o), store, "purchases", free)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func openStore(t testing.TB, url string, o StoreOptions) *Store {
	t.Helper()
	s, err := OpenStore(context.Background(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close the store: %v", err)
		}
	})
	return s
}

// patient is enough for a busy machine: only a broken store is away then.
const patient = 20 * time.Second

func sharedRedis(t testing.TB) *Store {
	t.Helper()
	return openStore(t, testenv.Redis(t), StoreOptions{Namespace: testenv.Namespace(t), Patience: patient})
}

func imitated(t testing.TB) *Store {
	t.Helper()
	return openStore(t, "redis://"+miniredis.RunT(t).Addr(), StoreOptions{Namespace: "n", Patience: patient})
}

func nowhere(t testing.TB) *Store {
	t.Helper()
	return openStore(t, "redis://127.0.0.1:1/0", StoreOptions{Namespace: "nowhere"})
}

func TestWrongOptionsAreRefusedTogether(t *testing.T) {
	_, err := NewWindow(Options{Limit: MaxLimit + 1, Window: time.Microsecond, Capacity: -1})
	for _, want := range []string{"limit 101", "window 1µs", "capacity -1"} {
		if err == nil || !errorContains(err, want) {
			t.Errorf("got %v, want a word about %q", err, want)
		}
	}
	if _, err := NewShared(window(t, Options{Limit: 2}), nil, "polls", 2); err == nil {
		t.Error("a limit that never asks was accepted")
	}
	if _, err := NewTotal(Options{}); err == nil {
		t.Error("a total of nothing was accepted")
	}
	if _, err := OpenStore(t.Context(), "http://geheim@x", StoreOptions{Namespace: "n"}); err == nil || errorContains(err, "geheim") {
		t.Errorf("got %v, want a refusal that keeps the address to itself", err)
	}
	if _, err := OpenStore(t.Context(), "redis://x", StoreOptions{MaxBatch: 301}); err == nil || !errorContains(err, "namespace") || !errorContains(err, "batch") {
		t.Errorf("got %v, want both mistakes", err)
	}
}

func errorContains(err error, text string) bool { return strings.Contains(err.Error(), text) }
