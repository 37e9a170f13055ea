package commands

import (
	"encoding/json"
	"fmt"
	"time"

	"seckill/domain"
)

// Forms of a journal entry. EntryForm is the latest that this program reads. An entry
// that holds what an older program would pass over has a form of its own: there the
// older one stops, and throws nothing away.
const (
	EntryForm      = 3
	PurchaseForm   = 1
	WithdrawalForm = 2
	MoveForm       = 3
)

// EntryBody is the body of a journal entry: every purchase that one script call
// accepted, or one withdrawal, or one move. At is the gate's clock in microseconds
// since 1970. Terms holds, per sale id, the terms in force. A purchase's entry id is
// epoch-n.i with i its place in Purchases, Withdrawals or Moves, counted from 1.
type EntryBody struct {
	Form      int                     `json:"form"`
	At        int64                   `json:"at"`
	Terms     map[string]domain.Terms `json:"terms"`
	Purchases []json.RawMessage       `json:"purchases"`
	// Withdrawals are units that an operator took off sale.
	Withdrawals []json.RawMessage `json:"withdrawals,omitempty"`
	// Moves are units on their way into another bucket.
	Moves []json.RawMessage `json:"moves,omitempty"`
}

// Time gives the gate's clock of the entry.
func (b *EntryBody) Time() time.Time { return time.UnixMicro(b.At).UTC() }

// Purchase is one accepted purchase as the journal carries it: all that
// recording needs.
type Purchase struct {
	Order   string        `json:"order"`
	Buyer   string        `json:"buyer"`
	Sale    string        `json:"sale"`
	Bucket  int           `json:"bucket"`
	Lines   []domain.Line `json:"lines"`
	Key     string        `json:"key,omitempty"`
	Body    string        `json:"body,omitempty"`
	TraceID string        `json:"trace,omitempty"`
	Node    string        `json:"node,omitempty"`
	Ticket  string        `json:"ticket,omitempty"`
	// Limit is one that a promise, which was accepted before, is judged by where the
	// terms in force have a lower one.
	Limit int64 `json:"limit,omitempty"`
}

// FutureEntryError is an entry of a form this program does not read. It stops
// the lane; it never throws purchases away.
type FutureEntryError struct{ Form int }

// Error says which form.
func (e *FutureEntryError) Error() string {
	return fmt.Sprintf("journal entry of form %d: this program reads up to form %d; roll out readers before writers", e.Form, EntryForm)
}

// DecodeEntry reads the frame of an entry. The purchases inside are read one by
// one, so that one unreadable purchase does not hide its neighbours. The error
// is a *FutureEntryError for a later form, whatever else that form has changed.
func DecodeEntry(body string) (*EntryBody, error) {
	var b EntryBody
	err := json.Unmarshal([]byte(body), &b)
	if err == nil && b.Form >= 1 && b.Form <= EntryForm {
		return &b, nil
	}
	var head struct {
		Form int `json:"form"`
	}
	if json.Unmarshal([]byte(body), &head) == nil && head.Form > EntryForm {
		return nil, &FutureEntryError{Form: head.Form}
	}
	if err == nil {
		err = fmt.Errorf("form %d was never written", b.Form)
	}
	return nil, fmt.Errorf("read journal entry: %w", err)
}

// decodePurchase reads one purchase of an entry. With an error it gives what
// could be read all the same: whose order is rejected should still be known.
func decodePurchase(raw json.RawMessage) (Purchase, error) {
	var p Purchase
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, fmt.Errorf("read purchase: %w", err)
	}
	if p.Order == "" || p.Buyer == "" || p.Sale == "" || len(p.Lines) == 0 {
		return p, fmt.Errorf("read purchase: order, buyer, sale or lines are missing")
	}
	if len(p.Lines) > domain.MaxLines || p.Bucket < 0 || p.Bucket >= domain.MaxBuckets {
		return p, fmt.Errorf("read purchase: %d lines in bucket %d", len(p.Lines), p.Bucket)
	}
	seen := map[string]bool{}
	for _, l := range p.Lines {
		if l.Quantity < 1 || l.Quantity > domain.MaxQuantity || seen[l.SKU] {
			return p, fmt.Errorf("read purchase: %d of %q", l.Quantity, l.SKU)
		}
		seen[l.SKU] = true
	}
	return p, nil
}

// priced gives lines with the prices of the terms, and their sum.
func priced(lines []domain.Line, terms domain.Terms) ([]domain.OrderLine, domain.Money, error) {
	out := make([]domain.OrderLine, len(lines))
	var sum domain.Money
	for i, l := range lines {
		price, ok := terms.Prices[l.SKU]
		if !ok {
			return nil, domain.Money{}, fmt.Errorf("no price for %q in the terms in force", l.SKU)
		}
		cost, fits := price.Times(l.Quantity)
		if fits && i > 0 {
			cost, fits = sum.Plus(cost)
		}
		if !fits {
			return nil, domain.Money{}, fmt.Errorf("amount of %d lines does not fit", len(lines))
		}
		out[i], sum = domain.OrderLine{SKU: l.SKU, Quantity: l.Quantity, Price: price}, cost
	}
	return out, sum, nil
}

func microTime(us int64) time.Time { return time.UnixMicro(us).UTC() }

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
