package domain

import "time"

// OrderStatus is where an order stands, as buyers see it.
type OrderStatus string

// Statuses of an order. Queued means: accepted, not yet decided in the log.
const (
	OrderStatusQueued    OrderStatus = "queued"
	OrderStatusPlaced    OrderStatus = "placed"
	OrderStatusPaid      OrderStatus = "paid"
	OrderStatusCancelled OrderStatus = "cancelled"
	OrderStatusExpired   OrderStatus = "expired"
	OrderStatusRejected  OrderStatus = "rejected"
)

// Order is the fold of an order's stream.
type Order struct {
	ID         string
	SaleID     string
	BuyerID    string
	Bucket     int
	Lines      []OrderLine
	Amount     Money
	Status     OrderStatus
	Reason     Reason
	RefundDue  bool
	AcceptedAt time.Time
	PayBy      time.Time
	Entry      string
	Version    int64
	// TermsVersion is OrderPlaced's; 0 where it is not known.
	TermsVersion int64
}

// FoldOrder brings o forward by one event of its stream.
func (o Order) FoldOrder(e Event) Order {
	o.Version++
	switch e := e.(type) {
	case *OrderPlaced:
		o.ID, o.SaleID, o.BuyerID, o.Bucket = e.OrderID, e.SaleID, e.BuyerID, e.Bucket
		o.Lines, o.Amount, o.AcceptedAt, o.PayBy, o.Entry = e.Lines, e.Amount, e.AcceptedAt, e.PayBy, e.Entry
		o.Status, o.TermsVersion = OrderStatusPlaced, e.TermsVersion
	case *OrderRejected:
		o.ID, o.SaleID, o.BuyerID, o.Bucket, o.Entry = e.OrderID, e.SaleID, e.BuyerID, e.Bucket, e.Entry
		o.Status, o.Reason = OrderStatusRejected, e.Reason
		o.Lines = make([]OrderLine, 0, len(e.Lines))
		for _, l := range e.Lines {
			o.Lines = append(o.Lines, OrderLine{SKU: l.SKU, Quantity: l.Quantity})
		}
	case *OrderPaid:
		switch o.Status {
		case OrderStatusPlaced:
			o.Status = OrderStatusPaid
		case OrderStatusCancelled, OrderStatusExpired, OrderStatusRejected:
			o.RefundDue = true
		}
	case *OrderCancelled:
		o.RefundDue = o.RefundDue || o.Status == OrderStatusPaid
		o.Status = OrderStatusCancelled
	case *OrderExpired:
		o.Status = OrderStatusExpired
	case *OrderRefundDue:
		o.RefundDue = true
	}
	return o
}

// Standing tells how the order counts when its buyer buys again.
func (o Order) Standing() OrderStanding {
	switch o.Status {
	case OrderStatusCancelled, OrderStatusExpired:
		return Over
	case OrderStatusRejected:
		return Void
	}
	return Live
}
