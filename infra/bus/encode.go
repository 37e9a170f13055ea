package bus

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"seckill/eventstore"
)

// appendEvent appends the stored form of a record: the bytes that json.Marshal
// gives for event, at a fraction of its time. Every record of the log passes here.
func appendEvent(to []byte, r *eventstore.Record) ([]byte, error) {
	if year := r.RecordedAt.UTC().Year(); year < 0 || year > 9999 {
		return nil, fmt.Errorf("encode event at position %d: its time is in the year %d", r.Position, year)
	}
	to = strconv.AppendInt(append(to, `{"position":`...), r.Position, 10)
	to = append(append(append(to, `,"id":"`...), r.ID.String()...), '"')
	to = appendText(append(to, `,"stream":`...), r.Stream)
	to = strconv.AppendInt(append(to, `,"version":`...), r.Version, 10)
	to = appendText(append(to, `,"type":`...), r.Type)
	to = strconv.AppendInt(append(to, `,"schema":`...), int64(r.Schema), 10)
	if r.SaleID != "" {
		to = appendText(append(to, `,"sale_id":`...), r.SaleID)
	}
	if r.OrderID != "" {
		to = appendText(append(to, `,"order_id":`...), r.OrderID)
	}
	to = r.RecordedAt.UTC().AppendFormat(append(to, `,"recorded_at":"`...), time.RFC3339Nano)
	to = appendBytes(append(to, `","payload":`...), r.Payload)
	to = appendBytes(append(to, `,"metadata":`...), r.Metadata)
	to = hex.AppendEncode(append(to, `,"hash":"`...), r.Hash[:])
	return append(to, `"}`...), nil
}

// appendText appends s as a JSON string.
func appendText(to []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // a string always can be
			return append(to, quoted...)
		}
	}
	return append(append(append(to, '"'), s...), '"')
}

// appendBytes appends b in base64, or null.
func appendBytes(to, b []byte) []byte {
	if b == nil {
		return append(to, "null"...)
	}
	to = base64.StdEncoding.AppendEncode(append(to, '"'), b)
	return append(to, '"')
}
