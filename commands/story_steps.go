package commands

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"seckill/domain"
	"seckill/eventstore"
)

// metaOf reads a record's metadata; what cannot be read is the zero Meta.
func metaOf(r *eventstore.Record) Meta {
	var m Meta
	if json.Unmarshal(r.Metadata, &m) != nil {
		return Meta{}
	}
	return m
}

// stepOf tells an event of an order; ev is nil where it cannot be read.
func stepOf(r *eventstore.Record, ev domain.Event) StoryStep {
	meta := metaOf(r)
	return StoryStep{
		At: r.RecordedAt.UTC(), Clock: "log", Says: saysOf(r, ev), Type: r.Type, Position: r.Position, Stream: r.Stream, Version: r.Version,
		By: meta.By, TraceID: meta.TraceID, Entry: meta.Entry, Payload: payloadOf(r),
	}
}

// payloadOf gives a payload as JSON; bytes that are none as {"base64": …}.
func payloadOf(r *eventstore.Record) any {
	if json.Valid(r.Payload) {
		return json.RawMessage(r.Payload)
	}
	return map[string]string{"base64": base64.StdEncoding.EncodeToString(r.Payload)}
}

// saysOf is what an event of an order says, for people.
func saysOf(r *eventstore.Record, ev domain.Event) string {
	switch e := ev.(type) {
	case *domain.OrderPlaced:
		return fmt.Sprintf("placed: %s, %s %s, to be paid by %s", unitsInWords(e.Lines), e.Amount.Amount(), e.Amount.Currency, e.PayBy.UTC().Format("2006-01-02 15:04:05Z"))
	case *domain.OrderRejected:
		return withNote("rejected, reason "+string(e.Reason), e.Detail)
	case *domain.OrderPaid:
		return fmt.Sprintf("paid: %s %s, payment %s", e.Amount.Amount(), e.Amount.Currency, e.PaymentID)
	case *domain.OrderCancelled:
		says := "cancelled by " + e.By
		if !e.Restock {
			says += "; its units were written off"
		}
		return withNote(says, e.Note)
	case *domain.OrderExpired:
		return "expired: it was not paid in time"
	case *domain.OrderRefundDue:
		return fmt.Sprintf("%s %s of payment %s are due back: %s", e.Amount.Amount(), e.Amount.Currency, e.PaymentID, e.Reason)
	case *domain.StockReserved:
		return fmt.Sprintf("%d of %s taken from bucket %d", e.Quantity, e.SKU, e.Bucket)
	case *domain.StockReturned:
		return fmt.Sprintf("%d of %s back on sale in bucket %d: %s", e.Quantity, e.SKU, e.Bucket, e.Reason)
	case *domain.StockRefused:
		return fmt.Sprintf("%d of %s not kept: the gate gives them back (%s)", e.Quantity, e.SKU, e.Reason)
	case *domain.StockWrittenOff:
		return fmt.Sprintf("%d of %s written off: %s", e.Quantity, e.SKU, e.Reason)
	}
	return r.Type
}

func withNote(says, note string) string {
	if note == "" {
		return says
	}
	return says + ": " + note
}

func unitsInWords(lines []domain.OrderLine) string {
	parts := make([]string, len(lines))
	for i, l := range lines {
		parts[i] = fmt.Sprintf("%d × %s", l.Quantity, l.SKU)
	}
	return strings.Join(parts, ", ")
}
