package storetest

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/eventstore"
)

func guardsFollowStreams(t *testing.T, s eventstore.Store) {
	take := eventstore.Work{
		Needs: eventstore.Needs{Streams: []string{"stock-x"}, Guards: []string{"stock-x"}},
		Decide: func(l eventstore.Look) (*eventstore.Group, error) {
			g := l.Guard("stock-x")
			if g.Stream != "stock-x" || g.Version != l.Stream("stock-x").Version {
				t.Errorf("guard: got %+v beside stream version %d", g, l.Stream("stock-x").Version)
			}
			g.Released += 10
			g.Reserved += 3
			return &eventstore.Group{
				Appends: []eventstore.Append{To("stock-x", eventstore.AnyVersion, NewEvents("stock.reserved", 2)...)},
				Guards:  []eventstore.Guard{g},
			}, nil
		},
	}
	MustSubmit(t, s, take, eventstore.Stored)
	MustSubmit(t, s, take, eventstore.Stored)
	got, err := s.Guards(within(t), []string{"stock-y", "stock-x"})
	if err != nil {
		t.Fatal(err)
	}
	want := []eventstore.Guard{{Stream: "stock-y"}, {Stream: "stock-x", Version: 4, Released: 20, Reserved: 6}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("guards (-want +got):\n%s", diff)
	}
	if got[1].Left() != 14 {
		t.Errorf("left: got %d, want 14", got[1].Left())
	}
}

func guardsDefendZero(t *testing.T, s eventstore.Store) {
	bad := Always(&eventstore.Group{
		Appends: []eventstore.Append{To("stock-x", 0, NewEvent("stock.reserved"))},
		Guards:  []eventstore.Guard{{Stream: "stock-x", Released: 1, Reserved: 2}},
	})
	good := Plain(To("order-a", 0, NewEvent("order.placed")))
	errs := together(t, s, bad, good)
	if !errors.Is(errs[0], eventstore.ErrData) {
		t.Errorf("guard below zero: got %v, want ErrData", errs[0])
	}
	if errs[1] != nil {
		t.Errorf("neighbour: got %v, want none", errs[1])
	}
	if n := len(ReadAll(t, s)); n != 1 {
		t.Errorf("got %d records, want the neighbour's alone", n)
	}
}

func guardsDefendTheOverdraft(t *testing.T, s eventstore.Store) {
	take := func(reserved, overdraft int64) *eventstore.Group {
		return &eventstore.Group{
			Appends: []eventstore.Append{To("stock-x", eventstore.AnyVersion, NewEvent("stock.reserved"))},
			Guards:  []eventstore.Guard{{Stream: "stock-x", Released: 1, Reserved: reserved, Overdraft: overdraft}},
		}
	}
	MustSubmit(t, s, Always(take(3, 2)), eventstore.Stored)
	if _, err := s.Submit(within(t), Always(take(4, 2))); !errors.Is(err, eventstore.ErrData) {
		t.Errorf("a guard below its overdraft: got %v, want ErrData", err)
	}
	if _, err := s.Submit(within(t), Always(take(3, -1))); !errors.Is(err, eventstore.ErrData) {
		t.Errorf("an overdraft below zero: got %v, want ErrData", err)
	}
	got, err := s.Guards(within(t), []string{"stock-x"})
	want := []eventstore.Guard{{Stream: "stock-x", Version: 1, Released: 1, Reserved: 3, Overdraft: 2}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("guards (-want +got):\n%s (%v)", diff, err)
	}
}

// together submits works at the same time and gives the error of each.
func together(t *testing.T, s eventstore.Appender, works ...eventstore.Work) []error {
	t.Helper()
	ctx := within(t)
	errs := make([]error, len(works))
	var todo sync.WaitGroup
	for i, w := range works {
		todo.Go(func() { _, errs[i] = s.Submit(ctx, w) })
	}
	todo.Wait()
	return errs
}

func claimsAreKept(t *testing.T, s eventstore.Store) {
	key := eventstore.ClaimKey{SaleID: "s", BuyerID: "b"}
	first := eventstore.Claim{SaleID: "s", BuyerID: "b", Ordinal: 1, OrderID: "o1", Quantity: 2, Live: true, Key: "k", BodyHash: "h"}
	second := eventstore.Claim{SaleID: "s", BuyerID: "b", Ordinal: 2, OrderID: "o2", Quantity: 1, Live: true}
	other := eventstore.Claim{SaleID: "s", BuyerID: "c", Ordinal: 1, OrderID: "o3", Quantity: 1, Live: true}
	MustSubmit(t, s, Always(&eventstore.Group{Claims: []eventstore.Claim{second, first, other}}), eventstore.Stored)
	gone := first
	gone.Live = false
	var saw []eventstore.Claim
	MustSubmit(t, s, eventstore.Work{
		Needs: eventstore.Needs{Claims: []eventstore.ClaimKey{key}},
		Decide: func(l eventstore.Look) (*eventstore.Group, error) {
			saw = l.Claims(key)
			return &eventstore.Group{Claims: []eventstore.Claim{gone}}, nil
		},
	}, eventstore.Stored)
	if diff := cmp.Diff([]eventstore.Claim{first, second}, saw); diff != "" {
		t.Errorf("claims under the lock (-want +got):\n%s", diff)
	}
	got, err := s.ClaimsOf(within(t), key)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]eventstore.Claim{gone, second}, got); diff != "" {
		t.Errorf("claims afterwards (-want +got):\n%s", diff)
	}
}

func claimsAreTakenAway(t *testing.T, s eventstore.Store) {
	key := eventstore.ClaimKey{SaleID: "s", BuyerID: "b"}
	claim := func(ordinal int, order string) eventstore.Claim {
		return eventstore.Claim{SaleID: "s", BuyerID: "b", Ordinal: ordinal, OrderID: order, Quantity: int64(len(order)), Live: order != ""}
	}
	MustSubmit(t, s, Always(&eventstore.Group{Claims: []eventstore.Claim{claim(1, "o1"), claim(2, "o2"), claim(3, "o3")}}), eventstore.Stored)
	MustSubmit(t, s, Always(&eventstore.Group{Claims: []eventstore.Claim{claim(1, "o2"), claim(2, ""), claim(3, ""), claim(4, "")}}), eventstore.Stored)
	var saw []eventstore.Claim
	MustSubmit(t, s, eventstore.Work{
		Needs: eventstore.Needs{Claims: []eventstore.ClaimKey{key}},
		Decide: func(l eventstore.Look) (*eventstore.Group, error) {
			saw = l.Claims(key)
			return nil, nil
		},
	}, eventstore.Nothing)
	got, err := s.ClaimsOf(within(t), key)
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]eventstore.Claim{saw, got} {
		if diff := cmp.Diff([]eventstore.Claim{claim(1, "o2")}, list); diff != "" {
			t.Errorf("claims afterwards (-want +got):\n%s", diff)
		}
	}
	MustSubmit(t, s, Always(&eventstore.Group{Claims: []eventstore.Claim{claim(1, "")}}), eventstore.Stored)
	MustSubmit(t, s, Always(&eventstore.Group{Claims: []eventstore.Claim{claim(1, "o9")}}), eventstore.Stored)
	if got, err = s.ClaimsOf(within(t), key); err != nil || len(got) != 1 || got[0].OrderID != "o9" {
		t.Errorf("a claim where one was taken away: got %v, %v", got, err)
	}
}

func setCursor(c eventstore.Cursor) eventstore.Work {
	return eventstore.Work{Decide: func(eventstore.Look) (*eventstore.Group, error) {
		return &eventstore.Group{Cursors: []eventstore.Cursor{c}}, nil
	}}
}

func cursorsMoveForward(t *testing.T, s eventstore.Store) {
	MustSubmit(t, s, setCursor(eventstore.Cursor{Lane: 3, Epoch: 1, N: 50, Digest: "aa"}), eventstore.Stored)
	MustSubmit(t, s, setCursor(eventstore.Cursor{Lane: 3, Epoch: 2, N: 0, Digest: "bb"}), eventstore.Stored)
	for _, back := range []eventstore.Cursor{{Lane: 3, Epoch: 1, N: 51}, {Lane: 3, Epoch: 1, N: 50}} {
		if _, err := s.Submit(within(t), setCursor(back)); !errors.Is(err, eventstore.ErrData) {
			t.Errorf("moving back to %+v: got %v, want ErrData", back, err)
		}
	}
	MustSubmit(t, s, setCursor(eventstore.Cursor{Lane: 3, Epoch: 2, N: 9, Digest: "cc"}), eventstore.Stored)
	got, err := s.Cursors(within(t), []int{4, 3})
	if err != nil {
		t.Fatal(err)
	}
	want := []eventstore.Cursor{{Lane: 4}, {Lane: 3, Epoch: 2, N: 9, Digest: "cc"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cursors (-want +got):\n%s", diff)
	}
}

func cursorAlone(t *testing.T, s eventstore.Store) {
	want := eventstore.Cursor{Lane: 0, Epoch: 1, N: 7, Digest: "d"}
	if r := MustSubmit(t, s, setCursor(want), eventstore.Stored); len(r.Records) != 0 {
		t.Errorf("got records %v, want none", r.Records)
	}
	var saw eventstore.Cursor
	MustSubmit(t, s, eventstore.Work{
		Needs:  eventstore.Needs{Lanes: []int{0}},
		Decide: func(l eventstore.Look) (*eventstore.Group, error) { saw = l.Cursor(0); return nil, nil },
	}, eventstore.Nothing)
	if saw != want {
		t.Errorf("under the lock: got %+v, want %+v", saw, want)
	}
}

// cursorWithItsEvents: events that were read again stand already, and so do their guard
// and their claim; that they are recorded is what the cursor says, and it goes on.
func cursorWithItsEvents(t *testing.T, s eventstore.Store) {
	move := []eventstore.Append{To("stock-x", eventstore.AnyVersion, NewEvent("stock.moved_out")), To("stock-y", eventstore.AnyVersion, NewEvent("stock.moved_in"))}
	group := func(n, reserved int64) *eventstore.Group {
		return &eventstore.Group{
			Appends: move,
			Guards:  []eventstore.Guard{{Stream: "stock-x", Released: 9, Reserved: reserved}},
			Claims:  []eventstore.Claim{{SaleID: "s", BuyerID: "b", Ordinal: 1, OrderID: "o", Quantity: reserved, Live: true}},
			Cursors: []eventstore.Cursor{{Lane: 6, Epoch: 1, N: n, Digest: "d"}},
		}
	}
	want := func(n int64) {
		t.Helper()
		cursors, err := s.Cursors(within(t), []int{6})
		if want := (eventstore.Cursor{Lane: 6, Epoch: 1, N: n, Digest: "d"}); err != nil || cursors[0] != want {
			t.Errorf("cursor: got %+v, %v, want %+v", cursors, err, want)
		}
		guards, err := s.Guards(within(t), []string{"stock-x"})
		if want := (eventstore.Guard{Stream: "stock-x", Version: 1, Released: 9, Reserved: 2}); err != nil || guards[0] != want {
			t.Errorf("guard: got %+v, %v, want the first %+v", guards, err, want)
		}
		claims, err := s.ClaimsOf(within(t), eventstore.ClaimKey{SaleID: "s", BuyerID: "b"})
		if err != nil || len(claims) != 1 || claims[0].Quantity != 2 {
			t.Errorf("claims: got %+v, %v, want the first, of 2 units", claims, err)
		}
	}
	stored := MustSubmit(t, s, Always(group(1, 2)), eventstore.Stored)
	want(1)
	again := MustSubmit(t, s, Always(group(2, 4)), eventstore.AlreadyThere)
	want(2)
	if diff := cmp.Diff(stored.Records, again.Records); diff != "" {
		t.Errorf("records of the repeat (-first +again):\n%s", diff)
	}
	half := group(3, 4)
	half.Appends = []eventstore.Append{move[0], To("stock-z", 0, NewEvent("stock.moved_in"))}
	MustSubmit(t, s, Always(half), eventstore.Conflict)
	want(2)
	if n := len(ReadAll(t, s)); n != 2 {
		t.Errorf("got %d records, want 2", n)
	}
}

func dataFailsAlone(t *testing.T, s eventstore.Store) {
	poison := NewEvent("order.placed")
	poison.OrderID = "a\x00b"
	badName := Plain(To("order-\xff", 0, NewEvent("order.placed")))
	works := []eventstore.Work{Plain(To("order-bad", 0, poison)), badName}
	for i := range 20 {
		works = append(works, Plain(To("order-"+string(rune('a'+i)), 0, NewEvent("order.placed"))))
	}
	for i, err := range together(t, s, works...) {
		if i < 2 && !errors.Is(err, eventstore.ErrData) {
			t.Errorf("work %d with bad bytes: got %v, want ErrData", i, err)
		}
		if i >= 2 && err != nil {
			t.Errorf("neighbour %d: got %v, want none", i, err)
		}
	}
	if n := len(ReadAll(t, s)); n != 20 {
		t.Errorf("got %d records, want the 20 neighbours", n)
	}
}

func schemaRange(t *testing.T, s eventstore.Store) {
	for _, schema := range []int{0, -1, 1 << 40} {
		e := NewEvent("order.placed")
		e.Schema = schema
		if _, err := s.Submit(within(t), Plain(To("order-a", 0, e))); !errors.Is(err, eventstore.ErrData) {
			t.Errorf("schema %d: got %v, want ErrData", schema, err)
		}
	}
}
