package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/eventstore"
)

func appendsAreChained(t *testing.T, s eventstore.Store) {
	first := MustSubmit(t, s, Plain(To("order-a", 0, NewEvents("order.placed", 2)...)), eventstore.Stored)
	second := MustSubmit(t, s, Plain(To("order-a", 2, NewEvent("order.paid"))), eventstore.Stored)
	stored := ReadAll(t, s)
	if diff := cmp.Diff(append(first.Records, second.Records...), stored); diff != "" {
		t.Errorf("receipts and log differ (-receipts +log):\n%s", diff)
	}
	if len(stored) != 3 || stored[2].Version != 3 || stored[2].Type != "order.paid" {
		t.Errorf("got %d records ending in %+v, want three ending in version 3", len(stored), stored[len(stored)-1])
	}
	states, err := s.States(within(t), []string{"order-none", "order-a"})
	if err != nil {
		t.Fatal(err)
	}
	want := []eventstore.StreamState{{}, {Version: 3, Type: "order.paid", Hash: stored[2].Hash}}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if head, err := s.Head(within(t)); err != nil || head != stored[2].Head() {
		t.Errorf("head: got %s, %v, want %s", head, err, stored[2].Head())
	}
}

func groupsSpanStreams(t *testing.T, s eventstore.Store) {
	r := MustSubmit(t, s, Plain(
		To("order-a", 0, NewEvent("order.placed")),
		To("stock-x", eventstore.AnyVersion, NewEvent("stock.reserved")),
		To("order-a", 1, NewEvent("order.paid")),
	), eventstore.Stored)
	var got []string
	for _, rec := range r.Records {
		got = append(got, rec.Stream+" "+rec.Type)
	}
	want := "order-a order.placed, stock-x stock.reserved, order-a order.paid"
	if strings.Join(got, ", ") != want {
		t.Errorf("receipt: got %s, want %s", strings.Join(got, ", "), want)
	}
	if n := len(ReadAll(t, s)); n != 3 {
		t.Errorf("got %d records, want 3", n)
	}
}

func groupsAreWhole(t *testing.T, s eventstore.Store) {
	MustSubmit(t, s, Plain(To("order-b", 0, NewEvent("order.placed"))), eventstore.Stored)
	MustSubmit(t, s, Always(&eventstore.Group{
		Appends: []eventstore.Append{
			To("order-a", 0, NewEvent("order.placed")),
			To("order-b", 0, NewEvent("order.placed")),
		},
		Claims:  []eventstore.Claim{{SaleID: "s", BuyerID: "b", Ordinal: 1, OrderID: "a"}},
		Guards:  []eventstore.Guard{{Stream: "order-a", Released: 1}},
		Cursors: []eventstore.Cursor{{Lane: 1, Epoch: 1, N: 1}},
	}), eventstore.Conflict)
	if n := len(ReadAll(t, s)); n != 1 {
		t.Errorf("got %d records, want only the first", n)
	}
	claims, err := s.ClaimsOf(within(t), eventstore.ClaimKey{SaleID: "s", BuyerID: "b"})
	if err != nil || len(claims) != 0 {
		t.Errorf("claims of a refused group: got %v, %v, want none", claims, err)
	}
	guards, err := s.Guards(within(t), []string{"order-a"})
	if want := (eventstore.Guard{Stream: "order-a"}); err != nil || guards[0] != want {
		t.Errorf("guard of a refused group: got %v, %v, want %v", guards, err, want)
	}
	cursors, err := s.Cursors(within(t), []int{1})
	if want := (eventstore.Cursor{Lane: 1}); err != nil || cursors[0] != want {
		t.Errorf("cursor of a refused group: got %v, %v, want %v", cursors, err, want)
	}
}

func wrongVersionConflicts(t *testing.T, s eventstore.Store) {
	MustSubmit(t, s, Plain(To("order-a", 0, NewEvent("order.placed"))), eventstore.Stored)
	for _, expected := range []int64{0, 2, 100} {
		if r := MustSubmit(t, s, Plain(To("order-a", expected, NewEvent("order.paid"))), eventstore.Conflict); len(r.Records) != 0 {
			t.Errorf("conflict at %d: got records %v, want none", expected, r.Records)
		}
	}
	MustSubmit(t, s, Plain(To("order-a", eventstore.AnyVersion, NewEvent("order.paid"))), eventstore.Stored)
	// The stream is not named in Needs: it must be judged all the same.
	unnamed := Plain(To("order-a", 0, NewEvent("order.paid")))
	unnamed.Needs = eventstore.Needs{}
	MustSubmit(t, s, unnamed, eventstore.Conflict)
	if n := len(ReadAll(t, s)); n != 2 {
		t.Errorf("got %d records, want 2", n)
	}
}

func repeatsAreRecognised(t *testing.T, s eventstore.Store) {
	w := Plain(To("order-a", 0, NewEvents("order.placed", 2)...), To("order-b", 0, NewEvent("order.placed")))
	stored := MustSubmit(t, s, w, eventstore.Stored)
	MustSubmit(t, s, Plain(To("order-a", 2, NewEvent("order.paid"))), eventstore.Stored)
	again := MustSubmit(t, s, w, eventstore.AlreadyThere)
	if diff := cmp.Diff(stored.Records, again.Records); diff != "" {
		t.Errorf("records of the repeat (-first +again):\n%s", diff)
	}
	if n := len(ReadAll(t, s)); n != 4 {
		t.Errorf("got %d records, want 4", n)
	}
}

func repeatsAtAnyVersion(t *testing.T, s eventstore.Store) {
	events := NewEvents("stock.reserved", 3)
	MustSubmit(t, s, Plain(To("stock-x", 0, NewEvent("stock.released"))), eventstore.Stored)
	stored := MustSubmit(t, s, Plain(To("stock-x", eventstore.AnyVersion, events...)), eventstore.Stored)
	MustSubmit(t, s, Plain(To("stock-x", eventstore.AnyVersion, NewEvent("stock.reserved"))), eventstore.Stored)
	again := MustSubmit(t, s, Plain(To("stock-x", eventstore.AnyVersion, events...)), eventstore.AlreadyThere)
	if diff := cmp.Diff(stored.Records, again.Records); diff != "" {
		t.Errorf("records of the repeat (-first +again):\n%s", diff)
	}
}

// anIDOfAnotherStreamConflicts: it is found in the store, and in the same batch.
func anIDOfAnotherStreamConflicts(t *testing.T, s eventstore.Store) {
	paid := NewEvent("order.paid")
	MustSubmit(t, s, Plain(To("order-a", eventstore.AnyVersion, paid)), eventstore.Stored)
	MustSubmit(t, s, Plain(To("order-b", eventstore.AnyVersion, paid)), eventstore.Conflict)
	if n := len(ReadAll(t, s)); n != 1 {
		t.Errorf("got %d records, want 1", n)
	}
	const works = 20
	shared := NewEvent("order.paid")
	outcomes := make(chan eventstore.Outcome, works)
	for n := range works {
		go func() {
			receipt, err := s.Submit(t.Context(), Plain(To(fmt.Sprintf("order-%d", n), eventstore.AnyVersion, shared)))
			if err != nil {
				t.Errorf("submit: %v", err)
			}
			outcomes <- receipt.Outcome
		}()
	}
	stored := 0
	for range works {
		switch got := <-outcomes; got {
		case eventstore.Stored:
			stored++
		case eventstore.Conflict:
		default:
			t.Errorf("got outcome %d, want stored once and conflicts", got)
		}
	}
	if stored != 1 {
		t.Errorf("the id was stored in %d streams, want 1", stored)
	}
}

func halfARepeatConflicts(t *testing.T, s eventstore.Store) {
	placed := NewEvent("order.placed")
	MustSubmit(t, s, Plain(To("order-a", 0, placed)), eventstore.Stored)
	MustSubmit(t, s, Plain(To("order-a", 0, placed), To("order-b", 0, NewEvent("order.placed"))), eventstore.Conflict)
	MustSubmit(t, s, Plain(To("order-a", 0, placed, NewEvent("order.paid"))), eventstore.Conflict)
	MustSubmit(t, s, Plain(To("order-a", eventstore.AnyVersion, placed, NewEvent("order.paid"))), eventstore.Conflict)
	if n := len(ReadAll(t, s)); n != 1 {
		t.Errorf("got %d records, want 1", n)
	}
}

func nothingIsStored(t *testing.T, s eventstore.Store) {
	w := eventstore.Work{Decide: func(eventstore.Look) (*eventstore.Group, error) { return nil, nil }}
	MustSubmit(t, s, w, eventstore.Nothing)
	MustSubmit(t, s, Always(&eventstore.Group{}), eventstore.Nothing)
	if n := len(ReadAll(t, s)); n != 0 {
		t.Errorf("got %d records, want none", n)
	}
}

func decideErrorsComeBack(t *testing.T, s eventstore.Store) {
	mine := errors.New("not today")
	w := eventstore.Work{Decide: func(eventstore.Look) (*eventstore.Group, error) {
		return &eventstore.Group{Appends: []eventstore.Append{To("order-a", 0, NewEvent("order.placed"))}}, mine
	}}
	if _, err := s.Submit(within(t), w); err != mine {
		t.Errorf("got error %v, want the very error of decide", err)
	}
	if n := len(ReadAll(t, s)); n != 0 {
		t.Errorf("got %d records, want none", n)
	}
}

func lookingOutsideNeedsPanics(t *testing.T, s eventstore.Store) {
	looks := map[string]func(eventstore.Look){
		"stream": func(l eventstore.Look) { l.Stream("order-a") },
		"guard":  func(l eventstore.Look) { l.Guard("stock-a") },
		"claims": func(l eventstore.Look) { l.Claims(eventstore.ClaimKey{SaleID: "s", BuyerID: "b"}) },
		"cursor": func(l eventstore.Look) { l.Cursor(7) },
	}
	for name, lookAt := range looks {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("looking at an unnamed %s: got no panic", name)
				}
			}()
			_, _ = s.Submit(within(t), eventstore.Work{Decide: func(l eventstore.Look) (*eventstore.Group, error) {
				lookAt(l)
				return nil, nil
			}})
		}()
	}
	MustSubmit(t, s, Plain(To("order-a", 0, NewEvent("order.placed"))), eventstore.Stored)
}

func endedContextStoresNothing(t *testing.T, s eventstore.Store) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Submit(ctx, Plain(To("order-a", 0, NewEvent("order.placed")))); !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want the context's", err)
	}
	if n := len(ReadAll(t, s)); n != 0 {
		t.Errorf("got %d records, want none", n)
	}
}

func bytesComeBack(t *testing.T, s eventstore.Store) {
	odd := NewEvent("odd")
	odd.Payload, odd.Metadata = []byte{0, 1, 0xff, '"', '\\', '\n'}, nil
	spaced := NewEvent("spaced")
	spaced.Payload, spaced.Metadata = []byte("{ \"b\" : 1.10,\n\"a\":1e3 }"), []byte("[]")
	MustSubmit(t, s, Plain(To("odd-a", 0, odd, spaced)), eventstore.Stored)
	all := ReadAll(t, s)
	if string(all[0].Payload) != string(odd.Payload) || len(all[0].Metadata) != 0 {
		t.Errorf("binary: got %q and %q", all[0].Payload, all[0].Metadata)
	}
	if string(all[1].Payload) != string(spaced.Payload) || string(all[1].Metadata) != "[]" {
		t.Errorf("spaced JSON: got %q and %q", all[1].Payload, all[1].Metadata)
	}
}

func timesAreTheStores(t *testing.T, s eventstore.Store) {
	var saw time.Time
	w := eventstore.Work{Decide: func(l eventstore.Look) (*eventstore.Group, error) {
		saw = l.Now()
		return &eventstore.Group{Appends: []eventstore.Append{To("order-a", 0, NewEvent("order.placed"))}}, nil
	}}
	r := MustSubmit(t, s, w, eventstore.Stored)
	at := r.Records[0].RecordedAt
	if !at.Equal(saw) || !at.Equal(at.Truncate(time.Microsecond)) || at.Location() != time.UTC {
		t.Errorf("recorded at %s, want what decide saw (%s), in whole microseconds of UTC", at, saw)
	}
	if age := time.Since(at); age < -time.Minute || age > time.Minute {
		t.Errorf("recorded at %s, which is %s ago", at, age)
	}
}
