package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"seckill/eventstore"
)

func streamsInPages(t *testing.T, s eventstore.Store) {
	MustSubmit(t, s, Plain(To("order-a", 0, NewEvents("order.placed", 7)...), To("order-b", 0, NewEvent("order.placed"))), eventstore.Stored)
	var got []int64
	for after := int64(0); ; {
		page, err := s.ReadStream(within(t), "order-a", after, 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			got = append(got, r.Version)
		}
		after = page[len(page)-1].Version
	}
	if !slices.Equal(got, []int64{1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("got versions %v, want 1 to 7", got)
	}
	r, ok, err := s.At(within(t), 8)
	if err != nil || !ok || r.Stream != "order-b" {
		t.Errorf("at 8: got %v %v %v, want order-b", r, ok, err)
	}
	if _, ok, err := s.At(within(t), 9); ok || err != nil {
		t.Errorf("at 9: got %v %v, want none", ok, err)
	}
}

func filterFinds(t *testing.T, s eventstore.Store) {
	event := func(kind, sale, order string) eventstore.NewEvent {
		e := NewEvent(kind)
		e.SaleID, e.OrderID = sale, order
		return e
	}
	MustSubmit(t, s, Plain(
		To("sale-1", 0, event("sale.scheduled", "1", "")),
		To("order-a", 0, event("order.placed", "1", "a"), event("order.paid", "1", "a")),
		To("order-b", 0, event("order.placed", "2", "b")),
	), eventstore.Stored)
	all := ReadAll(t, s)
	cases := map[string]struct {
		filter eventstore.Filter
		after  int64
		want   []int64
	}{
		"everything":      {eventstore.Filter{}, 0, []int64{1, 2, 3, 4}},
		"by stream":       {eventstore.Filter{Stream: "order-a"}, 0, []int64{2, 3}},
		"by prefix":       {eventstore.Filter{Prefix: "order-"}, 1, []int64{2, 3, 4}},
		"by sale":         {eventstore.Filter{SaleID: "1"}, 0, []int64{1, 2, 3}},
		"by order":        {eventstore.Filter{OrderID: "a"}, 0, []int64{2, 3}},
		"by type":         {eventstore.Filter{Type: "order.placed"}, 0, []int64{2, 4}},
		"by type, after":  {eventstore.Filter{Type: "order.placed"}, 2, []int64{4}},
		"between":         {eventstore.Filter{From: 2, To: 3}, 0, []int64{2, 3}},
		"from, but later": {eventstore.Filter{From: 2}, 3, []int64{4}},
		"since the first": {eventstore.Filter{Since: all[0].RecordedAt}, 0, []int64{1, 2, 3, 4}},
		"since tomorrow":  {eventstore.Filter{Since: all[3].RecordedAt.Add(24 * time.Hour)}, 0, nil},
		"all at once":     {eventstore.Filter{Stream: "order-a", SaleID: "1", OrderID: "a", Type: "order.paid", From: 1, To: 4}, 0, []int64{3}},
		"nothing":         {eventstore.Filter{SaleID: "3"}, 0, nil},
	}
	for name, c := range cases {
		records, err := s.Find(within(t), c.filter, c.after, 100)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []int64
		for _, r := range records {
			got = append(got, r.Position)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got positions %v, want %v", name, got, c.want)
		}
	}
	if page, err := s.Find(within(t), eventstore.Filter{}, 1, 2); err != nil || len(page) != 2 || page[0].Position != 2 {
		t.Errorf("a page of two after 1: got %v, %v", page, err)
	}
}

func emptyStore(t *testing.T, s eventstore.Store) {
	if head, err := s.Head(within(t)); err != nil || head != (eventstore.Mark{}) {
		t.Errorf("head: got %v, %v, want zero", head, err)
	}
	if names, err := s.Streams(within(t), "", "", 10); err != nil || len(names) != 0 {
		t.Errorf("streams: got %v, %v, want none", names, err)
	}
	if states, err := s.States(within(t), []string{"x"}); err != nil || states[0] != (eventstore.StreamState{}) {
		t.Errorf("states: got %v, %v, want zero", states, err)
	}
	if states, err := s.States(within(t), nil); err != nil || len(states) != 0 {
		t.Errorf("no states: got %v, %v, want none", states, err)
	}
	if records, err := s.ReadAll(within(t), 0, 10); err != nil || len(records) != 0 {
		t.Errorf("log: got %v, %v, want nothing", records, err)
	}
}

func streamNames(t *testing.T, s eventstore.Store) {
	names := []string{"order-2", "order-10", "stock-é", "stock-a", "stock-Z", "order-2"}
	for i, name := range names {
		MustSubmit(t, s, Plain(To(name, eventstore.AnyVersion, NewEvent(fmt.Sprintf("t%d", i)))), eventstore.Stored)
	}
	page := func(prefix, after string, max int, want ...string) {
		t.Helper()
		got, err := s.Streams(within(t), prefix, after, max)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("prefix %q after %q: got %q, want %q", prefix, after, got, want)
		}
	}
	page("", "", 10, "order-10", "order-2", "stock-Z", "stock-a", "stock-é")
	page("stock-", "", 2, "stock-Z", "stock-a")
	page("stock-", "stock-a", 2, "stock-é")
	page("order-2", "", 10, "order-2")
	page("none", "", 10)
}

func claimPages(t *testing.T, s eventstore.Store) {
	var want []eventstore.Claim
	for i := range 10 {
		want = append(want, eventstore.Claim{SaleID: "s", BuyerID: fmt.Sprintf("b%d", i/2), Ordinal: 1 + i%2, OrderID: fmt.Sprint(i), Live: true})
	}
	other := eventstore.Claim{SaleID: "t", BuyerID: "b1", Ordinal: 1, OrderID: "t"}
	MustSubmit(t, s, Always(&eventstore.Group{Claims: append(slices.Clone(want), other)}), eventstore.Stored)
	var got []eventstore.Claim
	var after eventstore.Claim
	for {
		page, err := s.SaleClaims(within(t), "s", after, 3)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		got, after = append(got, page...), page[len(page)-1]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("claims of the sale (-want +got):\n%s", diff)
	}
}
