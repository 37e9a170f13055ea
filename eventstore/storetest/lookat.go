package storetest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/eventstore"
)

// looksWithoutTheLock compares a look with what a decide function sees of the same.
func looksWithoutTheLock(t *testing.T, s eventstore.Store) {
	key := eventstore.ClaimKey{SaleID: "s1", BuyerID: "b1"}
	claim := eventstore.Claim{SaleID: "s1", BuyerID: "b1", Ordinal: 1, OrderID: "o1", Quantity: 2, Live: true, Key: "k", BodyHash: "h"}
	stored := MustSubmit(t, s, Always(&eventstore.Group{
		Appends: []eventstore.Append{To("stock-x", 0, NewEvents("stock.reserved", 2)...)},
		Guards:  []eventstore.Guard{{Stream: "stock-x", Released: 10, Reserved: 3}},
		Claims:  []eventstore.Claim{claim},
		Cursors: []eventstore.Cursor{{Lane: 3, Epoch: 2, N: 1, Digest: "d"}},
	}), eventstore.Stored)
	n := eventstore.Needs{Streams: []string{"stock-x", "order-none"}, Guards: []string{"stock-x"}, Claims: []eventstore.ClaimKey{key}, Lanes: []int{3, 4}}
	type seen struct {
		Stream, None eventstore.StreamState
		Guard        eventstore.Guard
		Claims       []eventstore.Claim
		Cursor, Zero eventstore.Cursor
	}
	read := func(l eventstore.Look) seen {
		return seen{l.Stream("stock-x"), l.Stream("order-none"), l.Guard("stock-x"), l.Claims(key), l.Cursor(3), l.Cursor(4)}
	}
	var want seen
	MustSubmit(t, s, eventstore.Work{Needs: n, Decide: func(l eventstore.Look) (*eventstore.Group, error) {
		want = read(l)
		return nil, nil
	}}, eventstore.Nothing)
	for range 2 { // the second one knows where the first saw the log end
		look, err := s.LookAt(within(t), n)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, read(look)); diff != "" || want.Stream.Version != 2 || len(want.Claims) != 1 {
			t.Errorf("a look without the lock (-under it +got):\n%s", diff)
		}
		if last := stored.Records[1].RecordedAt; look.Now().Before(last) {
			t.Errorf("its clock is %s, before the last record's %s", look.Now(), last)
		}
		if !panics(func() { look.Stream("order-other") }) {
			t.Error("looking at what was not named: want a panic")
		}
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}
