package cli

import (
	"bufio"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"seckill/eventstore"
)

// event is a record with the contract's names.
type event struct {
	Position   int64           `json:"position"`
	EventID    string          `json:"event_id"`
	Stream     string          `json:"stream"`
	Version    int64           `json:"version"`
	Type       string          `json:"type"`
	Schema     int             `json:"schema"`
	SaleID     string          `json:"sale_id"`
	OrderID    string          `json:"order_id"`
	RecordedAt string          `json:"recorded_at"`
	Payload    json.RawMessage `json:"payload"`
	Metadata   json.RawMessage `json:"metadata"`
	Hash       string          `json:"hash"`
}

// recordedForm writes times with all their microseconds.
const recordedForm = "2006-01-02T15:04:05.000000Z07:00"

func newEvent(rec *eventstore.Record) event {
	return event{
		Position: rec.Position, EventID: rec.ID.String(), Stream: rec.Stream, Version: rec.Version, Type: rec.Type, Schema: rec.Schema,
		SaleID: rec.SaleID, OrderID: rec.OrderID, RecordedAt: rec.RecordedAt.UTC().Format(recordedForm),
		Payload: asJSON(rec.Payload), Metadata: asJSON(rec.Metadata), Hash: rec.Hash.String(),
	}
}

// writer gives what prints a record in the form that was asked for. Records are
// printed as they are stored: a type that this program does not know as well.
func (r *replayCmd) writer(out *bufio.Writer) func(*eventstore.Record) error {
	switch {
	case r.JSON:
		lines := newLines(out)
		return func(rec *eventstore.Record) error { return lines(newEvent(rec)) }
	case r.CSV:
		sheet := newSheet(out)
		sheet("position", "event_id", "stream", "version", "type", "schema", "sale_id", "order_id", "recorded_at", "payload", "metadata", "hash")
		return func(rec *eventstore.Record) error {
			e := newEvent(rec)
			return sheet(e.Position, e.EventID, e.Stream, e.Version, e.Type, e.Schema, e.SaleID, e.OrderID, e.RecordedAt, string(e.Payload), string(e.Metadata), e.Hash)
		}
	}
	return func(rec *eventstore.Record) error {
		e := newEvent(rec)
		_, err := fmt.Fprintf(out, "%8d  %s  %-15s %s@%d  %s\n", e.Position, e.RecordedAt, e.Type, e.Stream, e.Version, e.Payload)
		return err
	}
}

// newLines gives what writes one JSON object a line, as the stored bytes have it:
// nothing is escaped for HTML.
func newLines(out *bufio.Writer) func(any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return enc.Encode
}

// asJSON gives stored bytes as JSON; what is none as {"base64":…}, like the view
// events_json in the database.
func asJSON(b []byte) json.RawMessage {
	if json.Valid(b) {
		return b
	}
	return json.RawMessage(`{"base64":"` + base64.StdEncoding.EncodeToString(b) + `"}`)
}

// newSheet gives what writes rows of CSV as RFC 4180 has it: commas, quotes
// where needed, CRLF. Text that a spreadsheet would run as a formula gets an
// apostrophe before it; numbers are written as they are.
func newSheet(out io.Writer) func(cells ...any) error {
	w := csv.NewWriter(out)
	w.UseCRLF = true
	return func(cells ...any) error {
		row := make([]string, len(cells))
		for i, cell := range cells {
			row[i] = cellText(cell)
		}
		if err := w.Write(row); err != nil {
			return err
		}
		w.Flush()
		return w.Error()
	}
}

func cellText(cell any) string {
	switch v := cell.(type) {
	case int:
		return strconv.Itoa(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		return strconv.FormatBool(v)
	case string:
		return harmless(v)
	}
	return harmless(fmt.Sprint(cell))
}

// harmless keeps a spreadsheet from running text that begins like a formula.
func harmless(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r\n|%", rune(text[0])) {
		return "'" + text
	}
	return text
}
