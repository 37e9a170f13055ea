package archive

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"seckill/eventstore"
	"seckill/eventstore/seal"
)

// Form is the version of the form that is written and read.
const Form = 1

// Header is the first line. Previous is the hash of the record before First, 64
// zeros before position 1.
type Header struct {
	Archive  int    `json:"archive"`
	Store    string `json:"store"`
	First    int64  `json:"first"`
	Last     int64  `json:"last"`
	Previous string `json:"previous"`
}

// recordLine is a record. Payload and metadata are base64 of the stored bytes.
type recordLine struct {
	Position   int64  `json:"position"`
	EventID    string `json:"event_id"`
	Stream     string `json:"stream"`
	Version    int64  `json:"version"`
	Type       string `json:"type"`
	Schema     int    `json:"schema"`
	SaleID     string `json:"sale_id"`
	OrderID    string `json:"order_id"`
	RecordedAt string `json:"recorded_at"`
	Payload    string `json:"payload"`
	Metadata   string `json:"metadata"`
	Hash       string `json:"hash"`
}

type sealLine struct {
	Seal seal.Wire `json:"seal"`
}

// End is the last line: a file without it was cut off.
type End struct {
	Records int64  `json:"records"`
	Seals   int    `json:"seals"`
	Head    string `json:"head"`
}

type endLine struct {
	End End `json:"end"`
}

func lineOf(r *eventstore.Record) recordLine {
	return recordLine{
		Position: r.Position, EventID: r.ID.String(), Stream: r.Stream, Version: r.Version, Type: r.Type, Schema: r.Schema,
		SaleID: r.SaleID, OrderID: r.OrderID, RecordedAt: r.RecordedAt.UTC().Format(seal.TimeForm),
		Payload: base64.StdEncoding.EncodeToString(r.Payload), Metadata: base64.StdEncoding.EncodeToString(r.Metadata), Hash: r.Hash.String(),
	}
}

// parseRecord reads a line of a record into r.
func parseRecord(line []byte, r *eventstore.Record) error {
	var l recordLine
	if err := json.Unmarshal(line, &l); err != nil {
		return err
	}
	*r = eventstore.Record{
		Position: l.Position, Stream: l.Stream, Version: l.Version, Type: l.Type, Schema: l.Schema, SaleID: l.SaleID, OrderID: l.OrderID,
	}
	var err error
	if r.ID, err = uuid.Parse(l.EventID); err != nil {
		return fmt.Errorf("event_id: %w", err)
	}
	if r.RecordedAt, err = time.Parse(seal.TimeForm, l.RecordedAt); err != nil {
		return fmt.Errorf("recorded_at: %w", err)
	}
	if r.Payload, err = base64.StdEncoding.DecodeString(l.Payload); err != nil {
		return fmt.Errorf("payload: %w", err)
	}
	if r.Metadata, err = base64.StdEncoding.DecodeString(l.Metadata); err != nil {
		return fmt.Errorf("metadata: %w", err)
	}
	r.Hash, err = eventstore.ParseHash(l.Hash)
	return err
}
