package domain

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	lifePayBy = time.Date(2026, 11, 11, 0, 15, 0, 0, time.UTC)
	lifePrice = Money{Minor: 300, Currency: "CNY"}
)

// lifeOf gives an order of two lines after its placing and some further events.
func lifeOf(events ...Event) Order {
	o := Order{}.FoldOrder(&OrderPlaced{
		OrderID: "o", SaleID: "s", BuyerID: "b", Bucket: 3, Amount: lifePrice, PayBy: lifePayBy,
		Lines: []OrderLine{{SKU: "a", Quantity: 1}, {SKU: "c", Quantity: 2}},
	})
	for _, e := range events {
		o = o.FoldOrder(e)
	}
	return o
}

func returns(reason string) []Event {
	return []Event{
		&StockReturned{SaleID: "s", SKU: "a", Bucket: 3, OrderID: "o", BuyerID: "b", Quantity: 1, Reason: reason},
		&StockReturned{SaleID: "s", SKU: "c", Bucket: 3, OrderID: "o", BuyerID: "b", Quantity: 2, Reason: reason},
	}
}

func writeOffs(reason string) []Event {
	return []Event{
		&StockWrittenOff{SaleID: "s", SKU: "a", Bucket: 3, OrderID: "o", BuyerID: "b", Quantity: 1, Reason: reason},
		&StockWrittenOff{SaleID: "s", SKU: "c", Bucket: 3, OrderID: "o", BuyerID: "b", Quantity: 2, Reason: reason},
	}
}

var (
	lifePaid      = &OrderPaid{OrderID: "o", PaymentID: "p1", Amount: lifePrice}
	lifeCancelled = &OrderCancelled{OrderID: "o", By: EndedByBuyer, Restock: true}
	lifeExpired   = &OrderExpired{OrderID: "o"}
	lifeRejected  = &OrderRejected{OrderID: "o", Reason: RejectedLost}
)

// lives are an order in each state it can be in.
func lives() map[OrderStatus]Order {
	return map[OrderStatus]Order{
		OrderStatusPlaced:    lifeOf(),
		OrderStatusPaid:      lifeOf(lifePaid),
		OrderStatusCancelled: lifeOf(lifeCancelled),
		OrderStatusExpired:   lifeOf(lifeExpired),
		OrderStatusRejected:  Order{}.FoldOrder(lifeRejected),
		"":                   {},
	}
}

func TestWhatACancellationDoesToAnOrder(t *testing.T) {
	asked := Cancellation{By: EndedByBuyer, Restock: true}
	away := Cancellation{By: "eva", Note: "damaged"}
	force := Cancellation{By: "eva", Restock: true, Force: true}
	cancelled := OrderChange{Event: lifeCancelled, Lines: returns(EndedByBuyer)}
	for _, c := range []struct {
		given OrderStatus
		when  Cancellation
		then  OrderChange
		ok    bool
	}{
		{OrderStatusPlaced, asked, cancelled, true},
		{OrderStatusPlaced, away, OrderChange{Event: &OrderCancelled{OrderID: "o", By: "eva", Note: "damaged"}, Lines: writeOffs("eva")}, true},
		{OrderStatusPaid, asked, OrderChange{}, false},
		{OrderStatusPaid, away, OrderChange{}, false},
		{OrderStatusPaid, force, OrderChange{Event: &OrderCancelled{OrderID: "o", By: "eva", Restock: true}, Lines: returns("eva")}, true},
		{OrderStatusCancelled, asked, OrderChange{}, true},
		{OrderStatusCancelled, force, OrderChange{}, true},
		{OrderStatusExpired, asked, OrderChange{}, false},
		{OrderStatusExpired, force, OrderChange{}, false},
		{OrderStatusRejected, force, OrderChange{}, false},
		{"", force, OrderChange{}, false},
	} {
		got, ok := lives()[c.given].Cancel(c.when)
		if ok != c.ok || !reflect.DeepEqual(got, c.then) {
			t.Errorf("given %q, when %+v: got %s, %v; want %s, %v", c.given, c.when, said(got), ok, said(c.then), c.ok)
		}
	}
}

func TestAnOperatorIsNeverTakenForTheBuyerOrAPayment(t *testing.T) {
	for name, want := range map[string]string{
		"eva": "eva", "buyer": "operator:buyer", "payment": "operator:payment", "expired": "operator:expired", "operator:buyer": "operator:buyer",
	} {
		if got := ByOperator(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestAForcedCancellationOfAPaidOrderLeavesItsMoneyDue(t *testing.T) {
	o := lifeOf(lifePaid)
	change, _ := o.Cancel(Cancellation{By: "eva", Restock: true, Force: true})
	if o = o.FoldOrder(change.Event); !o.RefundDue || o.Status != OrderStatusCancelled {
		t.Errorf("got %s, refund due %v; want cancelled with its money due", o.Status, o.RefundDue)
	}
}

func TestAFailedPaymentEndsOnlyAnOrderThatWaitsForIt(t *testing.T) {
	for status, o := range lives() {
		want := OrderChange{}
		if status == OrderStatusPlaced {
			want = OrderChange{Event: &OrderCancelled{OrderID: "o", By: EndedByPayment, Note: "card", Restock: true}, Lines: returns(EndedByPayment)}
		}
		if got := o.FailPayment("card"); !reflect.DeepEqual(got, want) {
			t.Errorf("given %q: got %s, want %s", status, said(got), said(want))
		}
	}
}

func TestB32AnOrderExpiresFromItsTimeOnAndNotBefore(t *testing.T) {
	for status, o := range lives() {
		for _, past := range []time.Duration{-time.Hour, -time.Millisecond, 0, time.Millisecond, time.Hour} {
			want := OrderChange{}
			if status == OrderStatusPlaced && past >= 0 {
				want = OrderChange{Event: lifeExpired, Lines: returns(EndedByExpiry)}
			}
			if got := o.Expire(lifePayBy.Add(past)); !reflect.DeepEqual(got, want) {
				t.Errorf("given %q, %s after its time: got %s, want %s", status, past, said(got), said(want))
			}
		}
	}
}

func TestB32MoneyThatAnOrderCannotTakeIsDueBack(t *testing.T) {
	less := Money{Minor: 299, Currency: "CNY"}
	due := func(reason RefundReason, amount Money) Event {
		return &OrderRefundDue{OrderID: "o", PaymentID: "p2", Amount: amount, Reason: reason}
	}
	for _, c := range []struct {
		given  OrderStatus
		amount Money
		then   Event
	}{
		{OrderStatusPlaced, lifePrice, &OrderPaid{OrderID: "o", PaymentID: "p2", Amount: lifePrice}},
		{OrderStatusPlaced, less, due(RefundAmount, less)},
		{OrderStatusPlaced, Money{Minor: 300, Currency: "EUR"}, due(RefundAmount, Money{Minor: 300, Currency: "EUR"})},
		{OrderStatusPaid, lifePrice, due(RefundDouble, lifePrice)},
		{OrderStatusPaid, less, due(RefundDouble, less)},
		{OrderStatusCancelled, lifePrice, due(RefundLate, lifePrice)},
		{OrderStatusExpired, lifePrice, due(RefundLate, lifePrice)},
	} {
		o := lives()[c.given]
		got := o.Pay("p2", c.amount)
		if !reflect.DeepEqual(got, OrderChange{Event: c.then}) {
			t.Errorf("given %q, when %s come: got %s, want %s", c.given, c.amount.Amount(), said(got), c.then.EventType())
		}
		after := o.FoldOrder(got.Event)
		_, refund := c.then.(*OrderRefundDue)
		if after.RefundDue != refund || PaymentOf(got.Event) != "p2" {
			t.Errorf("given %q, when %s come: refund due %v by payment %q, want %v by p2", c.given, c.amount.Amount(), after.RefundDue, PaymentOf(got.Event), refund)
		}
	}
}

func TestWhichEventsAreAboutAPayment(t *testing.T) {
	for _, e := range []Event{lifeCancelled, lifeExpired, lifeRejected, &OrderPlaced{OrderID: "o"}} {
		if got := PaymentOf(e); got != "" {
			t.Errorf("%s is about payment %q, want none", e.EventType(), got)
		}
	}
}

// ends are the three paths by which an order gives its units back.
var ends = map[string]func(Order) OrderChange{
	EndedByBuyer: func(o Order) OrderChange {
		change, _ := o.Cancel(Cancellation{By: EndedByBuyer, Restock: true})
		return change
	},
	EndedByPayment: func(o Order) OrderChange { return o.FailPayment("card") },
	EndedByExpiry:  func(o Order) OrderChange { return o.Expire(lifePayBy) },
}

// sixOrders are all sequences of three.
var sixOrders = [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}

func TestB28ThreePathsOfReturnInEveryOrderGiveTheUnitsBackOnce(t *testing.T) {
	paths := []string{EndedByBuyer, EndedByPayment, EndedByExpiry}
	for _, sequence := range sixOrders {
		stock := NewStock(StockKey{Sale: "s", SKU: "a", Bucket: 3})
		fold(t, stock, &StockReleased{Quantity: 5}, &StockReserved{OrderID: "o", BuyerID: "b", Quantity: 1})
		o, returned := lifeOf(), 0
		for _, i := range sequence {
			change := ends[paths[i]](o)
			if change.None() {
				continue
			}
			o = o.FoldOrder(change.Event)
			fold(t, stock, change.Lines[0])
			returned++
		}
		if first := paths[sequence[0]]; returned != 1 || stock.Available != 5 || (o.Status == OrderStatusExpired) != (first == EndedByExpiry) {
			t.Errorf("%v: returned %d times, %d left, %s; want once, 5, ended by the first", sequence, returned, stock.Available, o.Status)
		}
	}
}

// An order is never both kept and given back: whatever comes in whatever order,
// its units are held exactly as long as it is placed or paid.
func TestUnitsAreHeldExactlyAsLongAsTheirOrderLives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stock := NewStock(StockKey{Sale: "s", SKU: "a", Bucket: 3})
		fold(t, stock, &StockReleased{Quantity: 5}, &StockReserved{OrderID: "o", BuyerID: "b", Quantity: 1})
		o := lifeOf()
		payments := map[string]bool{}
		for range rapid.IntRange(0, 8).Draw(t, "steps") {
			var change OrderChange
			switch rapid.IntRange(0, 4).Draw(t, "what") {
			case 0:
				change, _ = o.Cancel(Cancellation{By: "x", Restock: true, Force: rapid.Bool().Draw(t, "force")})
			case 1:
				change = o.FailPayment("")
			case 2:
				change = o.Expire(lifePayBy.Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "ms")) * time.Millisecond))
			default:
				p := fmt.Sprint(rapid.IntRange(1, 3).Draw(t, "payment"))
				if !payments[p] {
					change = o.Pay(p, Money{Minor: int64(rapid.IntRange(299, 300).Draw(t, "amount")), Currency: "CNY"})
				}
				payments[p] = true
			}
			if change.None() {
				continue
			}
			o = o.FoldOrder(change.Event)
			for _, line := range change.Lines[:min(1, len(change.Lines))] {
				fold(t, stock, line)
			}
		}
		held := int64(5) - stock.Available
		if live := o.Standing() == Live; live != (held == 1) {
			t.Fatalf("an order that is %s holds %d units", o.Status, held)
		}
		if o.Status == OrderStatusPaid && o.Standing() != Live {
			t.Fatal("a paid order is not live")
		}
	})
}

func TestAWrittenOffHoldEndsWithoutItsUnits(t *testing.T) {
	stock := NewStock(StockKey{Sale: "s", SKU: "a"})
	off := &StockWrittenOff{OrderID: "o", BuyerID: "b", Quantity: 2}
	fold(t, stock, &StockReleased{Quantity: 10}, &StockReserved{OrderID: "o", BuyerID: "b", Quantity: 2}, off, off, &StockReturned{OrderID: "o", Quantity: 2})
	if got := stock.Holds["o"]; stock.Available != 8 || got.State != HoldReturned {
		t.Errorf("got %d left and %+v, want 8 and an ended hold", stock.Available, got)
	}
	fold(t, stock, &StockWrittenOff{OrderID: "forgotten", BuyerID: "b", Quantity: 3})
	if stock.Available != 5 {
		t.Errorf("an order that was forgotten leaves %d, want 5", stock.Available)
	}
	account := Account{Released: 10, Reserved: 2}.Fold(off).Fold(&StockAdjusted{Before: 3, After: 8})
	if account.Left() != 8 || account.Version != 2 {
		t.Errorf("the account has %d left at version %d, want 8 at 2", account.Left(), account.Version)
	}
}

func fold(t interface{ Fatal(...any) }, s *Stock, events ...Event) {
	for _, e := range events {
		if err := s.Fold(e); err != nil {
			t.Fatal(err)
		}
	}
}

// said tells a change as a person reads it.
func said(c OrderChange) string {
	if c.None() {
		return "nothing"
	}
	text := fmt.Sprintf("%+v", c.Event)
	for _, l := range c.Lines {
		text += fmt.Sprintf(" %s %+v", l.EventType(), l)
	}
	return text
}
