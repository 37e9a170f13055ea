package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"seckill/eventstore"
)

// within gives a context for one test step; generous, for slow machines.
func within(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// NewEvent gives an event with an id of its own.
func NewEvent(kind string) eventstore.NewEvent {
	return eventstore.NewEvent{
		ID: uuid.Must(uuid.NewV7()), Type: kind, Schema: 1,
		Payload: []byte(`{"n":1}`), Metadata: []byte(`{}`),
	}
}

// NewEvents gives n events.
func NewEvents(kind string, n int) []eventstore.NewEvent {
	events := make([]eventstore.NewEvent, n)
	for i := range events {
		events[i] = NewEvent(kind)
	}
	return events
}

// To makes an append.
func To(stream string, expected int64, events ...eventstore.NewEvent) eventstore.Append {
	return eventstore.Append{Stream: stream, Expected: expected, Events: events}
}

// Plain makes a work that decides nothing: it always wants these appends.
func Plain(appends ...eventstore.Append) eventstore.Work {
	return Always(&eventstore.Group{Appends: appends})
}

// Always makes a work that wants g, whatever stands in the store.
func Always(g *eventstore.Group) eventstore.Work {
	w := eventstore.Work{Decide: func(eventstore.Look) (*eventstore.Group, error) { return g, nil }}
	for _, a := range g.Appends {
		w.Needs.Streams = append(w.Needs.Streams, a.Stream)
	}
	return w
}

// MustSubmit submits a work and fails the test unless the outcome is want.
func MustSubmit(t testing.TB, s eventstore.Appender, w eventstore.Work, want eventstore.Outcome) eventstore.Receipt {
	t.Helper()
	r, err := s.Submit(within(t), w)
	if err != nil {
		t.Fatalf("submit: got error %v, want outcome %d", err, want)
	}
	if r.Outcome != want {
		t.Fatalf("submit: got outcome %d, want %d", r.Outcome, want)
	}
	return r
}

// ReadAll reads the whole log in pages and checks on the way that positions are
// dense, versions contiguous, times not going back, and every hash the one that
// can be computed from what stands before.
func ReadAll(t testing.TB, s eventstore.Reader) []eventstore.Record {
	t.Helper()
	var all []eventstore.Record
	check := newChecker()
	for {
		page, err := s.ReadAll(within(t), int64(len(all)), 1000)
		if err != nil {
			t.Fatalf("read log after %d: %v", len(all), err)
		}
		if len(page) == 0 {
			return all
		}
		for i := range page {
			if err := check.next(&page[i]); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, page...)
	}
}

// checker follows a log record by record.
type checker struct {
	last     eventstore.Record
	versions map[string]int64
	ids      map[uuid.UUID]int64
}

func newChecker() *checker {
	return &checker{versions: map[string]int64{}, ids: map[uuid.UUID]int64{}}
}

func (c *checker) next(r *eventstore.Record) error {
	if r.Position != c.last.Position+1 {
		return fmt.Errorf("after position %d: got position %d, want %d", c.last.Position, r.Position, c.last.Position+1)
	}
	if want := c.versions[r.Stream] + 1; r.Version != want {
		return fmt.Errorf("position %d of stream %s: got version %d, want %d", r.Position, r.Stream, r.Version, want)
	}
	if at, twice := c.ids[r.ID]; twice {
		return fmt.Errorf("event %s stands at position %d and again at %d", r.ID, at, r.Position)
	}
	if r.RecordedAt.Before(c.last.RecordedAt) {
		return fmt.Errorf("position %d: recorded at %s, before its predecessor at %s", r.Position, r.RecordedAt, c.last.RecordedAt)
	}
	if want := eventstore.ComputeHash(c.last.Hash, r); r.Hash != want {
		return fmt.Errorf("position %d: got hash %s, want %s", r.Position, r.Hash, want)
	}
	c.versions[r.Stream], c.ids[r.ID], c.last = r.Version, r.Position, *r
	return nil
}
