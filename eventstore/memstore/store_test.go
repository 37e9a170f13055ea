package memstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"seckill/eventstore"
	"seckill/eventstore/memstore"
	"seckill/eventstore/storetest"
)

func TestTheStoreInMemoryKeepsTheContractOfAnEventStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) eventstore.Store { return memstore.New(time.Now) })
}

func TestARestoredStoreIsTheOneOfThenAndGrowsFromThere(t *testing.T) {
	s := memstore.New(time.Now)
	take := func(units int64) eventstore.Work {
		return storetest.Always(&eventstore.Group{
			Appends: []eventstore.Append{storetest.To("stock-x", eventstore.AnyVersion, storetest.NewEvent("stock.reserved"))},
			Guards:  []eventstore.Guard{{Stream: "stock-x", Released: 9, Reserved: units}},
			Claims:  []eventstore.Claim{{SaleID: "s", BuyerID: "b", Ordinal: 1, OrderID: "o", Quantity: units}},
			Cursors: []eventstore.Cursor{{Lane: 1, Epoch: 1, N: units}},
		})
	}
	storetest.MustSubmit(t, s, take(1), eventstore.Stored)
	then := s.Snapshot()
	before := storetest.ReadAll(t, s)
	storetest.MustSubmit(t, s, take(2), eventstore.Stored)
	s.Restore(then)
	storetest.MustSubmit(t, s, take(3), eventstore.Stored) // the copy must not know it
	s.Restore(then)
	if got := storetest.ReadAll(t, s); len(got) != 1 || got[0].Hash != before[0].Hash {
		t.Fatalf("got %d records, want the one of then", len(got))
	}
	look, err := s.LookAt(t.Context(), eventstore.Needs{
		Guards: []string{"stock-x"}, Claims: []eventstore.ClaimKey{{SaleID: "s", BuyerID: "b"}}, Lanes: []int{1},
	})
	if err != nil {
		t.Fatal(err)
	}
	g, c, n := look.Guard("stock-x"), look.Claims(eventstore.ClaimKey{SaleID: "s", BuyerID: "b"}), look.Cursor(1).N
	if g.Reserved != 1 || g.Version != 1 || len(c) != 1 || c[0].Quantity != 1 || n != 1 {
		t.Errorf("got guard %+v, claims %+v, cursor %d, want those of then", g, c, n)
	}
}

func TestAReadThatWasGivenUpSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := memstore.New(time.Now).ReadAll(ctx, 0, 1); !errors.Is(err, eventstore.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the store is not available, for its caller had gone", err)
	}
}
