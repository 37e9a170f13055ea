package commands

import (
	"context"

	"seckill/domain"
)

// ScannedOrder is the record that a gate keeps of an order.
type ScannedOrder struct {
	Order string
	State GateOrderState // OrderUnknown where there is none
	Entry domain.EntryID
	SKUs  []string // items that it is known to have units of
	Buyer string
}

// ScannedBuyer is the list of orders that a buyer is judged by.
type ScannedBuyer struct {
	Buyer  string
	Orders []string
}

// ScannedHold is what a stock hash keeps of an order, withdrawal or move.
type ScannedHold struct {
	ID       string
	State    domain.HoldState // HoldUnknown where there is none
	Quantity int64
	Buyer    string
}

// Use names an idempotency key, or a ticket, as a sale's record has it.
type Use struct {
	Ticket bool
	Name   string
}

// String names it for people.
func (u Use) String() string {
	if u.Ticket {
		return "ticket " + u.Name
	}
	return "idempotency key " + u.Name
}

// ScannedUse is the order that a record has for a key, or that used a ticket up; ""
// for none. Body is the digest of the body that the key came with.
type ScannedUse struct {
	Use
	Order string
	Body  string
}

// OrdersPage is a part of what a sale's record holds. Next is "" at the end.
type OrdersPage struct {
	Orders []ScannedOrder
	Buyers []ScannedBuyer
	Uses   []ScannedUse
	Next   string
}

// HoldsPage is a part of what a stock hash holds. Next is "" at the end.
type HoldsPage struct {
	Holds []ScannedHold
	Next  string
}

// OrderOf names an order and its buyer.
type OrderOf struct{ Order, Buyer string }

// GateRecord is everything that a gate holds of one order.
type GateRecord struct {
	Record ScannedOrder
	// Listed: its buyer's list names it.
	Listed bool
	Holds  []ScannedHold // in the order of the SKUs asked for
}

// GateRecords is what a gate held at one moment.
type GateRecords struct {
	Peeked
	Orders []GateRecord // in the order asked for
}

// GateUse is what a record has of a key or ticket, and of the order that it names.
type GateUse struct {
	ScannedUse
	State GateOrderState // of that order; OrderUnknown where the record has none
}

// GateUses is what a gate held at one moment.
type GateUses struct {
	Peeked
	Uses []GateUse // in the order asked for
}

// Scanner reads what a gate holds of orders, and changes nothing.
//
// The pages of a scan hold everything that stood from the first page to the last,
// perhaps more than once, and what came, went or changed meanwhile perhaps: what
// a page says stood so at some moment of the scan. A page has about max entries;
// one without any is not the end. A sale or item that is missing has none.
type Scanner interface {
	// ScanOrders pages through the orders, buyers, keys and tickets of a sale's record.
	// from is "" or the Next of the page before.
	ScanOrders(ctx context.Context, place domain.Place, from string, max int) (OrdersPage, error)
	// ScanHolds pages through the holds of a stock hash.
	ScanHolds(ctx context.Context, place domain.Place, sku, from string, max int) (HoldsPage, error)
	// Records reads the lane, the sale's record, its stock hashes and everything
	// about some orders in one step.
	Records(ctx context.Context, place domain.Place, skus []string, of []OrderOf) (GateRecords, error)
	// Uses reads the lane, the sale's record, its stock hashes and what the record has of
	// some keys and tickets in one step.
	Uses(ctx context.Context, place domain.Place, skus []string, of []Use) (GateUses, error)
}
