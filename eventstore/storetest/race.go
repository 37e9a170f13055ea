package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/eventstore"
)

// eightWritersOneStream is B27: each writer appends at the version it believes
// in, loses now and then, looks again and goes on.
func eightWritersOneStream(t *testing.T, s eventstore.Store) {
	const writers, each, perAppend, stream = 8, 125, 10, "order-hot"
	ctx := within(t)
	var conflicts atomic.Int64
	write := func() error {
		believed := int64(0)
		for done := 0; done < each; {
			r, err := s.Submit(ctx, Plain(To(stream, believed, NewEvents("order.placed", perAppend)...)))
			if err != nil {
				return err
			}
			if r.Outcome == eventstore.Stored {
				believed, done = r.Records[perAppend-1].Version, done+1
				continue
			}
			conflicts.Add(1)
			states, err := s.States(ctx, []string{stream})
			if err != nil {
				return err
			}
			believed = states[0].Version
		}
		return nil
	}
	race(t, writers, write)
	all := ReadAll(t, s)
	if len(all) != writers*each*perAppend {
		t.Errorf("got %d events, want %d", len(all), writers*each*perAppend)
	}
	if conflicts.Load() == 0 {
		t.Error("nobody lost a race: this test has shown nothing")
	}
}

// race runs n goroutines and reports their errors.
func race(t *testing.T, n int, run func() error) {
	t.Helper()
	errs := make([]error, n)
	start := make(chan struct{})
	var todo sync.WaitGroup
	for i := range n {
		todo.Go(func() { <-start; errs[i] = run() })
	}
	close(start)
	todo.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// tailSkipsNothing is B51: a reader that asks for what comes after the last
// record it saw meets every record, in the one order there is.
func tailSkipsNothing(t *testing.T, s eventstore.Store) {
	const writers, each = 8, 100
	ctx := within(t)
	tailed := make(chan error, 1)
	go func() { tailed <- tail(ctx, s, writers*each*2) }()
	var number atomic.Int64
	race(t, writers, func() error {
		for range each {
			n := number.Add(1)
			_, err := s.Submit(ctx, Plain(
				To(fmt.Sprintf("order-%d", n), 0, NewEvent("order.placed")),
				To(fmt.Sprintf("stock-%d", n%3), eventstore.AnyVersion, NewEvent("stock.reserved"))))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err := <-tailed; err != nil {
		t.Error(err)
	}
}

func tail(ctx context.Context, s eventstore.Reader, until int) error {
	check := newChecker()
	for check.last.Position < int64(until) {
		page, err := s.ReadAll(ctx, check.last.Position, 100)
		if err != nil {
			return fmt.Errorf("tail after %d: %w", check.last.Position, err)
		}
		for i := range page {
			if err := check.next(&page[i]); err != nil {
				return fmt.Errorf("tailing reader: %w", err)
			}
		}
	}
	return nil
}

// hotStream is B59: many small reservations on one stock stream.
func hotStream(t *testing.T, s eventstore.Store) {
	const buyers, each, stream = 50, 40, "stock-hot"
	MustSubmit(t, s, Always(&eventstore.Group{
		Appends: []eventstore.Append{To(stream, 0, NewEvent("stock.released"))},
		Guards:  []eventstore.Guard{{Stream: stream, Released: buyers * each}},
	}), eventstore.Stored)
	var mu sync.Mutex
	var took []time.Duration
	ctx := within(t)
	race(t, buyers, func() error {
		for range each {
			began := time.Now()
			r, err := s.Submit(ctx, reserveOne(stream))
			if err != nil {
				return err
			}
			if r.Outcome != eventstore.Stored {
				return fmt.Errorf("reservation: got outcome %d, want stored", r.Outcome)
			}
			mu.Lock()
			took = append(took, time.Since(began))
			mu.Unlock()
		}
		return nil
	})
	slices.Sort(took)
	if p99 := took[len(took)*99/100]; p99 > 2*time.Second {
		t.Errorf("p99 of a reservation: got %s, want at most 2s", p99)
	}
	if n := len(ReadAll(t, s)); n != 1+buyers*each {
		t.Errorf("got %d events, want %d", n, 1+buyers*each)
	}
	guards, err := s.Guards(ctx, []string{stream})
	if err != nil || guards[0].Left() != 0 {
		t.Errorf("guard: got %+v, %v, want nothing left", guards, err)
	}
}

var errSoldOut = errors.New("sold out")

// reserveOne takes one unit if the guard has one.
func reserveOne(stream string) eventstore.Work {
	event := NewEvent("stock.reserved")
	return eventstore.Work{
		Needs: eventstore.Needs{Streams: []string{stream}, Guards: []string{stream}},
		Decide: func(l eventstore.Look) (*eventstore.Group, error) {
			g := l.Guard(stream)
			if g.Left() < 1 {
				return nil, errSoldOut
			}
			g.Reserved++
			return &eventstore.Group{
				Appends: []eventstore.Append{To(stream, l.Stream(stream).Version, event)},
				Guards:  []eventstore.Guard{g},
			}, nil
		},
	}
}

func lastUnit(t *testing.T, s eventstore.Store) {
	const stream = "stock-last"
	MustSubmit(t, s, Always(&eventstore.Group{
		Appends: []eventstore.Append{To(stream, 0, NewEvent("stock.released"))},
		Guards:  []eventstore.Guard{{Stream: stream, Released: 1}},
	}), eventstore.Stored)
	ctx := within(t)
	var won, soldOut atomic.Int64
	race(t, 100, func() error {
		r, err := s.Submit(ctx, reserveOne(stream))
		switch {
		case errors.Is(err, errSoldOut):
			soldOut.Add(1)
			return nil
		case err == nil && r.Outcome == eventstore.Stored:
			won.Add(1)
		}
		return err
	})
	if won.Load() != 1 || soldOut.Load() != 99 {
		t.Errorf("got %d winners and %d sold out, want 1 and 99", won.Load(), soldOut.Load())
	}
}

func oneRecorderMoves(t *testing.T, s eventstore.Store) {
	ctx := within(t)
	errMoved := errors.New("somebody else moved the cursor")
	var moved atomic.Int64
	for step := range int64(10) {
		race(t, 8, func() error {
			r, err := s.Submit(ctx, eventstore.Work{
				Needs: eventstore.Needs{Lanes: []int{5}},
				Decide: func(l eventstore.Look) (*eventstore.Group, error) {
					if l.Cursor(5).N != step {
						return nil, errMoved
					}
					return &eventstore.Group{
						Appends: []eventstore.Append{To("stock-x", eventstore.AnyVersion, NewEvent("stock.reserved"))},
						Cursors: []eventstore.Cursor{{Lane: 5, Epoch: 1, N: step + 1, Digest: "d"}},
					}, nil
				},
			})
			if errors.Is(err, errMoved) {
				return nil
			}
			if r.Outcome == eventstore.Stored {
				moved.Add(1)
			}
			return err
		})
	}
	if moved.Load() != 10 {
		t.Errorf("the cursor was moved %d times, want 10", moved.Load())
	}
	if n := len(ReadAll(t, s)); n != 10 {
		t.Errorf("got %d events, want 10", n)
	}
}

func sameEventsRace(t *testing.T, s eventstore.Store) {
	ctx := within(t)
	for i := range 5 {
		same := Plain(
			To(fmt.Sprintf("order-%d", i), 0, NewEvents("order.placed", 2)...),
			To("stock-x", eventstore.AnyVersion, NewEvent("stock.reserved")))
		var stored, there atomic.Int64
		race(t, 20, func() error {
			r, err := s.Submit(ctx, same)
			switch r.Outcome {
			case eventstore.Stored:
				stored.Add(1)
			case eventstore.AlreadyThere:
				there.Add(1)
			}
			return err
		})
		if stored.Load() != 1 || there.Load() != 19 {
			t.Errorf("round %d: stored %d times and already there %d times, want 1 and 19", i, stored.Load(), there.Load())
		}
	}
	if n := len(ReadAll(t, s)); n != 15 {
		t.Errorf("got %d events, want 15", n)
	}
}
