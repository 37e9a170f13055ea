package domain

import (
	"encoding/json"
	"errors"
	"fmt"
)

// form is one stored form of an event: its name, the version of its payload
// that is written today, a fresh value to read into, and the steps that bring
// older payloads up, upcasters[v-1] from version v to v+1.
type form struct {
	name      string
	schema    int
	fresh     func() Event
	upcasters []upcaster
}

// upcaster rewrites a payload of one version into the next.
type upcaster func(payload []byte) ([]byte, error)

// forms is the one table of events. Names and versions here are stored: never
// rename, never reuse, only add.
var forms = []form{
	{name: "sale.scheduled", schema: 1, fresh: func() Event { return new(SaleScheduled) }},
	{name: "sale.revised", schema: 1, fresh: func() Event { return new(SaleRevised) }},
	{name: "sale.preheated", schema: 1, fresh: func() Event { return new(SalePreheated) }},
	{name: "sale.paused", schema: 1, fresh: func() Event { return new(SalePaused) }},
	{name: "sale.resumed", schema: 1, fresh: func() Event { return new(SaleResumed) }},
	{name: "sale.closed", schema: 1, fresh: func() Event { return new(SaleClosed) }},
	{name: "stock.released", schema: 1, fresh: func() Event { return new(StockReleased) }},
	{name: "stock.reserved", schema: 1, fresh: func() Event { return new(StockReserved) }},
	{name: "stock.returned", schema: 1, fresh: func() Event { return new(StockReturned) }},
	{name: "stock.refused", schema: 1, fresh: func() Event { return new(StockRefused) }},
	{name: "stock.withdrawn", schema: 1, fresh: func() Event { return new(StockWithdrawn) }},
	{name: "stock.moved_out", schema: 1, fresh: func() Event { return new(StockMovedOut) }},
	{name: "stock.moved_in", schema: 1, fresh: func() Event { return new(StockMovedIn) }},
	{name: "order.placed", schema: 1, fresh: func() Event { return new(OrderPlaced) }},
	{name: "order.rejected", schema: 1, fresh: func() Event { return new(OrderRejected) }},
	{name: "order.paid", schema: 1, fresh: func() Event { return new(OrderPaid) }},
	{name: "order.cancelled", schema: 1, fresh: func() Event { return new(OrderCancelled) }},
	{name: "order.expired", schema: 1, fresh: func() Event { return new(OrderExpired) }},
}

var formByName = indexForms()

func indexForms() map[string]*form {
	m := make(map[string]*form, len(forms))
	for i := range forms {
		m[forms[i].name] = &forms[i]
	}
	return m
}

// EventType gives the stored name.
func (*SaleScheduled) EventType() string { return "sale.scheduled" }

// EventType gives the stored name.
func (*SaleRevised) EventType() string { return "sale.revised" }

// EventType gives the stored name.
func (*SalePreheated) EventType() string { return "sale.preheated" }

// EventType gives the stored name.
func (*SalePaused) EventType() string { return "sale.paused" }

// EventType gives the stored name.
func (*SaleResumed) EventType() string { return "sale.resumed" }

// EventType gives the stored name.
func (*SaleClosed) EventType() string { return "sale.closed" }

// EventType gives the stored name.
func (*StockReleased) EventType() string { return "stock.released" }

// EventType gives the stored name.
func (*StockReserved) EventType() string { return "stock.reserved" }

// EventType gives the stored name.
func (*StockReturned) EventType() string { return "stock.returned" }

// EventType gives the stored name.
func (*StockRefused) EventType() string { return "stock.refused" }

// EventType gives the stored name.
func (*StockWithdrawn) EventType() string { return "stock.withdrawn" }

// EventType gives the stored name.
func (*StockMovedOut) EventType() string { return "stock.moved_out" }

// EventType gives the stored name.
func (*StockMovedIn) EventType() string { return "stock.moved_in" }

// EventType gives the stored name.
func (*OrderPlaced) EventType() string { return "order.placed" }

// EventType gives the stored name.
func (*OrderRejected) EventType() string { return "order.rejected" }

// EventType gives the stored name.
func (*OrderPaid) EventType() string { return "order.paid" }

// EventType gives the stored name.
func (*OrderCancelled) EventType() string { return "order.cancelled" }

// EventType gives the stored name.
func (*OrderExpired) EventType() string { return "order.expired" }

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
	f, ok := formByName[e.EventType()]
	if !ok {
		return "", 0, nil, fmt.Errorf("encode %s: %w", e.EventType(), ErrUnknownEvent)
	}
	payload, err = json.Marshal(e)
	if err != nil {
		return "", 0, nil, fmt.Errorf("encode %s: %w", f.name, err)
	}
	return f.name, f.schema, payload, nil
}

// Decode reads a stored event of any version ever written, bringing older
// payloads up step by step.
func Decode(name string, schema int, payload []byte) (Event, error) {
	f, ok := formByName[name]
	if !ok {
		return nil, fmt.Errorf("decode %q: %w", name, ErrUnknownEvent)
	}
	if schema > f.schema || schema < 1 {
		return nil, fmt.Errorf("decode %s version %d (this program reads up to %d): %w", name, schema, f.schema, ErrFutureEvent)
	}
	for v := schema; v < f.schema; v++ {
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

// EventTypes lists every stored name, in the order of the table.
func EventTypes() []string {
	names := make([]string, len(forms))
	for i := range forms {
		names[i] = forms[i].name
	}
	return names
}
