package commands

import (
	"errors"
	"fmt"
	"slices"

	"seckill/domain"
)

// Check refuses what must never reach a gate: places and ids that are not ours,
// an item named twice, and quantities outside the bounds that every sum of a
// gate and of the log relies on. store is the gate's.
func (r *Reservation) Check(store uint8) error {
	if _, err := domain.ParseSaleID(r.Place.Sale); err != nil || r.Place.Store != store ||
		r.Place.Bucket < 0 || r.Place.Bucket >= domain.MaxBuckets {
		return fmt.Errorf("reserve at %+v: no such place in this gate", r.Place)
	}
	if !PlainID(r.Order) || !domain.ValidBuyer(r.Buyer) {
		return fmt.Errorf("reserve order %q for buyer %q: not ids of ours", r.Order, r.Buyer)
	}
	if (r.Key != "" && !PlainID(r.Key)) || (r.BodyHash != "" && !PlainID(r.BodyHash)) {
		return errors.New("reserve: idempotency key and body hash must be hexadecimal digests")
	}
	if (r.Ticket != "" && !PlainID(r.Ticket)) || (r.TicketFault != 0 && r.TicketFault != domain.TicketRequired && r.TicketFault != domain.TicketInvalid) {
		return fmt.Errorf("reserve: a ticket is a hexadecimal digest, and %s is no fault of one", r.TicketFault)
	}
	if len(r.Lines) < 1 || len(r.Lines) > domain.MaxLines {
		return fmt.Errorf("reserve %d lines: want 1 to %d", len(r.Lines), domain.MaxLines)
	}
	var units int64
	for i, l := range r.Lines {
		if l.Quantity < 1 || l.Quantity > domain.MaxQuantity {
			return fmt.Errorf("reserve %d units of %q: want 1 to %d", l.Quantity, l.SKU, domain.MaxQuantity)
		}
		if units += l.Quantity; units > domain.MaxQuantity {
			return fmt.Errorf("reserve more than %d units in all", domain.MaxQuantity)
		}
		twice := slices.ContainsFunc(r.Lines[:i], func(o domain.Line) bool { return o.SKU == l.SKU })
		if twice || !domain.ValidSKU(l.SKU) {
			return fmt.Errorf("reserve item %q: want a valid SKU, once", l.SKU)
		}
	}
	return nil
}

// PlainID tells whether s is 1 to 128 letters, digits, '-' or '_', as order,
// withdrawal and move ids and digests are.
func PlainID(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return len(s) > 0 && len(s) <= 128
}

// StockKind is what an event of a stock stream means to a gate.
type StockKind string

// Kinds of stock events.
const (
	UnitsIn       StockKind = "I" // released, moved in
	UnitsOut      StockKind = "W" // withdrawn, moved out
	UnitsReserved StockKind = "R"
	UnitsReturned StockKind = "C"
	UnitsRefused  StockKind = "X"
	UnitsKept     StockKind = "K" // a withdrawal or move that was not kept
	UnitsLost     StockKind = "L" // written off: the hold ends, the units stay away
	UnitsSame     StockKind = "N" // nothing: only the version moves
)

// StockChange is an event of a stock stream as gates look at it. ID is the
// order's, withdrawal's or move's.
type StockChange struct {
	Kind     StockKind
	Stock    domain.StockKey
	ID       string
	Buyer    string
	Quantity int64
	Entry    string
	Key      string
	BodyHash string
	Ticket   string
}

// ChangeOf reads an event of a stock stream; domain.ErrUnknownEvent for others.
func ChangeOf(e domain.Event) (StockChange, error) {
	at := func(sale, sku string, bucket int) domain.StockKey {
		return domain.StockKey{Sale: sale, SKU: sku, Bucket: bucket}
	}
	switch e := e.(type) {
	case *domain.StockReleased:
		return StockChange{Kind: UnitsIn, Stock: at(e.SaleID, e.SKU, e.Bucket), Quantity: e.Quantity}, nil
	case *domain.StockMovedIn:
		return StockChange{Kind: UnitsIn, Stock: at(e.SaleID, e.SKU, e.Bucket), Quantity: e.Quantity}, nil
	case *domain.StockWithdrawn:
		return StockChange{Kind: UnitsOut, Stock: at(e.SaleID, e.SKU, e.Bucket), ID: e.WithdrawID, Quantity: e.Quantity}, nil
	case *domain.StockMovedOut:
		return StockChange{Kind: UnitsOut, Stock: at(e.SaleID, e.SKU, e.Bucket), ID: e.MoveID, Quantity: e.Quantity}, nil
	case *domain.StockReserved:
		return StockChange{Kind: UnitsReserved, Stock: at(e.SaleID, e.SKU, e.Bucket), ID: e.OrderID, Buyer: e.BuyerID,
			Quantity: e.Quantity, Entry: e.Entry, Key: e.Key, BodyHash: e.BodyHash, Ticket: e.Ticket}, nil
	case *domain.StockReturned:
		return StockChange{Kind: UnitsReturned, Stock: at(e.SaleID, e.SKU, e.Bucket), ID: e.OrderID, Buyer: e.BuyerID, Quantity: e.Quantity}, nil
	case *domain.StockRefused:
		if id := e.WithdrawID + e.MoveID; id != "" { // one of the two is ""
			return StockChange{Kind: UnitsKept, Stock: at(e.SaleID, e.SKU, e.Bucket), ID: id, Quantity: e.Quantity}, nil
		}
		return StockChange{Kind: UnitsRefused, Stock: at(e.SaleID, e.SKU, e.Bucket), ID: e.OrderID, Buyer: e.BuyerID,
			Quantity: e.Quantity, Entry: e.Entry}, nil
	case *domain.StockWrittenOff:
		return StockChange{Kind: UnitsLost, Stock: at(e.SaleID, e.SKU, e.Bucket), ID: e.OrderID, Buyer: e.BuyerID, Quantity: e.Quantity}, nil
	case *domain.StockAdjusted:
		return StockChange{Kind: UnitsSame, Stock: at(e.SaleID, e.SKU, e.Bucket)}, nil
	}
	return StockChange{}, fmt.Errorf("%s is no event of a stock: %w", e.EventType(), domain.ErrUnknownEvent)
}

// quantified tells whether the units are within bounds. A release of none opens
// the stream of a bucket that starts empty.
func (c StockChange) quantified() bool {
	return c.Quantity <= domain.MaxQuantity && (c.Quantity >= 1 || (c.Quantity == 0 && (c.Kind == UnitsIn || c.Kind == UnitsSame)))
}

// named tells whether the change names whose units they are, as its kind must. A
// refusal may name no buyer: what could not be recorded may have named nobody
// who could buy.
func (c StockChange) named() bool {
	switch c.Kind {
	case UnitsIn, UnitsSame:
		return true
	case UnitsOut, UnitsKept:
		return PlainID(c.ID)
	case UnitsRefused:
		return PlainID(c.ID) && (c.Buyer == "" || domain.ValidBuyer(c.Buyer))
	}
	return PlainID(c.ID) && domain.ValidBuyer(c.Buyer)
}

// Changes reads the events of a page. It refuses a page with holes, of another
// stream, or with ids and quantities that no gate may hold.
func (p *StockPage) Changes() ([]StockChange, error) {
	key := domain.StockKey{Sale: p.Place.Sale, SKU: p.SKU, Bucket: p.Place.Bucket}
	changes := make([]StockChange, len(p.Events))
	for i, e := range p.Events {
		if e.At.Number != p.From.Number+int64(i)+1 {
			return nil, fmt.Errorf("page of %s after version %d: event %d has version %d", key.Stream(), p.From.Number, i+1, e.At.Number)
		}
		c, err := ChangeOf(e.Event)
		if err != nil {
			return nil, fmt.Errorf("page of %s: version %d: %w", key.Stream(), e.At.Number, err)
		}
		if c.Stock != key || !c.quantified() {
			return nil, fmt.Errorf("page of %s: version %d is %d units of %s", key.Stream(), e.At.Number, c.Quantity, c.Stock.Stream())
		}
		if !c.named() {
			return nil, fmt.Errorf("page of %s: version %d names %q of buyer %q: not ids of ours", key.Stream(), e.At.Number, c.ID, c.Buyer)
		}
		changes[i] = c
	}
	return changes, nil
}
