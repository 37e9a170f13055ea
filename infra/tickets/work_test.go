package tickets

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"
)

// said gives what others ask for that differs, and fails where it cannot be told.
func said(t *testing.T, b *Book, node string, work int64, now time.Time) map[string]int64 {
	t.Helper()
	others, err := b.sayWork(t.Context(), node, work, now)
	if err != nil {
		t.Fatal(err)
	}
	return others
}

func TestANodeHearsWhoAsksForAnotherProofOfWorkWhileItRuns(t *testing.T) {
	t.Parallel()
	a, b := twoBooks(t)
	now := time.Now()
	for _, step := range []struct {
		what string
		book *Book
		node string
		work int64
		now  time.Time
		want map[string]int64
	}{
		{"alone", a, "a", 50000, now, nil},
		{"alike", b, "b", 50000, now, nil},
		{"started again without", b, "b", 0, now, map[string]int64{"a": 50000}},
		{"the other one", a, "a", 50000, now.Add(workEvery), map[string]int64{"b": 0}},
		{"after that is gone", a, "a", 50000, now.Add(workLive + time.Second), nil},
		{"in time, at a slow clock", b, "b", 0, now.Add(2 * time.Second), map[string]int64{"a": 50000}},
	} {
		if got := said(t, step.book, step.node, step.work, step.now); !maps.Equal(got, step.want) {
			t.Errorf("%s: got %v, want %v", step.what, got, step.want)
		}
	}
}

// lines is a log that is read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

func TestANodeThatAsksForAnotherProofOfWorkIsWarnedOf(t *testing.T) {
	t.Parallel()
	a, b := twoBooks(t)
	said(t, a, "a", 50000, time.Now())
	ctx, cancel := context.WithCancel(t.Context())
	log, done := &lines{}, make(chan error)
	go func() { done <- b.WatchWork(ctx, "b", 0, slog.New(slog.NewTextHandler(log, nil))) }()
	for end := time.Now().Add(10 * time.Second); !log.has("other_node=a here=0 there=50000"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no warning came")
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
