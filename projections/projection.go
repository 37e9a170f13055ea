package projections

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"seckill/domain"
	"seckill/eventstore"
)

// Projection folds records into rows of its own tables. Version goes up when
// the fold changes, so that it starts again beside the old checkpoints.
type Projection struct {
	Name    string
	Version int
	// Core projections are never paused, and readiness looks at them.
	Core bool
	// Reads is the prefix of the event types it folds. An event of that family
	// which this program does not know stops it; all others pass by.
	Reads string
	// Fold turns what happened, in order, into rows to write. It looks at nothing
	// else and changes nothing.
	Fold func(s Share, facts []Fact) (Rows, error)
	// Tables are the tables it writes, and nobody else. They stand in view_tables.
	Tables []string
	// Proof is what a rebuild is judged by.
	Proof Proof
}

// All is the one list of projections.
func All() []Projection {
	return []Projection{
		orderView(),
		stockLog(),
		saleSummary(),
	}
}

// Share is the part of the log that a fold is for: a shard of a store.
type Share struct {
	Store int16
	Shard int
}

// Fact is a record and the event in it.
type Fact struct {
	Record *eventstore.Record
	Event  domain.Event
}

// Rows are folded changes. Write brings them into the tables with few
// statements, in the transaction that also moves the checkpoint. Where it finds
// that the events cannot be applied to what stands, its error is ErrUnfit.
type Rows interface {
	Write(ctx context.Context, tx pgx.Tx) error
}

// orderRows are rows that change what is known about orders.
type orderRows interface{ changedOrders() []string }

// reads tells whether p folds an event.
func (p *Projection) reads(r *eventstore.Record) bool { return strings.HasPrefix(r.Type, p.Reads) }

// facts gives what p reads of records, by means of d, which readers projections
// share. A *FaultError, which is ErrUnfit, for an event that cannot be read.
func (p *Projection) facts(records []eventstore.Record, d *decoder, readers int) ([]Fact, error) {
	d.mu.Lock() // whoever comes second finds everything read
	defer d.mu.Unlock()
	var facts []Fact
	for i := range records {
		r := &records[i]
		if !p.reads(r) {
			continue
		}
		event, err := d.decode(r, readers)
		if err != nil {
			return nil, p.faultAt(r, &unfit{fmt.Errorf("read the event at position %d: %w", r.Position, err)})
		}
		if facts == nil {
			facts = make([]Fact, 0, len(records)-i)
		}
		facts = append(facts, Fact{Record: r, Event: event})
	}
	return facts, nil
}

// fold is Fold with every fault of it as ErrUnfit: a panic is one of the events,
// and takes nobody else down.
func (p *Projection) fold(s Share, facts []Fact) (rows Rows, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &unfit{fmt.Errorf("folding panicked: %v", v)}
		}
	}()
	rows, err = p.Fold(s, facts)
	if err != nil {
		return nil, &unfit{err}
	}
	return rows, nil
}

// traceOf gives the trace id in a record's metadata, "" when there is none.
func traceOf(r *eventstore.Record) string {
	var meta struct {
		TraceID string `json:"trace_id"`
	}
	if json.Unmarshal(r.Metadata, &meta) != nil {
		return ""
	}
	return meta.TraceID
}
