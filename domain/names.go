package domain

import (
	"encoding/json"
	"errors"
	"fmt"
)

// These lines are the one place where a stored name is written. Never rename,
// never reuse, only add: a line here and one in the list below.

// EventType gives the stored name.
func (*SaleScheduled) EventType() string   { return "sale.scheduled" }
func (*SaleRevised) EventType() string     { return "sale.revised" }
func (*SalePreheated) EventType() string   { return "sale.preheated" }
func (*SaleChecked) EventType() string     { return "sale.checked" }
func (*SaleConfirmed) EventType() string   { return "sale.confirmed" }
func (*SalePaused) EventType() string      { return "sale.paused" }
func (*SaleResumed) EventType() string     { return "sale.resumed" }
func (*SaleClosed) EventType() string      { return "sale.closed" }
func (*SaleRepaired) EventType() string    { return "sale.repaired" }
func (*SaleTallied) EventType() string     { return "sale.tallied" }
func (*SaleMembersSet) EventType() string  { return "sale.members_set" }
func (*SaleCleaned) EventType() string     { return "sale.cleaned" }
func (*SwitchFlipped) EventType() string   { return "switch.flipped" }
func (*LettersRetried) EventType() string  { return "letters.retried" }
func (*LettersDropped) EventType() string  { return "letters.dropped" }
func (*StockReleased) EventType() string   { return "stock.released" }
func (*StockReserved) EventType() string   { return "stock.reserved" }
func (*StockReturned) EventType() string   { return "stock.returned" }
func (*StockRefused) EventType() string    { return "stock.refused" }
func (*StockWithdrawn) EventType() string  { return "stock.withdrawn" }
func (*StockMovedOut) EventType() string   { return "stock.moved_out" }
func (*StockMovedIn) EventType() string    { return "stock.moved_in" }
func (*StockWrittenOff) EventType() string { return "stock.written_off" }
func (*StockAdjusted) EventType() string   { return "stock.adjusted" }
func (*OrderPlaced) EventType() string     { return "order.placed" }
func (*OrderRejected) EventType() string   { return "order.rejected" }
func (*OrderPaid) EventType() string       { return "order.paid" }
func (*OrderCancelled) EventType() string  { return "order.cancelled" }
func (*OrderExpired) EventType() string    { return "order.expired" }
func (*OrderRefundDue) EventType() string  { return "order.refund_due" }

// stored lists every event there is. An event whose payload changed names here
// the steps that bring its older payloads up, oldest first.
var stored = newForms(
	formOf[SaleScheduled](),
	formOf[SaleRevised](),
	formOf[SalePreheated](),
	formOf[SaleChecked](),
	formOf[SaleConfirmed](),
	formOf[SalePaused](),
	formOf[SaleResumed](),
	formOf[SaleClosed](),
	formOf[SaleRepaired](),
	formOf[SaleTallied](),
	formOf[SaleMembersSet](),
	formOf[SaleCleaned](),
	formOf[SwitchFlipped](),
	formOf[LettersRetried](),
	formOf[LettersDropped](),
	formOf[StockReleased](),
	formOf[StockReserved](),
	formOf[StockReturned](),
	formOf[StockRefused](),
	formOf[StockWithdrawn](),
	formOf[StockMovedOut](),
	formOf[StockMovedIn](),
	formOf[StockWrittenOff](),
	formOf[StockAdjusted](),
	formOf[OrderPlaced](orderPlacedV1),
	formOf[OrderRejected](),
	formOf[OrderPaid](),
	formOf[OrderCancelled](),
	formOf[OrderExpired](),
	formOf[OrderRefundDue](),
)

// form is the stored form of an event: its name, a fresh value to read into,
// and the steps that bring older payloads up, upcasters[v-1] from version v to
// v+1.
type form struct {
	name      string
	fresh     func() Event
	upcasters []upcaster
}

// upcaster rewrites a payload of one version into the next.
type upcaster func(payload []byte) ([]byte, error)

// schema gives the version that is written today.
func (f form) schema() int { return len(f.upcasters) + 1 }

// formOf gives the form of the event type T.
func formOf[T any, P interface {
	*T
	Event
}](upcasters ...upcaster) form {
	return form{name: P(nil).EventType(), fresh: func() Event { return P(new(T)) }, upcasters: upcasters}
}

// forms is a set of stored forms, in the order they were listed.
type forms struct {
	list   []form
	byName map[string]form
}

func newForms(list ...form) forms {
	fs := forms{list: list, byName: make(map[string]form, len(list))}
	for _, f := range list {
		fs.byName[f.name] = f
	}
	return fs
}

// Errors of Decode, found with errors.Is.
var (
	// ErrUnknownEvent: no event of this name was ever stored by this version of
	// the program; a newer one may have.
	ErrUnknownEvent = errors.New("unknown event type")
	// ErrFutureEvent: the payload is of a later version than this program reads.
	ErrFutureEvent = errors.New("event of a later version")
)

// Encode gives the stored name, schema version and payload of an event.
func Encode(e Event) (name string, schema int, payload []byte, err error) {
	return stored.encode(e)
}

// Decode reads a stored event of any version ever written, bringing older
// payloads up step by step.
func Decode(name string, schema int, payload []byte) (Event, error) {
	return stored.decode(name, schema, payload)
}

// EventTypes lists every stored name, in the order of the table.
func EventTypes() []string {
	names := make([]string, len(stored.list))
	for i, f := range stored.list {
		names[i] = f.name
	}
	return names
}

func (fs forms) encode(e Event) (name string, schema int, payload []byte, err error) {
	f, ok := fs.byName[e.EventType()]
	if !ok {
		return "", 0, nil, fmt.Errorf("encode %s: %w", e.EventType(), ErrUnknownEvent)
	}
	payload, err = json.Marshal(e)
	if err != nil {
		return "", 0, nil, fmt.Errorf("encode %s: %w", f.name, err)
	}
	return f.name, f.schema(), payload, nil
}

func (fs forms) decode(name string, schema int, payload []byte) (Event, error) {
	f, ok := fs.byName[name]
	if !ok || schema < 1 {
		return nil, fmt.Errorf("decode %q version %d: %w", name, schema, ErrUnknownEvent)
	}
	if schema > f.schema() {
		return nil, fmt.Errorf("decode %s version %d (this program reads up to %d): %w", name, schema, f.schema(), ErrFutureEvent)
	}
	for v := schema; v < f.schema(); v++ {
		up, err := f.upcasters[v-1](payload)
		if err != nil {
			return nil, fmt.Errorf("bring %s from version %d to %d: %w", name, v, v+1, err)
		}
		payload = up
	}
	e := f.fresh()
	if err := json.Unmarshal(payload, e); err != nil {
		return nil, fmt.Errorf("decode %s version %d: %w", name, schema, err)
	}
	return e, nil
}
