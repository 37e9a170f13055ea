package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// pastLog is a log in memory, one event a second. Its positions may begin after
// a part that was archived.
type pastLog struct {
	eventstore.Reader // no other method may be called
	records           []eventstore.Record
	looks             int
}

var pastBegins = time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)

func (l *pastLog) add(t *testing.T, stream, sale, order string, ev domain.Event) {
	t.Helper()
	name, schema, payload, err := domain.Encode(ev)
	if err != nil {
		t.Fatal(err)
	}
	n := int64(len(l.records) + 1)
	version := int64(1)
	for _, r := range l.records {
		if r.Stream == stream {
			version++
		}
	}
	l.records = append(l.records, eventstore.Record{
		Position: n, Stream: stream, Version: version, Type: name, Schema: schema, SaleID: sale, OrderID: order,
		RecordedAt: pastBegins.Add(time.Duration(n) * time.Second), Payload: payload, Metadata: []byte(`{"trace_id":"t-` + order + `"}`),
		Hash: eventstore.Hash{byte(n)},
	})
}

func (l *pastLog) Head(context.Context) (eventstore.Mark, error) {
	if len(l.records) == 0 {
		return eventstore.Mark{}, nil
	}
	return l.records[len(l.records)-1].Head(), nil
}

func (l *pastLog) At(_ context.Context, position int64) (eventstore.Record, bool, error) {
	l.looks++
	for _, r := range l.records {
		if r.Position == position {
			return r, true, nil
		}
	}
	return eventstore.Record{}, false, nil
}

func (l *pastLog) Find(_ context.Context, f eventstore.Filter, after int64, max int) ([]eventstore.Record, error) {
	var page []eventstore.Record
	for _, r := range l.records {
		if r.Position > after && r.Position <= f.To && len(page) < max && (f.Stream == "" || f.Stream == r.Stream) &&
			(f.SaleID == "" || f.SaleID == r.SaleID) && (f.OrderID == "" || f.OrderID == r.OrderID) {
			page = append(page, r)
		}
	}
	return page, nil
}

const pastSale, otherSale = "28t5cy4t", "38t5cy4t"

// storyOfTwoSales: 1 scheduled, 2 released, 3 reserved, 4 placed, 5 another sale,
// 6 paid, 7 paused, 8 cancelled, 9 returned.
func storyOfTwoSales(t *testing.T) *pastLog {
	l := &pastLog{}
	price := domain.Money{Minor: 1990, Currency: "CNY"}
	terms := domain.SaleTerms{Title: "Mugs", OpensAt: pastBegins, ClosesAt: pastBegins.Add(time.Hour), LimitPerBuyer: 2}
	stock := domain.StockStream(pastSale, "mug", 0)
	l.add(t, "sale-"+pastSale, pastSale, "", &domain.SaleScheduled{SaleID: pastSale, SaleTerms: terms})
	l.add(t, stock, pastSale, "", &domain.StockReleased{SaleID: pastSale, SKU: "mug", Quantity: 5})
	l.add(t, stock, pastSale, "o1", &domain.StockReserved{SaleID: pastSale, SKU: "mug", OrderID: "o1", BuyerID: "ann", Quantity: 2})
	l.add(t, "order-o1", pastSale, "o1", &domain.OrderPlaced{OrderID: "o1", SaleID: pastSale, BuyerID: "ann", Amount: price, TermsVersion: 1})
	l.add(t, "sale-"+otherSale, otherSale, "", &domain.SaleScheduled{SaleID: otherSale, SaleTerms: terms})
	l.add(t, "order-o1", pastSale, "o1", &domain.OrderPaid{OrderID: "o1", PaymentID: "p", Amount: price})
	l.add(t, "sale-"+pastSale, pastSale, "", &domain.SalePaused{SaleID: pastSale, Reason: domain.PausedByOperator})
	l.add(t, "order-o1", pastSale, "o1", &domain.OrderCancelled{OrderID: "o1", By: "ann", Restock: true})
	l.add(t, stock, pastSale, "o1", &domain.StockReturned{SaleID: pastSale, SKU: "mug", OrderID: "o1", BuyerID: "ann", Quantity: 2})
	return l
}

func TestAnyPastMomentIsAnswered(t *testing.T) {
	l := storyOfTwoSales(t)
	for position, want := range map[int64]string{
		1: "sales 1 [scheduled/open]",
		2: "sales 1 [scheduled/open] left 5",
		3: "sales 1 [scheduled/open] left 3",
		4: "sales 1 [scheduled/open] left 3 order placed v1",
		6: "sales 2 [scheduled/open] left 3 order paid v2",
		7: "sales 2 [paused] left 3 order paid v2",
		8: "sales 2 [paused] left 3 order cancelled v3 refund",
		9: "sales 2 [paused] left 5 order cancelled v3 refund",
	} {
		past, err := AsOf(context.Background(), l, AsOfScope{}, position)
		if err != nil {
			t.Fatal(err)
		}
		if got := inWords(past); got != want {
			t.Errorf("as of %d: got %q, want %q", position, got, want)
		}
		if past.At != l.records[position-1].Head() || !past.RecordedAt.Equal(l.records[position-1].RecordedAt) {
			t.Errorf("as of %d: it says it is of %v, %s", position, past.At, past.RecordedAt)
		}
	}
	if past, err := AsOf(context.Background(), l, AsOfScope{}, 0); err != nil || past.Events != 0 || len(past.Sales) != 0 {
		t.Errorf("before the first event: got %+v, %v", past, err)
	}
}

// inWords says a past in words.
func inWords(p *Past) string {
	state := "scheduled/open"
	if len(p.Sales) > 0 && len(p.Sales[0].Pauses) > 0 {
		state = "paused"
	}
	s := fmt.Sprintf("sales %d [%s]", len(p.Sales), state)
	for _, stock := range p.Stocks {
		s += fmt.Sprintf(" left %d", stock.Left())
	}
	for _, o := range p.Orders {
		s += fmt.Sprintf(" order %s v%d", o.Status, o.Version)
		if o.RefundDue {
			s += " refund"
		}
	}
	return s
}

func TestAPastIsBoundedByItsScope(t *testing.T) {
	l := storyOfTwoSales(t)
	for name, c := range map[string]struct {
		scope                 AsOfScope
		sales, stocks, orders int
	}{
		"a sale":              {AsOfScope{Sale: pastSale}, 1, 1, 1},
		"the other":           {AsOfScope{Sale: otherSale}, 1, 0, 0},
		"an order":            {AsOfScope{Order: "o1"}, 0, 0, 1},
		"a stream":            {AsOfScope{Stream: domain.StockStream(pastSale, "mug", 0)}, 0, 1, 0},
		"no such sale":        {AsOfScope{Sale: "zzzzzzzz"}, 0, 0, 0},
		"an order of another": {AsOfScope{Order: "o1", Sale: otherSale}, 0, 0, 0},
	} {
		past, err := AsOf(context.Background(), l, c.scope, 9)
		if err != nil || len(past.Sales) != c.sales || len(past.Stocks) != c.stocks || len(past.Orders) != c.orders {
			t.Errorf("%s: got %+v, %v", name, past, err)
		}
	}
	past, err := AsOf(context.Background(), l, AsOfScope{Order: "o1"}, 9)
	if err != nil || past.Orders[0].TraceID != "t-o1" || !past.Orders[0].PlacedAt.Equal(pastBegins.Add(4*time.Second)) || past.Orders[0].TermsVersion != 1 {
		t.Errorf("the order: got %+v, %v", past.Orders, err)
	}
}

func TestATimeIsTheLastPositionRecordedByThen(t *testing.T) {
	l := storyOfTwoSales(t)
	l.records[3].RecordedAt = l.records[2].RecordedAt // two in the same microsecond
	ask := func(at time.Time) int64 {
		t.Helper()
		n, err := PositionAt(context.Background(), l, at)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for after, want := range map[time.Duration]int64{
		0: 0, time.Second: 1, 1500 * time.Millisecond: 1, 3 * time.Second: 4, 4 * time.Second: 4, 9 * time.Second: 9, time.Hour: 9,
	} {
		if got := ask(pastBegins.Add(after)); got != want {
			t.Errorf("%s after the beginning: got position %d, want %d", after, got, want)
		}
	}
	l.records = slices.Delete(l.records, 0, 4) // archived
	if got := ask(pastBegins.Add(6 * time.Second)); got != 6 {
		t.Errorf("with an archived part: got position %d, want 6", got)
	}
	l.records = nil
	if got := ask(pastBegins); got != 0 {
		t.Errorf("an empty log: got position %d, want 0", got)
	}
}

func TestAPastThatCannotBeKnownIsNotGuessed(t *testing.T) {
	ctx := context.Background()
	l := storyOfTwoSales(t)
	var none *NoPositionError
	if _, err := AsOf(ctx, l, AsOfScope{}, 10); !errors.As(err, &none) || none.Position != 10 {
		t.Errorf("beyond the head: got %v", err)
	}
	l.records[5].Type = "order.teleported"
	whole, err := AsOf(ctx, storyOfTwoSales(t), AsOfScope{}, 9)
	if err != nil {
		t.Fatal(err)
	}
	past, err := AsOf(ctx, l, AsOfScope{}, 9)
	if err != nil || len(past.Unread) != 1 {
		t.Fatalf("an unknown type: got %+v, %v; want it named", past, err)
	}
	if u := past.Unread[0]; !errors.Is(u, domain.ErrUnknownEvent) || u.Position != 6 || u.Stream != "order-o1" || u.Version != 2 {
		t.Errorf("an unknown type: got %v, want its position, stream and version", u)
	}
	if len(past.Orders) != len(whole.Orders) || len(past.Sales) != len(whole.Sales) || past.Orders[0].Version != 1 {
		t.Errorf("an unknown type: got %+v; want that order as it was before, and all others", past)
	}
	if before, err := AsOf(ctx, l, AsOfScope{}, 5); err != nil || len(before.Unread) != 0 {
		t.Errorf("before the unknown type: got %v, %v", before.Unread, err)
	}
	l = storyOfTwoSales(t)
	l.records = slices.Delete(l.records, 0, 3)
	if _, err := AsOf(ctx, l, AsOfScope{Sale: pastSale}, 9); err == nil || !strings.Contains(err.Error(), "position 7, sale-"+pastSale+" version 2: version 1") {
		t.Errorf("a stream without its beginning: got %v, want the hole named", err)
	}
	if past, err := AsOf(ctx, l, AsOfScope{Order: "o1"}, 9); err != nil || past.Orders[0].Status != domain.OrderStatusCancelled {
		t.Errorf("a stream that is whole: got %v", err)
	}
}
