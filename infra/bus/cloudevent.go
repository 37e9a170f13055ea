package bus

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"seckill/eventstore"
)

// CloudEventType is the media type of what CloudEvent gives.
const CloudEventType = "application/cloudevents+json; charset=UTF-8"

// cloudEvent is a record as a CloudEvents 1.0 document in structured mode.
// Numbers that may pass 2^53 are text: JavaScript would round them.
//
// After the attributes of the specification come two of its documented
// extensions (partitionkey, sequence) and ours.
type cloudEvent struct {
	SpecVersion     string `json:"specversion"`
	ID              string `json:"id"`
	Source          string `json:"source"`
	Type            string `json:"type"`
	Subject         string `json:"subject"`
	Time            string `json:"time"`
	DataContentType string `json:"datacontenttype"`
	// PartitionKey is the stream: events of one stream come in order.
	PartitionKey string `json:"partitionkey"`
	// Sequence is the position, with leading zeros, so that it sorts as text.
	Sequence string `json:"sequence"`
	// StreamVersion counts from 1 within the stream, without holes.
	StreamVersion string `json:"streamversion"`
	// SchemaVersion is the version of the form of data.
	SchemaVersion int    `json:"schemaversion"`
	SaleID        string `json:"saleid,omitempty"`
	OrderID       string `json:"orderid,omitempty"`
	// LogHash is the record's link of the chain, in hexadecimal.
	LogHash string `json:"loghash"`

	Data       json.RawMessage `json:"data,omitempty"`
	DataBase64 []byte          `json:"data_base64,omitempty"`
}

// EventSource is the CloudEvents source of a store: "/seckill/{namespace}/{store}".
// Source and id together are unique; a repeated event repeats both.
func EventSource(namespace string, store int16) string {
	return "/seckill/" + namespace + "/" + strconv.Itoa(int(store))
}

// CloudEvent gives r as one CloudEvents 1.0 JSON document for those who do not
// know our envelope: data is the stored payload, type its stored name, subject
// its stream. A payload that is no JSON travels as base64 instead of holding up
// what follows. The record's metadata stays inside.
func CloudEvent(source string, r *eventstore.Record) ([]byte, error) {
	e := cloudEvent{
		SpecVersion: "1.0", ID: r.ID.String(), Source: source, Type: r.Type, Subject: r.Stream,
		Time: r.RecordedAt.UTC().Format(time.RFC3339Nano), DataContentType: "application/json",
		PartitionKey: r.Stream, Sequence: fmt.Sprintf("%019d", r.Position), StreamVersion: strconv.FormatInt(r.Version, 10),
		SchemaVersion: r.Schema, SaleID: r.SaleID, OrderID: r.OrderID, LogHash: r.Hash.String(),
	}
	if json.Valid(r.Payload) {
		e.Data = r.Payload
	} else {
		e.DataContentType, e.DataBase64 = "application/octet-stream", r.Payload
	}
	data, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode event at position %d as a CloudEvent: %w", r.Position, err)
	}
	return data, nil
}
