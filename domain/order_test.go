package domain

import (
	"testing"

	"pgregory.net/rapid"
)

func TestWhereAnOrderStandsAfterItsEvents(t *testing.T) {
	placed, paid, rejected := &OrderPlaced{OrderID: "o"}, &OrderPaid{OrderID: "o"}, &OrderRejected{OrderID: "o", Reason: RejectedLost}
	cancelled, expired := &OrderCancelled{OrderID: "o"}, &OrderExpired{OrderID: "o"}
	for name, c := range map[string]struct {
		events []Event
		status OrderStatus
		refund bool
		counts OrderStanding
	}{
		"nothing yet":                      {nil, "", false, Live},
		"placed":                           {[]Event{placed}, OrderStatusPlaced, false, Live},
		"paid":                             {[]Event{placed, paid}, OrderStatusPaid, false, Live},
		"cancelled":                        {[]Event{placed, cancelled}, OrderStatusCancelled, false, Over},
		"expired":                          {[]Event{placed, expired}, OrderStatusExpired, false, Over},
		"rejected":                         {[]Event{rejected}, OrderStatusRejected, false, Void},
		"paid after it expired":            {[]Event{placed, expired, paid}, OrderStatusExpired, true, Over},
		"paid after it was cancelled":      {[]Event{placed, cancelled, paid}, OrderStatusCancelled, true, Over},
		"paid although it was rejected":    {[]Event{rejected, paid}, OrderStatusRejected, true, Void},
		"cancelled after it was paid":      {[]Event{placed, paid, cancelled}, OrderStatusCancelled, true, Over},
		"a refund due stays due":           {[]Event{placed, expired, paid, cancelled}, OrderStatusCancelled, true, Over},
		"paid, and nobody knows the order": {[]Event{paid}, "", false, Live},
	} {
		var o Order
		for _, e := range c.events {
			o = o.FoldOrder(e)
		}
		if o.Status != c.status || o.RefundDue != c.refund || o.Standing() != c.counts || o.Version != int64(len(c.events)) {
			t.Errorf("%s: got %q, refund %v, standing %d, version %d; want %q, %v, %d, %d", name,
				o.Status, o.RefundDue, o.Standing(), o.Version, c.status, c.refund, c.counts, len(c.events))
		}
	}
	if got := (Order{Status: OrderStatusQueued}).Standing(); got != Live {
		t.Errorf("queued: got standing %d; want live", got)
	}
}

func TestAnOddSequenceOfEventsIsFoldedWithoutHarm(t *testing.T) {
	events := []Event{
		&OrderPlaced{OrderID: "o", Lines: []OrderLine{{SKU: "a", Quantity: 1}}}, &OrderRejected{OrderID: "o", Lines: []Line{{"a", 1}, {"b", 2}}},
		&OrderPaid{OrderID: "o"}, &OrderCancelled{OrderID: "o"}, &OrderExpired{OrderID: "o"}, &StockReleased{}, &SaleClosed{},
	}
	rapid.Check(t, func(t *rapid.T) {
		var o Order
		for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(events)-1), 0, 12).Draw(t, "events") {
			before := o
			o = o.FoldOrder(events[i])
			if o.Version != before.Version+1 {
				t.Fatalf("from %+v to %+v by %s", before, o, events[i].EventType())
			}
			if before.RefundDue && !o.RefundDue {
				t.Fatalf("%s took a refund away", events[i].EventType())
			}
			if n := len(o.Lines); n > 2 {
				t.Fatalf("an order of at most 2 lines has %d", n)
			}
		}
	})
}

func TestFoldingARejectionSharesNoLines(t *testing.T) {
	base := Order{Lines: make([]OrderLine, 1, 4)}
	base.Lines[0].SKU = "placed"
	a := base.FoldOrder(&OrderRejected{Lines: []Line{{"a", 1}}})
	b := base.FoldOrder(&OrderRejected{Lines: []Line{{"b", 1}}})
	if a.Lines[0].SKU != "a" || b.Lines[0].SKU != "b" || base.Lines[0].SKU != "placed" || len(a.Lines) != 1 {
		t.Errorf("got %+v, %+v and %+v; want a, b and placed", a.Lines, b.Lines, base.Lines)
	}
}
