package eventstore_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"seckill/eventstore"
)

// vector is one record of docs/log-hash.md.
type vector struct {
	Previous   string    `json:"previous"`
	Position   int64     `json:"position"`
	EventID    uuid.UUID `json:"event_id"`
	Stream     string    `json:"stream"`
	Version    int64     `json:"version"`
	Type       string    `json:"type"`
	Schema     int       `json:"schema"`
	RecordedAt string    `json:"recorded_at"`
	Payload    string    `json:"payload"`
	Metadata   string    `json:"metadata"`
	Hash       string    `json:"hash"`
}

func publishedVectors(t *testing.T) []vector {
	t.Helper()
	doc, err := os.ReadFile("../docs/log-hash.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(doc)
	if block == nil {
		t.Fatal("docs/log-hash.md has no block of JSON")
	}
	var vectors []vector
	if err := json.Unmarshal(block[1], &vectors); err != nil {
		t.Fatal(err)
	}
	return vectors
}

func (v vector) record(t *testing.T) eventstore.Record {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, v.RecordedAt)
	if err != nil {
		t.Fatal(err)
	}
	return eventstore.Record{
		Position: v.Position, ID: v.EventID, Stream: v.Stream, Version: v.Version, Type: v.Type, Schema: v.Schema,
		RecordedAt: at, Payload: []byte(v.Payload), Metadata: []byte(v.Metadata),
	}
}

func TestTheHashIsTheOnePublishedInTheDocs(t *testing.T) {
	vectors := publishedVectors(t)
	if len(vectors) < 3 {
		t.Fatalf("got %d vectors, want at least three", len(vectors))
	}
	for i, v := range vectors {
		previous, err := eventstore.ParseHash(v.Previous)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 && v.Previous != vectors[i-1].Hash {
			t.Errorf("vector %d does not follow the one before", i)
		}
		r := v.record(t)
		if got := eventstore.ComputeHash(previous, &r).String(); got != v.Hash {
			t.Errorf("vector %d: got %s, want %s", i, got, v.Hash)
		}
	}
}

func TestEveryStoredFieldChangesTheHash(t *testing.T) {
	base := publishedVectors(t)[1].record(t)
	var none eventstore.Hash
	want := eventstore.ComputeHash(none, &base)
	changes := map[string]func(*eventstore.Record){
		"position":    func(r *eventstore.Record) { r.Position++ },
		"id":          func(r *eventstore.Record) { r.ID[15]++ },
		"stream":      func(r *eventstore.Record) { r.Stream += "x" },
		"version":     func(r *eventstore.Record) { r.Version++ },
		"type":        func(r *eventstore.Record) { r.Type += "x" },
		"schema":      func(r *eventstore.Record) { r.Schema++ },
		"recorded_at": func(r *eventstore.Record) { r.RecordedAt = r.RecordedAt.Add(time.Microsecond) },
		"payload":     func(r *eventstore.Record) { r.Payload = append(r.Payload, ' ') },
		"metadata":    func(r *eventstore.Record) { r.Metadata = append(r.Metadata, ' ') },
		"a byte moved from payload to metadata": func(r *eventstore.Record) {
			last := len(r.Payload) - 1
			r.Metadata = append([]byte{r.Payload[last]}, r.Metadata...)
			r.Payload = r.Payload[:last]
		},
	}
	for name, change := range changes {
		r := base
		r.Payload, r.Metadata = append([]byte(nil), base.Payload...), append([]byte(nil), base.Metadata...)
		change(&r)
		if eventstore.ComputeHash(none, &r) == want {
			t.Errorf("changing %s: got the same hash", name)
		}
	}
	if eventstore.ComputeHash(eventstore.Hash{1}, &base) == want {
		t.Error("changing the previous hash: got the same hash")
	}
	elsewhere := base
	elsewhere.RecordedAt = base.RecordedAt.In(time.FixedZone("", 8*3600)).Add(300 * time.Nanosecond)
	if eventstore.ComputeHash(none, &elsewhere) != want {
		t.Error("the same microsecond in another zone: got another hash")
	}
}

func TestAMarkIsReadBackAsItWasWritten(t *testing.T) {
	for _, m := range []eventstore.Mark{{}, {Number: 7, Hash: eventstore.Hash{1, 2, 255}}} {
		got, err := eventstore.ParseMark(m.String())
		if err != nil || got != m {
			t.Errorf("%s: got %v, %v, want it back", m, got, err)
		}
	}
	for _, bad := range []string{"", "0", "7", "7:", "0:" + strings.Repeat("0", 64), "-1:", "7:xyz", "7:" + strings.Repeat("0", 63), "x:" + strings.Repeat("0", 64)} {
		if m, err := eventstore.ParseMark(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, m)
		}
	}
}

func FuzzAMarkThatParsesPrintsTheSameMark(f *testing.F) {
	f.Add("0:")
	f.Add("12:" + strings.Repeat("ab", 32))
	f.Fuzz(func(t *testing.T, s string) {
		m, err := eventstore.ParseMark(s)
		if err != nil {
			return
		}
		again, err := eventstore.ParseMark(m.String())
		if err != nil || again != m {
			t.Errorf("%q: got %v, %v, want %v", s, again, err, m)
		}
	})
}

func TestWhatIsLeftIsReleasedMinusReservedPlusReturned(t *testing.T) {
	if got := (eventstore.Guard{Released: 10, Reserved: 7, Returned: 2}).Left(); got != 5 {
		t.Errorf("got %d, want 5", got)
	}
}
