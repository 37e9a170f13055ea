package commands

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/eventstore"
)

// Env is what the outside world gives to every command: clock, chance, log and
// the identity of the event store. All fields are required.
type Env struct {
	Store uint8 // number of the event store, part of every order id and key
	// Node names this process: it stands beside what its buyers asked for. It may be
	// "", and has up to MaxNode letters, digits, dots, dashes and underscores.
	Node   string
	Keys   domain.Keys
	Now    func() time.Time
	Random io.Reader
	NewID  func() uuid.UUID
	Log    *slog.Logger
	// Step is called with the name of each point between two steps of the flow, so
	// that a test build can die there. It may be nil.
	Step func(name string)
}

// jitter gives a random time below most; most where there is no chance to be had.
func (e *Env) jitter(most time.Duration) time.Duration {
	var b [8]byte
	if _, err := io.ReadFull(e.Random, b[:]); err != nil || most <= 0 {
		return most
	}
	return time.Duration(binary.BigEndian.Uint64(b[:]) % uint64(most))
}

// MaxNode bounds the name of a node.
const MaxNode = 64

// step marks a point between two steps of the flow.
func (e *Env) step(name string) {
	if e.Step != nil {
		e.Step(name)
	}
}

// Meta is what every stored event says about how it came to be.
type Meta struct {
	TraceID string `json:"trace_id,omitempty"`
	By      string `json:"by,omitempty"`
	Entry   string `json:"entry,omitempty"`
	// Node is the process that took the purchase from its buyer.
	Node string `json:"node,omitempty"`
}

// newEvent encodes e for the log.
func (e *Env) newEvent(ev domain.Event, sale, order string, meta Meta) (eventstore.NewEvent, error) {
	metadata, err := meta.encode()
	if err != nil {
		return eventstore.NewEvent{}, err
	}
	return e.newEventWith(ev, sale, order, metadata)
}

func (m Meta) encode() ([]byte, error) {
	metadata, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode metadata: %w", err)
	}
	return metadata, nil
}

// newEventWith encodes e for the log beside metadata that is encoded already.
func (e *Env) newEventWith(ev domain.Event, sale, order string, metadata []byte) (eventstore.NewEvent, error) {
	name, schema, payload, err := domain.Encode(ev)
	if err != nil {
		return eventstore.NewEvent{}, err
	}
	return eventstore.NewEvent{
		ID: e.NewID(), Type: name, Schema: schema, SaleID: sale, OrderID: order, Payload: payload, Metadata: metadata,
	}, nil
}

// UnreadableError says which event cannot be read, and why (Unwrap).
type UnreadableError struct {
	Position int64
	Stream   string
	Version  int64
	Cause    error
}

// Error says where it stands.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("position %d, %s version %d: %v", e.Position, e.Stream, e.Version, e.Cause)
}

// Unwrap gives the cause, such as domain.ErrUnknownEvent.
func (e *UnreadableError) Unwrap() error { return e.Cause }

// decode reads the event of a record; the error is an *UnreadableError.
func decode(r *eventstore.Record) (domain.Event, error) {
	ev, err := domain.Decode(r.Type, r.Schema, r.Payload)
	if err != nil {
		return nil, &UnreadableError{Position: r.Position, Stream: r.Stream, Version: r.Version, Cause: err}
	}
	return ev, nil
}

// streamPage is how many records are read in one statement.
const streamPage = 500

// streamReader reads one stream.
type streamReader interface {
	ReadStream(ctx context.Context, stream string, after int64, max int) ([]eventstore.Record, error)
}

// eachRecord reads a stream after a version to its end, in short pages.
func eachRecord(ctx context.Context, log streamReader, stream string, after int64, f func(*eventstore.Record) error) error {
	for {
		page, err := log.ReadStream(ctx, stream, after, streamPage)
		if err != nil {
			return fmt.Errorf("read stream %s after %d: %w", stream, after, err)
		}
		for i := range page {
			if err := f(&page[i]); err != nil {
				return err
			}
			after = page[i].Version
		}
		if len(page) < streamPage {
			return nil
		}
	}
}

// traceOf reads the trace id out of a record's metadata, "" when there is none.
func traceOf(r *eventstore.Record) string {
	var m Meta
	if err := json.Unmarshal(r.Metadata, &m); err != nil {
		return ""
	}
	return m.TraceID
}
