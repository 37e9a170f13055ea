package domain

// StockReleased puts units on sale in one bucket. Tranche is which part of the item's
// plan they are, from 1; 0 for the first stock and for what somebody released.
type StockReleased struct {
	SaleID   string `json:"sale_id"`
	SKU      string `json:"sku"`
	Bucket   int    `json:"bucket"`
	Quantity int64  `json:"quantity"`
	Tranche  int    `json:"tranche,omitempty"`
	By       string `json:"by,omitempty"`
}

// StockReserved takes units for an order. Key and BodyHash are those of its
// idempotency key, Ticket is the id of the ticket it used up, so that the gate can
// learn them again.
type StockReserved struct {
	SaleID   string `json:"sale_id"`
	SKU      string `json:"sku"`
	Bucket   int    `json:"bucket"`
	OrderID  string `json:"order_id"`
	BuyerID  string `json:"buyer_id"`
	Quantity int64  `json:"quantity"`
	Entry    string `json:"entry"`
	Key      string `json:"key,omitempty"`
	BodyHash string `json:"body_hash,omitempty"`
	Ticket   string `json:"ticket,omitempty"`
}

// StockReturned gives an order's units back.
type StockReturned struct {
	SaleID   string `json:"sale_id"`
	SKU      string `json:"sku"`
	Bucket   int    `json:"bucket"`
	OrderID  string `json:"order_id"`
	BuyerID  string `json:"buyer_id"`
	Quantity int64  `json:"quantity"`
	Reason   string `json:"reason"`
}

// StockRefused says that a purchase, a withdrawal or a move the gate accepted is not
// kept: its units go back to the gate if it still holds them. Totals of the log do not
// change. A withdrawal has a WithdrawID and a move a MoveID, and neither order nor buyer.
type StockRefused struct {
	SaleID   string `json:"sale_id"`
	SKU      string `json:"sku"`
	Bucket   int    `json:"bucket"`
	OrderID  string `json:"order_id,omitempty"`
	BuyerID  string `json:"buyer_id,omitempty"`
	Quantity int64  `json:"quantity"`
	Entry    string `json:"entry"`
	Reason   Reason `json:"reason"`
	// WithdrawID is "" for a purchase and a move, MoveID for a purchase and a withdrawal.
	WithdrawID string `json:"withdraw_id,omitempty"`
	MoveID     string `json:"move_id,omitempty"`
}

// StockWithdrawn takes units off sale, by an entry of the journal.
type StockWithdrawn struct {
	SaleID     string `json:"sale_id"`
	SKU        string `json:"sku"`
	Bucket     int    `json:"bucket"`
	WithdrawID string `json:"withdraw_id"`
	Quantity   int64  `json:"quantity"`
	Entry      string `json:"entry"`
	By         string `json:"by,omitempty"`
}

// StockMovedOut takes units out of a donor bucket, by an entry of its journal.
type StockMovedOut struct {
	SaleID   string `json:"sale_id"`
	SKU      string `json:"sku"`
	Bucket   int    `json:"bucket"`
	MoveID   string `json:"move_id"`
	To       int    `json:"to"`
	Quantity int64  `json:"quantity"`
	Entry    string `json:"entry"`
}

// StockMovedIn puts the units of a move into the receiving bucket.
type StockMovedIn struct {
	SaleID   string `json:"sale_id"`
	SKU      string `json:"sku"`
	Bucket   int    `json:"bucket"`
	MoveID   string `json:"move_id"`
	From     int    `json:"from"`
	Quantity int64  `json:"quantity"`
}

// StockWrittenOff ends an order's hold without giving its units back: they are
// not for sale any more (damaged, given away). Totals of the log do not change.
type StockWrittenOff struct {
	SaleID   string `json:"sale_id"`
	SKU      string `json:"sku"`
	Bucket   int    `json:"bucket"`
	OrderID  string `json:"order_id"`
	BuyerID  string `json:"buyer_id"`
	Quantity int64  `json:"quantity"`
	Reason   string `json:"reason"`
}

// StockAdjusted says that somebody mended what a reconciliation found wrong about
// the units of a bucket: the gate's account or the guard was written again from
// this stream. Kind is the finding's; Before and After are the units that were
// left there before and after. Totals of the log do not change.
type StockAdjusted struct {
	SaleID string `json:"sale_id"`
	SKU    string `json:"sku"`
	Bucket int    `json:"bucket"`
	Kind   string `json:"kind"`
	Before int64  `json:"before"`
	After  int64  `json:"after"`
	Note   string `json:"note,omitempty"`
	By     string `json:"by,omitempty"`
}
