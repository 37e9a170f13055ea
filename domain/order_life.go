package domain

import "time"

// OrderChange is what a decision about a placed order adds to the log: an event
// of the order, and one per line in the stock streams, all in one group. The
// zero value changes nothing.
type OrderChange struct {
	Event Event
	// Lines are *StockReturned or *StockWrittenOff, in the order of the order's
	// lines; nil where its units stay as they are.
	Lines []Event
}

// None tells whether the decision changes nothing.
func (c OrderChange) None() bool { return c.Event == nil }

// Ways in which an order ends without being kept, as stored in By of
// order.cancelled and Reason of stock.returned.
const (
	EndedByBuyer   = "buyer"
	EndedByPayment = "payment" // the payment failed
	EndedByExpiry  = "expired"
)

// ByOperator gives what By of order.cancelled says of an operator: the name, and
// one that reads as a way above with "operator:" before it, so that what an operator
// does is never told as the buyer's or a failed payment's.
func ByOperator(name string) string {
	switch name {
	case EndedByBuyer, EndedByPayment, EndedByExpiry:
		return "operator:" + name
	}
	return name
}

// Cancellation asks for the end of an order. By is EndedByBuyer, or ByOperator of
// an operator's name. Force also ends a paid order, whose money is then due back.
type Cancellation struct {
	By      string
	Note    string
	Restock bool
	Force   bool
}

// Cancel decides to end an order. A cancelled order stays as it is; ok is false
// where the state does not allow it.
func (o Order) Cancel(c Cancellation) (change OrderChange, ok bool) {
	switch {
	case o.Status == OrderStatusCancelled:
		return OrderChange{}, true
	case o.Status == OrderStatusPlaced, o.Status == OrderStatusPaid && c.Force:
		return OrderChange{
			Event: &OrderCancelled{OrderID: o.ID, By: c.By, Note: c.Note, Restock: c.Restock},
			Lines: o.release(c.By, c.Restock),
		}, true
	}
	return OrderChange{}, false
}

// FailPayment decides what a failed payment does: an order that waits for it is
// over; any other stays as it is.
func (o Order) FailPayment(note string) OrderChange {
	if o.Status != OrderStatusPlaced {
		return OrderChange{}
	}
	return OrderChange{
		Event: &OrderCancelled{OrderID: o.ID, By: EndedByPayment, Note: note, Restock: true},
		Lines: o.release(EndedByPayment, true),
	}
}

// Expire decides to end an order that nobody paid until its time was over.
func (o Order) Expire(now time.Time) OrderChange {
	if o.Status != OrderStatusPlaced || now.Before(o.PayBy) {
		return OrderChange{}
	}
	return OrderChange{Event: &OrderExpired{OrderID: o.ID}, Lines: o.release(EndedByExpiry, true)}
}

// Pay decides what a payment does. The order that waits for it is paid, also a
// moment after its time while its units are still held; money that the order
// cannot take is due back. A payment that the order's stream knows (PaymentOf)
// is not decided again.
func (o Order) Pay(payment string, amount Money) OrderChange {
	due := func(reason RefundReason) OrderChange {
		return OrderChange{Event: &OrderRefundDue{OrderID: o.ID, PaymentID: payment, Amount: amount, Reason: reason}}
	}
	switch {
	case o.Status == OrderStatusPaid:
		return due(RefundDouble)
	case o.Status != OrderStatusPlaced:
		return due(RefundLate)
	case amount != o.Amount:
		return due(RefundAmount)
	}
	return OrderChange{Event: &OrderPaid{OrderID: o.ID, PaymentID: payment, Amount: amount}}
}

// PaymentOf gives the payment that an event of an order is about, "" for none.
func PaymentOf(e Event) string {
	switch e := e.(type) {
	case *OrderPaid:
		return e.PaymentID
	case *OrderRefundDue:
		return e.PaymentID
	}
	return ""
}

// release ends the holds of the order's lines.
func (o Order) release(reason string, restock bool) []Event {
	lines := make([]Event, len(o.Lines))
	for i, l := range o.Lines {
		if restock {
			lines[i] = &StockReturned{SaleID: o.SaleID, SKU: l.SKU, Bucket: o.Bucket, OrderID: o.ID, BuyerID: o.BuyerID, Quantity: l.Quantity, Reason: reason}
		} else {
			lines[i] = &StockWrittenOff{SaleID: o.SaleID, SKU: l.SKU, Bucket: o.Bucket, OrderID: o.ID, BuyerID: o.BuyerID, Quantity: l.Quantity, Reason: reason}
		}
	}
	return lines
}
