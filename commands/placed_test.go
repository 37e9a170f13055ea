package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// placedLog is a log that a test writes cursors and states into.
type placedLog struct {
	mu      sync.Mutex
	cursors map[int]eventstore.Cursor
	states  map[string]eventstore.StreamState
	away    bool
	hang    chan struct{} // questions wait for it
	asked   int           // for cursors
	streams int           // looked at
	lanes   int           // most in one question
}

func newPlacedLog() *placedLog {
	return &placedLog{cursors: map[int]eventstore.Cursor{}, states: map[string]eventstore.StreamState{}}
}

func (l *placedLog) Cursors(ctx context.Context, lanes []int) ([]eventstore.Cursor, error) {
	l.mu.Lock()
	hang := l.hang
	l.mu.Unlock()
	if hang != nil {
		select {
		case <-hang:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away {
		return nil, errors.New("away")
	}
	l.asked++
	l.lanes = max(l.lanes, len(lanes))
	out := make([]eventstore.Cursor, len(lanes))
	for i, lane := range lanes {
		out[i] = l.cursors[lane]
	}
	return out, nil
}

func (l *placedLog) States(_ context.Context, streams []string) ([]eventstore.StreamState, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streams += len(streams)
	out := make([]eventstore.StreamState, len(streams))
	for i, s := range streams {
		out[i] = l.states[s]
	}
	return out, nil
}

// record moves a lane's cursor past an entry that holds orders.
func (l *placedLog) record(lane int, epoch, n int64, orders ...string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cursors[lane] = eventstore.Cursor{Lane: lane, Epoch: epoch, N: n}
	for _, order := range orders {
		l.states[domain.OrderStream(order)] = eventstore.StreamState{Version: 1, Type: "order.placed"}
	}
}

func (l *placedLog) seen() (asked, streams, lanes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked, l.streams, l.lanes
}

// watching starts a Placed over a log; it ends with the test.
func watching(t *testing.T, log PlacedLog, opts PlacedOptions) *Placed {
	t.Helper()
	p := NewPlaced(&Env{Log: slog.New(slog.NewTextHandler(io.Discard, nil))}, log, opts)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := p.Run(ctx); err != nil {
			t.Errorf("the watcher ended: %v", err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	until(t, func() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.running })
	return p
}

// until polls for a state.
func until(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal("it did not come to pass within 30 s")
		}
		pause(context.Background(), time.Millisecond)
	}
}

// longBudget is one that no test waits for.
const longBudget = 5 * time.Minute

func TestThousandsWaitAndEachIsToldOnceItsEntryIsRecorded(t *testing.T) {
	log := newPlacedLog()
	p := watching(t, log, PlacedOptions{Budget: longBudget})
	const lanes, each = 7, 500
	var all sync.WaitGroup
	told := make([]bool, lanes*each)
	for lane := range lanes {
		for i := range each {
			all.Go(func() {
				_, told[lane*each+i] = p.Wait(context.Background(), lane, fmt.Sprintf("o-%d-%d", lane, i), domain.EntryID{Epoch: 1, N: int64(i + 1)})
			})
		}
	}
	until(t, func() bool { return p.Waiting() == lanes*each })
	for lane := range lanes {
		var orders []string
		for i := range each / 2 {
			orders = append(orders, fmt.Sprintf("o-%d-%d", lane, i))
		}
		log.record(lane, 1, each/2, orders...)
	}
	until(t, func() bool { return p.Waiting() == lanes*each/2 })
	if _, streams, most := log.seen(); most != lanes || streams != lanes*each/2 {
		t.Errorf("asked for up to %d lanes at once and %d orders; want all %d lanes in one question, and only the %d orders recorded", most, streams, lanes, lanes*each/2)
	}
	for lane := range lanes {
		var orders []string
		for i := range each {
			orders = append(orders, fmt.Sprintf("o-%d-%d", lane, i))
		}
		log.record(lane, 1, each, orders...)
	}
	all.Wait()
	for i, ok := range told {
		if !ok {
			t.Fatalf("waiter %d was not told", i)
		}
	}
}

func TestNobodyAsksTheLogWhileNobodyWaits(t *testing.T) {
	log := newPlacedLog()
	p := watching(t, log, PlacedOptions{Poll: time.Millisecond, Budget: longBudget})
	log.record(3, 1, 1, "o")
	if _, ok := p.Wait(context.Background(), 3, "o", domain.EntryID{Epoch: 1, N: 1}); !ok {
		t.Fatal("a recorded order was not told")
	}
	// The watcher may be in its last look; afterwards the count stands.
	last, same := -1, 0
	until(t, func() bool {
		asked, _, _ := log.seen()
		if same++; asked != last {
			last, same = asked, 0
		}
		pause(context.Background(), 5*time.Millisecond)
		return same == 20
	})
	if last > 50 {
		t.Errorf("%d questions for one who waited for nothing", last)
	}
}

func TestAWaitEndsWithItsDeadlineAlsoWhileTheLogHangs(t *testing.T) {
	log := newPlacedLog()
	log.hang = make(chan struct{})
	p := watching(t, log, PlacedOptions{Budget: longBudget})
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancel()
	if state, ok := p.Wait(ctx, 0, "o", domain.EntryID{Epoch: 1, N: 1}); ok {
		t.Errorf("told %+v by a log that hangs", state)
	}
	if left := p.Waiting(); left != 0 {
		t.Errorf("%d wait on, want none", left)
	}
	close(log.hang)
}

func TestACallerWhoHangsUpIsStillWaitedFor(t *testing.T) {
	log := newPlacedLog()
	p := watching(t, log, PlacedOptions{Budget: longBudget})
	ctx, hangUp := context.WithCancel(context.Background())
	var state eventstore.StreamState
	var ok bool
	var waiting sync.WaitGroup
	waiting.Go(func() { state, ok = p.Wait(ctx, 0, "o", domain.EntryID{Epoch: 1, N: 1}) })
	until(t, func() bool { return p.Waiting() == 1 })
	hangUp()
	log.record(0, 1, 1, "o")
	waiting.Wait()
	if !ok || state.Type != "order.placed" {
		t.Errorf("got %+v, %t; want the order placed", state, ok)
	}
}

func TestAnOrderOfAnEpochThatIsOverIsToldByItsStream(t *testing.T) {
	log := newPlacedLog()
	p := watching(t, log, PlacedOptions{Budget: longBudget})
	var waiting sync.WaitGroup
	var ok bool
	waiting.Go(func() { _, ok = p.Wait(context.Background(), 0, "o", domain.EntryID{Epoch: 1, N: 7}) })
	until(t, func() bool { return p.Waiting() == 1 })
	log.record(0, 2, 0) // a recovery raised the epoch and has recorded nothing yet
	until(t, func() bool { _, streams, _ := log.seen(); return streams > 0 })
	log.record(0, 2, 0, "o")
	waiting.Wait()
	if !ok {
		t.Error("the order that the recovery recorded was not told")
	}
}

func TestWhatThisProcessRecordedIsHeardWithoutAsking(t *testing.T) {
	log := newPlacedLog()
	log.away = true
	p := watching(t, log, PlacedOptions{Budget: longBudget})
	var state eventstore.StreamState
	var waiting sync.WaitGroup
	waiting.Go(func() { state, _ = p.Wait(context.Background(), 0, "o", domain.EntryID{Epoch: 1, N: 1}) })
	until(t, func() bool { return p.Waiting() == 1 })
	p.Heard([]eventstore.Record{
		{Stream: "stock-s-item-0", Version: 9, Type: "stock.reserved", OrderID: "o"},
		{Stream: domain.OrderStream("o"), Version: 1, Type: "order.rejected", OrderID: "o"},
	})
	waiting.Wait()
	if state.Type != "order.rejected" || state.Version != 1 {
		t.Errorf("told %+v, want the rejection in version 1", state)
	}
}

func TestMoreThanTheMostDoNotWaitAndNobodyWaitsWithoutAWatcher(t *testing.T) {
	log := newPlacedLog()
	p := watching(t, log, PlacedOptions{Budget: longBudget, Most: 1})
	var waiting sync.WaitGroup
	waiting.Go(func() { p.Wait(context.Background(), 0, "first", domain.EntryID{Epoch: 1, N: 1}) })
	until(t, func() bool { return p.Waiting() == 1 })
	if _, ok := p.Wait(context.Background(), 0, "second", domain.EntryID{Epoch: 1, N: 1}); ok {
		t.Error("the second was told something")
	}
	log.record(0, 1, 1, "first")
	waiting.Wait()
	idle := NewPlaced(&Env{Log: slog.New(slog.NewTextHandler(io.Discard, nil))}, log, PlacedOptions{Budget: longBudget})
	if _, ok := idle.Wait(context.Background(), 0, "third", domain.EntryID{Epoch: 1, N: 1}); ok {
		t.Error("told without a watcher")
	}
}
