package domain

import "fmt"

// HoldState is what a stock stream knows about one order, withdrawal or move.
type HoldState int

// States of a hold. Unknown is the zero value.
const (
	HoldUnknown HoldState = iota
	HoldTaken
	HoldReturned
	HoldRefused
)

// Hold is the units that one order (or withdrawal, or move) has of a stock.
type Hold struct {
	State    HoldState
	Buyer    string
	Quantity int64
}

// Stock is the aggregate of one item in one bucket of a sale: what is left and
// who has what. The in-memory gate is this aggregate; the scripts of the Redis
// gate do the same on a hash.
type Stock struct {
	Key       StockKey
	Version   int64
	Available int64
	Holds     map[string]Hold
}

// NewStock gives an empty stock at version 0.
func NewStock(key StockKey) *Stock { return &Stock{Key: key, Holds: map[string]Hold{}} }

// Take reserves units for an order that this stock does not know yet. It
// reports false, changing nothing, when fewer are left or the order is known.
func (s *Stock) Take(order, buyer string, quantity int64) bool {
	if quantity < 1 || s.Available < quantity || s.Holds[order].State != HoldUnknown {
		return false
	}
	s.Available -= quantity
	s.Holds[order] = Hold{State: HoldTaken, Buyer: buyer, Quantity: quantity}
	return true
}

// Fold brings the stock forward by one event of its stream. It never refuses
// for lack of stock: what the log says happened, and Available may go below
// zero while a gate catches up. What is already known takes nothing again, so
// what a gate forgot heals itself and what it remembers is not counted twice.
func (s *Stock) Fold(e Event) error {
	switch e := e.(type) {
	case *StockReleased:
		s.Available += e.Quantity
	case *StockMovedIn:
		s.Available += e.Quantity
	case *StockReserved:
		s.take(e.OrderID, e.BuyerID, e.Quantity)
	case *StockWithdrawn:
		s.take(e.WithdrawID, "", e.Quantity)
	case *StockMovedOut:
		s.take(e.MoveID, "", e.Quantity)
	case *StockReturned:
		s.giveBack(e.OrderID, e.BuyerID, e.Quantity, HoldReturned)
	case *StockRefused:
		s.giveBack(e.OrderID+e.WithdrawID+e.MoveID, e.BuyerID, e.Quantity, HoldRefused) // all but one are ""
	case *StockWrittenOff:
		s.writeOff(e.OrderID, e.BuyerID, e.Quantity)
	case *StockAdjusted:
	default:
		return fmt.Errorf("fold %s into stock %s: %w", e.EventType(), s.Key.Stream(), ErrUnknownEvent)
	}
	s.Version++
	return nil
}

func (s *Stock) take(id, buyer string, quantity int64) {
	if s.Holds[id].State == HoldUnknown {
		s.Available -= quantity
		s.Holds[id] = Hold{State: HoldTaken, Buyer: buyer, Quantity: quantity}
	}
}

func (s *Stock) giveBack(id, buyer string, quantity int64, to HoldState) {
	h := s.Holds[id]
	if h.State == HoldTaken {
		s.Available += h.Quantity
	}
	if h.State == HoldUnknown {
		h = Hold{Buyer: buyer, Quantity: quantity}
	}
	h.State = to
	s.Holds[id] = h
}

// writeOff ends a hold; its units stay away.
func (s *Stock) writeOff(id, buyer string, quantity int64) {
	s.take(id, buyer, quantity)
	h := s.Holds[id]
	if h.State == HoldTaken {
		h.State = HoldReturned
		s.Holds[id] = h
	}
}

// Account is the fold of a stock stream as the books keep it: totals only.
// Reserved counts withdrawals and moves out too; refusals change nothing.
type Account struct {
	Version  int64
	Released int64
	Reserved int64
	Returned int64
}

// Left gives released - reserved + returned; below zero means oversold.
func (a Account) Left() int64 { return a.Released - a.Reserved + a.Returned }

// Within is the stock rule: no more is taken than there is, but for overdraft
// units that the sale would rather oversell than break a promise.
func (a Account) Within(overdraft int64) bool { return a.Left()+overdraft >= 0 }

// Fold brings the account forward by one event of its stream.
func (a Account) Fold(e Event) Account {
	a.Version++
	switch e := e.(type) {
	case *StockReleased:
		a.Released += e.Quantity
	case *StockMovedIn:
		a.Released += e.Quantity
	case *StockReserved:
		a.Reserved += e.Quantity
	case *StockWithdrawn:
		a.Reserved += e.Quantity
	case *StockMovedOut:
		a.Reserved += e.Quantity
	case *StockReturned:
		a.Returned += e.Quantity
	}
	return a
}
