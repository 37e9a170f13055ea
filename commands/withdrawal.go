package commands

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/eventstore"
)

// Withdrawal asks the gate to take units off sale.
type Withdrawal struct {
	// ID names it: asked again under the same id nothing more is taken.
	ID       string
	Place    domain.Place
	SKU      string
	Quantity int64
	By       string
	TraceID  string
}

// Check refuses what must never reach a gate. store is the gate's.
func (w *Withdrawal) Check(store uint8) error {
	if _, err := domain.ParseSaleID(w.Place.Sale); err != nil || w.Place.Store != store ||
		w.Place.Bucket < 0 || w.Place.Bucket >= domain.MaxBuckets || !domain.ValidSKU(w.SKU) {
		return fmt.Errorf("withdraw %q at %+v: no such item in this gate", w.SKU, w.Place)
	}
	if !PlainID(w.ID) || w.Quantity < 1 || w.Quantity > domain.MaxQuantity {
		return fmt.Errorf("withdraw %d units under %q: want 1 to %d, and an id of ours", w.Quantity, w.ID, domain.MaxQuantity)
	}
	return nil
}

// WithdrawOutcome is what a gate says to a withdrawal.
type WithdrawOutcome int

// Outcomes of a withdrawal.
const (
	// WithdrawNotReady: lane, sale or item are missing or closed. Nothing was taken.
	WithdrawNotReady WithdrawOutcome = iota
	// WithdrawShort: fewer units are left. Nothing was taken.
	WithdrawShort
	// WithdrawTaken: the units are off sale and the journal holds it, now or since it
	// was asked under the same id before.
	WithdrawTaken
	// WithdrawRefused: the log did not keep it, and the units are on sale again.
	WithdrawRefused
)

// WithdrawVerdict is the gate's answer to a withdrawal.
type WithdrawVerdict struct {
	Outcome   WithdrawOutcome
	Available int64 // left of the item now
	Quantity  int64 // that were taken under the id; 0 where none were
	// Epoch and N are where the lane's journal ended then: the withdrawal is before.
	Epoch, N int64
}

// Withdrawer takes units out of a gate.
type Withdrawer interface {
	// Withdraw takes the units if as many are left in the item's bucket, and writes it
	// into the journal of the lane in the same step. Asking again with the same id
	// gives the first answer. Errors are *GateError.
	Withdraw(ctx context.Context, w Withdrawal) (WithdrawVerdict, error)
}

// JournalWithdrawal is a withdrawal as the journal carries it.
type JournalWithdrawal struct {
	ID       string `json:"id"`
	Sale     string `json:"sale"`
	Bucket   int    `json:"bucket"`
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
	By       string `json:"by,omitempty"`
	TraceID  string `json:"trace,omitempty"`
}

// EncodeWithdrawal gives the bytes that a gate puts into an entry for w.
func EncodeWithdrawal(w Withdrawal) ([]byte, error) {
	b, err := json.Marshal(JournalWithdrawal{ID: w.ID, Sale: w.Place.Sale, Bucket: w.Place.Bucket, SKU: w.SKU,
		Quantity: w.Quantity, By: w.By, TraceID: w.TraceID})
	if err != nil {
		return nil, fmt.Errorf("encode withdrawal %s: %w", w.ID, err)
	}
	return b, nil
}

// withdrawn is a withdrawal on its way from the journal into the log.
type withdrawn struct {
	JournalWithdrawal
	entry domain.EntryID
}

func (w *withdrawn) streams() []string { return []string{domain.StockStream(w.Sale, w.SKU, w.Bucket)} }

func (w *withdrawn) about() (sale string, entry domain.EntryID) { return w.Sale, w.entry }

// entryName names the entry that took the units, "" where none did: there is no gate.
func (w *withdrawn) entryName() string {
	if w.entry == (domain.EntryID{}) {
		return ""
	}
	return w.entry.String()
}

// by is who records it.
func (w *withdrawn) by() string {
	if w.entryName() == "" {
		return "direct"
	}
	return "recorder"
}

func (w *withdrawn) check() error {
	ask := Withdrawal{ID: w.ID, Place: domain.Place{Sale: w.Sale, Bucket: w.Bucket}, SKU: w.SKU, Quantity: w.Quantity}
	return ask.Check(0)
}

// openWithdrawals reads the withdrawals of an entry.
func openWithdrawals(body *EntryBody, id domain.EntryID) ([]taken, error) {
	return openTaken("withdrawal", body.Withdrawals, id, func(entry domain.EntryID) carried { return &withdrawn{entry: entry} })
}

// withdrawalID is the id of the event that decides a withdrawal: the log takes no id
// twice, so an entry that is read again decides nothing again.
func withdrawalID(stream, id string) uuid.UUID {
	return uuid.NewSHA1(trancheSpace, fmt.Appendf(nil, "%s/withdrawal/%s", stream, id))
}

func (w *withdrawn) decide(env *Env, look eventstore.Look) (*eventstore.Group, error) {
	stream := w.streams()[0]
	guard := look.Guard(stream)
	guard.Stream = stream
	var ev domain.Event
	if guard.Left() >= w.Quantity {
		guard.Reserved += w.Quantity
		ev = &domain.StockWithdrawn{SaleID: w.Sale, SKU: w.SKU, Bucket: w.Bucket, WithdrawID: w.ID, Quantity: w.Quantity, Entry: w.entryName(), By: w.By}
	} else {
		ev = &domain.StockRefused{SaleID: w.Sale, SKU: w.SKU, Bucket: w.Bucket, WithdrawID: w.ID, Quantity: w.Quantity, Entry: w.entryName(), Reason: domain.RejectedGuard}
	}
	stored, err := env.newEvent(ev, w.Sale, "", Meta{TraceID: w.TraceID, Entry: w.entryName(), By: w.by()})
	if err != nil {
		return nil, err
	}
	stored.ID = withdrawalID(stream, w.ID)
	return &eventstore.Group{
		Appends: []eventstore.Append{{Stream: stream, Expected: eventstore.AnyVersion, Events: []eventstore.NewEvent{stored}}},
		Guards:  []eventstore.Guard{guard},
	}, nil
}

// again is decide: either way it is one event, under one id.
func (w *withdrawn) again(env *Env, look eventstore.Look) (*eventstore.Group, error) {
	return w.decide(env, look)
}
