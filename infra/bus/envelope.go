package bus

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"seckill/eventstore"
)

// EnvelopeForm is the version of the envelope's form that is written today.
// Readers of a new form are rolled out before writers.
const EnvelopeForm = 1

// envelope is the stored form of a batch. Prev and Last are "number:hash" of
// the log; First is the position of the first event, 0 when there is none.
type envelope struct {
	Form   int               `json:"form"`
	Store  int16             `json:"store"`
	Shard  int               `json:"shard"`
	Shards int               `json:"shards"`
	Prev   string            `json:"prev"`
	First  int64             `json:"first"`
	Last   string            `json:"last"`
	Events []json.RawMessage `json:"events"`
}

// event is the stored form of a record. Payload and Metadata are base64 of the
// exact bytes, so that its hash still verifies on the other side.
type event struct {
	Position   int64     `json:"position"`
	ID         uuid.UUID `json:"id"`
	Stream     string    `json:"stream"`
	Version    int64     `json:"version"`
	Type       string    `json:"type"`
	Schema     int       `json:"schema"`
	SaleID     string    `json:"sale_id,omitempty"`
	OrderID    string    `json:"order_id,omitempty"`
	RecordedAt time.Time `json:"recorded_at"`
	Payload    []byte    `json:"payload"`
	Metadata   []byte    `json:"metadata"`
	Hash       string    `json:"hash"`
}

// ErrFutureEnvelope is an envelope of a form this program does not read.
var ErrFutureEnvelope = errors.New("envelope of a later form")

// Encode gives the bytes of a batch as one envelope, whatever its size.
func Encode(b eventstore.Batch) ([]byte, error) {
	events := make([]json.RawMessage, len(b.Records))
	for i := range b.Records {
		e, err := encodeEvent(&b.Records[i])
		if err != nil {
			return nil, err
		}
		events[i] = e
	}
	return seal(b, events)
}

// Decode reads a batch back. What it gives has been validated. An error is
// ErrFutureEnvelope, or says that these bytes were never written by Encode.
func Decode(data []byte) (eventstore.Batch, error) {
	if b, first, ok := decodeQuick(data); ok && first == firstPosition(b.Records) && b.Validate() == nil {
		return b, nil
	}
	return decodeSlowly(data)
}

// decodeSlowly reads every envelope that there is, and tells what is wrong with
// one that there is not.
func decodeSlowly(data []byte) (eventstore.Batch, error) {
	var e envelopeV1
	err := json.Unmarshal(data, &e)
	if form := formOf(data, e.Form, err); form > EnvelopeForm {
		return eventstore.Batch{}, fmt.Errorf("read envelope of form %d (this program reads up to %d): %w", form, EnvelopeForm, ErrFutureEnvelope)
	}
	if err == nil && e.Form != 1 {
		err = fmt.Errorf("there is no form %d", e.Form)
	}
	var b eventstore.Batch
	if err == nil {
		b, err = e.batch()
	}
	if err != nil {
		return eventstore.Batch{}, fmt.Errorf("read envelope: %w", err)
	}
	return b, nil
}

// formOf gives the form of an envelope, also when a later form has changed the
// rest so much that reading failed.
func formOf(data []byte, read int, err error) int {
	if err == nil {
		return read
	}
	var head struct {
		Form int `json:"form"`
	}
	if json.Unmarshal(data, &head) != nil {
		return 0
	}
	return head.Form
}

// envelopeV1 is envelope with its events read in place.
type envelopeV1 struct {
	envelope
	Events []event `json:"events"`
}

func (e *envelopeV1) batch() (b eventstore.Batch, err error) {
	b = eventstore.Batch{Store: e.Store, Shard: e.Shard, Shards: e.Shards}
	if b.Prev, err = eventstore.ParseMark(e.Prev); err != nil {
		return b, err
	}
	if b.Last, err = eventstore.ParseMark(e.Last); err != nil {
		return b, err
	}
	b.Records = make([]eventstore.Record, len(e.Events))
	for i := range e.Events {
		if err := e.Events[i].into(&b.Records[i]); err != nil {
			return b, err
		}
	}
	if first := firstPosition(b.Records); first != e.First {
		return b, fmt.Errorf("its first event is at %d, not at %d as it says", first, e.First)
	}
	return b, b.Validate()
}

func encodeEvent(r *eventstore.Record) (json.RawMessage, error) {
	return appendEvent(make([]byte, 0, 512+(len(r.Payload)+len(r.Metadata))*4/3), r)
}

func (e *event) into(r *eventstore.Record) error {
	hash, err := eventstore.ParseHash(e.Hash)
	if err != nil {
		return fmt.Errorf("event at position %d: %w", e.Position, err)
	}
	*r = eventstore.Record{
		Position: e.Position, ID: e.ID, Stream: e.Stream, Version: e.Version, Type: e.Type, Schema: e.Schema,
		SaleID: e.SaleID, OrderID: e.OrderID, RecordedAt: e.RecordedAt.UTC(),
		Payload: e.Payload, Metadata: e.Metadata, Hash: hash,
	}
	return nil
}

// seal puts encoded events of b into an envelope.
func seal(b eventstore.Batch, events []json.RawMessage) ([]byte, error) {
	head, err := json.Marshal(envelope{
		Form: EnvelopeForm, Store: b.Store, Shard: b.Shard, Shards: b.Shards,
		Prev: b.Prev.String(), First: firstPosition(b.Records), Last: b.Last.String(),
	})
	if err != nil {
		return nil, fmt.Errorf("encode envelope after %d: %w", b.Prev.Number, err)
	}
	size := len(head)
	for _, e := range events {
		size += len(e) + 1
	}
	data := append(make([]byte, 0, size), head[:len(head)-len("null}")]...)
	data = append(data, '[')
	for i, e := range events {
		if i > 0 {
			data = append(data, ',')
		}
		data = append(data, e...)
	}
	return append(data, "]}"...), nil
}

func firstPosition(records []eventstore.Record) int64 {
	if len(records) == 0 {
		return 0
	}
	return records[0].Position
}
