package commands_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/eventstore/memstore"
	"seckill/infra/testenv"
)

// taking is how units leave a bucket that are not bought: two of bucket 0.
type taking struct {
	name  string
	event string
	take  func(*stall) (commands.WithdrawVerdict, error)
	// left is what the buckets have after it.
	left [2]int64
}

func takings() []taking {
	const id, units = "taken-1", 2
	return []taking{
		{"a move", (&domain.StockMovedOut{}).EventType(), func(s *stall) (commands.WithdrawVerdict, error) {
			return s.gate.Move(s.t.Context(), commands.Move{ID: id, Place: s.place, To: 1, SKU: "tea", Quantity: units})
		}, [2]int64{1, 5}},
		{"a withdrawal", (&domain.StockWithdrawn{}).EventType(), func(s *stall) (commands.WithdrawVerdict, error) {
			return s.gate.Withdraw(s.t.Context(), commands.Withdrawal{ID: id, Place: s.place, SKU: "tea", Quantity: units, By: "test"})
		}, [2]int64{1, 3}},
	}
}

// takeOut makes a sale of two buckets of three units, and takes two units out of the
// first: its journal ends with that.
func (k taking) takeOut(t *testing.T) (s *stall, v commands.WithdrawVerdict, before *memstore.Snapshot) {
	t.Helper()
	s = newStallOf(t, 6, 2)
	before = s.store.Snapshot()
	v, err := k.take(s)
	if err != nil || v.Outcome != commands.WithdrawTaken {
		t.Fatalf("%s: got %+v, %v; want the units taken", k.name, v, err)
	}
	return s, v, before
}

// recorded tells how often the log has the event of a taking, and whether the cursor of
// its lane has passed its entry.
func (s *stall) recorded(k taking, v commands.WithdrawVerdict) (events int, passed bool) {
	s.t.Helper()
	records, err := s.store.Find(s.t.Context(), eventstore.Filter{Type: k.event}, 0, 100)
	if err != nil {
		s.t.Fatal(err)
	}
	cursors, err := s.store.Cursors(s.t.Context(), []int{s.place.Lane()})
	if err != nil {
		s.t.Fatal(err)
	}
	return len(records), cursors[0].Epoch > v.Epoch || cursors[0].Epoch == v.Epoch && cursors[0].N >= v.N
}

// awaitPassed waits until the cursor has passed the entry and the log has the event so
// many times.
func (s *stall) awaitPassed(k taking, v commands.WithdrawVerdict, events int) {
	s.t.Helper()
	testenv.Eventually(s.t, 30*time.Second, func() error {
		if got, passed := s.recorded(k, v); got != events || !passed {
			return fmt.Errorf("%s is in the log %d times, want %d; the cursor has passed its entry: %v", k.name, got, events, passed)
		}
		return nil
	})
}

// wantLeft recovers both lanes, and compares what gate and guard have left.
func (s *stall) wantLeft(want [2]int64) {
	s.t.Helper()
	var gate, log [2]int64
	for bucket := range want {
		place := s.place
		place.Bucket = bucket
		if err := s.keeper.RecoverLane(s.t.Context(), place.Lane()); err != nil {
			s.t.Fatal(err)
		}
	}
	for bucket := range want {
		place := s.place
		place.Bucket = bucket
		seen, err := s.gate.Peek(s.t.Context(), place, []string{"tea"})
		if err != nil {
			s.t.Fatal(err)
		}
		guards, err := s.store.Guards(s.t.Context(), []string{domain.StockStream(place.Sale, "tea", bucket)})
		if err != nil {
			s.t.Fatal(err)
		}
		gate[bucket], log[bucket] = seen.Stocks[0].Available, guards[0].Left()
	}
	if gate != want || log != want {
		s.t.Errorf("left in the buckets: gate %v, log %v, want %v", gate, log, want)
	}
}

// watchedLog tells of each work after it was submitted.
type watchedLog struct {
	*memstore.Store
	mu  sync.Mutex
	saw func(eventstore.Receipt)
}

func (l *watchedLog) Submit(ctx context.Context, w eventstore.Work) (eventstore.Receipt, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	receipt, err := l.Store.Submit(ctx, w)
	if err == nil {
		l.saw(receipt)
	}
	return receipt, err
}

// A log that goes back goes back to a state that it had. In none of them does the log
// have the one without the other.
func TestNoStateOfTheLogHasWhatTookUnitsWithoutTheCursorBehindIt(t *testing.T) {
	for _, k := range takings() {
		t.Run(k.name, func(t *testing.T) {
			s, v, _ := k.takeOut(t)
			states := 0
			log := &watchedLog{Store: s.store, saw: func(eventstore.Receipt) {
				states++
				if events, passed := s.recorded(k, v); (events == 1) != passed {
					t.Errorf("after %d works the log has it %d times, and the cursor has passed its entry: %v", states, events, passed)
				}
			}}
			stop := s.recordOn(log)
			s.awaitPassed(k, v, 1)
			stop()
			if states == 0 {
				t.Error("no work was seen")
			}
		})
	}
}

// The log goes back right after it was told of the units, and nothing breaks that the
// recorder would notice: it goes on with what it knew.
func TestWhatTookUnitsIsRecordedAgainWhereTheLogGoesBackRightAfterIt(t *testing.T) {
	for _, k := range takings() {
		t.Run(k.name, func(t *testing.T) {
			s, v, before := k.takeOut(t)
			log := &watchedLog{Store: s.store}
			back := false
			log.saw = func(r eventstore.Receipt) {
				if !back && r.Outcome == eventstore.Stored {
					back = true
					s.store.Restore(before)
				}
			}
			stop := s.recordOn(log)
			s.awaitPassed(k, v, 1)
			stop()
			if !back {
				t.Error("the log did not go back")
			}
			s.wantLeft(k.left)
		})
	}
}

// olderLog records what an older program did: the units in one transaction, the cursor
// in a later one, before which that program died.
type olderLog struct{ *memstore.Store }

func (l olderLog) Submit(ctx context.Context, w eventstore.Work) (eventstore.Receipt, error) {
	decide := w.Decide
	w.Decide = func(look eventstore.Look) (*eventstore.Group, error) {
		group, err := decide(look)
		if group != nil {
			group.Cursors = nil
		}
		return group, err
	}
	return l.Store.Submit(ctx, w)
}

func TestWhatAnOlderProgramRecordedWithoutItsCursorIsPassedAndNotRecordedAgain(t *testing.T) {
	for _, k := range takings() {
		t.Run(k.name, func(t *testing.T) {
			s, v, _ := k.takeOut(t)
			stop := s.recordOn(olderLog{s.store})
			testenv.Eventually(t, 30*time.Second, func() error {
				if events, passed := s.recorded(k, v); events != 1 || passed {
					return fmt.Errorf("recorded %d times, the cursor passed: %v; want it without its cursor", events, passed)
				}
				return nil
			})
			stop()
			s.record()
			s.awaitPassed(k, v, 1)
			s.wantLeft(k.left)
		})
	}
}

// Its books are closed: nothing is recorded, and what comes behind it in the journal
// does not wait for it.
func TestWhatTookUnitsOfASaleThatWasCleanedUpIsPassed(t *testing.T) {
	for _, k := range takings() {
		t.Run(k.name, func(t *testing.T) {
			s, v, _ := k.takeOut(t)
			name, schema, payload, err := domain.Encode(&domain.SaleCleaned{SaleID: s.place.Sale})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.store.Submit(t.Context(), eventstore.Work{Decide: func(eventstore.Look) (*eventstore.Group, error) {
				return &eventstore.Group{Appends: []eventstore.Append{{Stream: domain.SaleStream(s.place.Sale), Expected: eventstore.AnyVersion,
					Events: []eventstore.NewEvent{{ID: uuid.New(), Type: name, Schema: schema, SaleID: s.place.Sale, Payload: payload, Metadata: []byte("{}")}}}}}, nil
			}}); err != nil {
				t.Fatal(err)
			}
			s.record()
			s.awaitPassed(k, v, 0)
		})
	}
}
