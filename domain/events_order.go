package domain

import "time"

// OrderLine is a line with the price it was bought at.
type OrderLine struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
	Price    Money  `json:"price"`
}

// OrderPlaced says that a purchase is recorded. AcceptedAt is the gate's clock
// when the units were taken. TermsVersion is the version of the sale's stream
// whose terms the purchase was judged and priced by, 0 where it is not known:
// version 1 of this event did not say.
type OrderPlaced struct {
	OrderID    string      `json:"order_id"`
	SaleID     string      `json:"sale_id"`
	BuyerID    string      `json:"buyer_id"`
	Bucket     int         `json:"bucket"`
	Lines      []OrderLine `json:"lines"`
	Amount     Money       `json:"amount"`
	AcceptedAt time.Time   `json:"accepted_at"`
	PayBy      time.Time   `json:"pay_by"`
	Entry      string      `json:"entry"`
	Ordinal    int         `json:"ordinal"`
	Key        string      `json:"key,omitempty"`
	BodyHash   string      `json:"body_hash,omitempty"`

	TermsVersion int64 `json:"terms_version"`
}

// OrderRejected says that a purchase is not kept, and why. Lines are unknown
// for a lost order. Raw holds the bytes of an entry that could not be recorded.
type OrderRejected struct {
	OrderID string `json:"order_id"`
	SaleID  string `json:"sale_id"`
	BuyerID string `json:"buyer_id"`
	Bucket  int    `json:"bucket"`
	Lines   []Line `json:"lines,omitempty"`
	Reason  Reason `json:"reason"`
	Entry   string `json:"entry,omitempty"`
	Detail  string `json:"detail,omitempty"`
	Raw     []byte `json:"raw,omitempty"`
}

// OrderPaid says that the order was paid, once.
type OrderPaid struct {
	OrderID   string `json:"order_id"`
	PaymentID string `json:"payment_id"`
	Amount    Money  `json:"amount"`
}

// OrderCancelled ends an order at somebody's wish. Restock tells whether its
// units came back on sale.
type OrderCancelled struct {
	OrderID string `json:"order_id"`
	By      string `json:"by"`
	Note    string `json:"note,omitempty"`
	Restock bool   `json:"restock"`
}

// OrderExpired ends an order that was not paid in time.
type OrderExpired struct {
	OrderID string `json:"order_id"`
}

// OrderRefundDue says that money came which the order cannot take: somebody has
// to give it back. It changes nothing else about the order.
type OrderRefundDue struct {
	OrderID   string       `json:"order_id"`
	PaymentID string       `json:"payment_id"`
	Amount    Money        `json:"amount"`
	Reason    RefundReason `json:"reason"`
}

// RefundReason is why a payment cannot be kept.
type RefundReason string

// Reasons of a refund.
const (
	RefundLate   RefundReason = "late"   // the order was over when the payment came
	RefundDouble RefundReason = "double" // the order was paid already
	RefundAmount RefundReason = "amount" // it is not what the order costs
)
