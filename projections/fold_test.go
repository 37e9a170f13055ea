package projections_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/projections"
)

func TestTheOrderViewIsTheFoldOfEachOrdersStream(t *testing.T) {
	h := newHouse(t)
	h.release(1000)
	h.live(40)
	p := h.projector(projections.All(), quick())
	h.run(p)
	h.settle(projections.All())

	want := map[string]projections.OrderAnswer{}
	for _, r := range h.records() {
		if r.OrderID == "" || r.Stream != domain.OrderStream(r.OrderID) {
			continue
		}
		e, err := domain.Decode(r.Type, r.Schema, r.Payload)
		if err != nil {
			t.Fatal(err)
		}
		o := want[r.OrderID]
		if r.Version == 1 {
			o.PlacedAt, o.TraceID = r.RecordedAt.UTC(), traceIn(r)
		}
		o.Order = o.FoldOrder(e)
		want[r.OrderID] = o
	}
	if len(want) != 40 {
		t.Fatalf("the log has %d orders, want 40", len(want))
	}
	views := projections.NewViews(h.pool)
	for id, o := range want {
		got, ok, err := views.Order(h.ctx(), id)
		if err != nil || !ok {
			t.Fatalf("order %s: found %v, error %v", id, ok, err)
		}
		if diff := cmp.Diff(o, got); diff != "" {
			t.Errorf("order %s (- fold, + view):\n%s", id, diff)
		}
	}
	if _, ok, err := views.Order(h.ctx(), "unknown"); ok || err != nil {
		t.Errorf("an unknown order: found %v, error %v", ok, err)
	}
}

func traceIn(r eventstore.Record) string {
	// The helper writes {"trace_id":"…"} and nothing else.
	return string(r.Metadata[len(`{"trace_id":"`) : len(r.Metadata)-2])
}

func TestTheStockLogAddsUpToWhatIsLeft(t *testing.T) {
	h := newHouse(t)
	h.release(1000)
	h.live(40)
	events := []domain.Event{
		&domain.StockWithdrawn{SaleID: h.sale, SKU: "cup", WithdrawID: "w", Quantity: 7},
		&domain.StockMovedOut{SaleID: h.sale, SKU: "cup", MoveID: "m", Quantity: 5},
		&domain.StockMovedIn{SaleID: h.sale, SKU: "cup", MoveID: "n", Quantity: 3},
	}
	for _, e := range events {
		h.append(eventstore.Append{Stream: h.stock(), Events: []eventstore.NewEvent{h.event(e, "", "op")}})
	}
	h.run(h.projector(projections.All(), quick()))
	h.settle(projections.All())

	var account domain.Account
	var changes int64
	for _, r := range h.records() {
		if r.Stream != h.stock() {
			continue
		}
		e, err := domain.Decode(r.Type, r.Schema, r.Payload)
		if err != nil {
			t.Fatal(err)
		}
		account = account.Fold(e)
		if _, refused := e.(*domain.StockRefused); !refused {
			changes++
		}
	}
	err := projections.NewViews(h.pool).Totals(h.ctx(), 1, func(totals *projections.Totals) error {
		stock, err := totals.Stock(h.ctx(), h.sale)
		if err != nil {
			return err
		}
		if len(stock) != 1 || stock[0].SKU != "cup" || stock[0].Left != account.Left() || stock[0].Rows != changes {
			t.Errorf("stock log says %+v, want %d left after %d changes", stock, account.Left(), changes)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheSummaryCountsWhatHappenedToOrders(t *testing.T) {
	h := newHouse(t)
	h.release(1000)
	h.live(40)
	h.run(h.projector(projections.All(), quick()))
	h.settle(projections.All())

	var want projections.Summary
	amount := domain.Money{Currency: "CNY"}
	for _, r := range h.records() {
		e, err := domain.Decode(r.Type, r.Schema, r.Payload)
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case *domain.OrderPlaced:
			want.Placed++
			want.Units += e.Lines[0].Quantity
			amount, _ = amount.Plus(e.Amount)
		case *domain.OrderRejected:
			want.Rejected++
		case *domain.OrderPaid:
			want.Paid++
		case *domain.OrderCancelled:
			want.Cancelled++
		case *domain.OrderExpired:
			want.Expired++
		}
	}
	want.Amounts = []domain.Money{amount}
	got, err := projections.NewViews(h.pool).Summary(h.ctx(), h.sale)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("summary (- log, + view):\n%s", diff)
	}
	if want.Placed == 0 || want.Rejected == 0 || want.Paid == 0 || want.Cancelled == 0 || want.Expired == 0 {
		t.Errorf("something never happened: %+v", want)
	}
}

func TestABuyersOrdersComeNewestFirstInPages(t *testing.T) {
	h := newHouse(t)
	h.release(1000)
	h.live(70)
	h.run(h.projector(projections.All(), quick()))
	h.settle(projections.All())
	views := projections.NewViews(h.pool)

	all, err := views.OrdersOfBuyer(h.ctx(), h.sale, "buyer-3", 1000, "")
	if err != nil {
		t.Fatal(err)
	}
	var paged []projections.OrderAnswer
	for cursor, turns := "", 0; ; turns++ {
		page, err := views.OrdersOfBuyer(h.ctx(), h.sale, "buyer-3", 3, cursor)
		if err != nil {
			t.Fatal(err)
		}
		paged = append(paged, page.Orders...)
		if cursor = page.Next; cursor == "" || turns > 10 {
			break
		}
	}
	if diff := cmp.Diff(all.Orders, paged); diff != "" || len(all.Orders) < 7 || all.Next != "" {
		t.Errorf("%d orders at once, in pages (- at once, + in pages):\n%s", len(all.Orders), diff)
	}
	for i := 1; i < len(paged); i++ {
		if paged[i].PlacedAt.After(paged[i-1].PlacedAt) {
			t.Errorf("order %d was placed at %v, after the one listed before it (%v)", i, paged[i].PlacedAt, paged[i-1].PlacedAt)
		}
		if paged[i].BuyerID != "buyer-3" {
			t.Errorf("order %d is of %s", i, paged[i].BuyerID)
		}
	}
	for _, cursor := range []string{"x", "AAAA", "MTIz", "MTIzIA"} {
		if _, err := views.OrdersOfBuyer(h.ctx(), h.sale, "buyer-3", 3, cursor); err != projections.ErrBadCursor {
			t.Errorf("cursor %q: got %v, want ErrBadCursor", cursor, err)
		}
	}
}
