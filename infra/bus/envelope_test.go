package bus

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"pgregory.net/rapid"

	"seckill/eventstore"
)

// chain gives count records as a store would: hashes linked, payloads of any bytes.
func chain(count int) []eventstore.Record {
	at := time.Date(2026, 11, 11, 0, 0, 0, 123456000, time.UTC)
	streams := []string{"order-a", "order-b", "stock-s-k-0", "sale-s", "order-汉字"}
	out := make([]eventstore.Record, count)
	var previous eventstore.Hash
	for i := range out {
		r := eventstore.Record{
			Position: int64(i + 1), Stream: streams[i%len(streams)], Version: int64(i/len(streams) + 1), Type: "order.placed", Schema: 1,
			SaleID: "s", RecordedAt: at.Add(time.Duration(i) * time.Microsecond),
			Payload: []byte(`{"n":1, "html":"<&>", "text":"汉字"}`), Metadata: []byte{'{', 0xff, 0x00, '}', byte(i)},
		}
		r.ID = uuid.NewSHA1(uuid.Nil, []byte{byte(i), byte(i >> 8)})
		if strings.HasPrefix(r.Stream, "order-") {
			r.OrderID = strings.TrimPrefix(r.Stream, "order-")
		}
		r.Hash = eventstore.ComputeHash(previous, &r)
		previous = r.Hash
		out[i] = r
	}
	return out
}

// batchOf gives the records of one shard of all.
func batchOf(all []eventstore.Record, shard, shards int) eventstore.Batch {
	b := eventstore.Batch{Store: 1, Shard: shard, Shards: shards, Last: all[len(all)-1].Head(), Records: []eventstore.Record{}}
	for _, r := range all {
		if r.Shard(shards) == shard {
			b.Records = append(b.Records, r)
		}
	}
	return b
}

func TestAnEnvelopeGivesBackTheExactBytesThatWereHashed(t *testing.T) {
	b := batchOf(chain(20), 0, 1)
	data, err := Encode(b)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, got); diff != "" {
		t.Errorf("(- before, + after):\n%s", diff)
	}
	at := got.Prev
	for i := range got.Records {
		if err := eventstore.CheckNext(at, &got.Records[i]); err != nil {
			t.Fatalf("the chain does not hold after the journey: %v", err)
		}
		at = got.Records[i].Head()
	}
}

// The form is stored in brokers: readers of today must read what was written
// then. A new form gets a new file; this one never changes.
func TestForm1LooksAsItAlwaysDid(t *testing.T) {
	all := chain(12)
	b := batchOf(all, eventstore.ShardOf("a", 8), 8).After(all[1].Head())
	golden := filepath.Join("testdata", "envelope.v1.json")
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want = bytes.TrimSpace(want)
	got, err := Encode(b)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	read, err := Decode(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, read); diff != "" {
		t.Errorf("the stored envelope reads as (- want, + got):\n%s", diff)
	}
}

func TestAnEnvelopeThatCannotBeTrustedIsRefused(t *testing.T) {
	data, err := Encode(batchOf(chain(20), 0, 1))
	if err != nil {
		t.Fatal(err)
	}
	good := string(data)
	for what, c := range map[string]struct{ bad, want string }{
		"cut off":           {good[:len(good)/2], "read envelope"},
		"another text":      {"hello", "read envelope"},
		"no form":           {strings.Replace(good, `"form":1`, `"form":0`, 1), "no form 0"},
		"shard out of 1":    {strings.Replace(good, `"shard":0`, `"shard":1`, 1), "shard 1 of 1"},
		"of other shards":   {strings.Replace(good, `"shards":1`, `"shards":8`, 1), "is of shard"},
		"first is not":      {strings.Replace(good, `"first":1`, `"first":2`, 1), "first event"},
		"prev without hash": {strings.Replace(good, `"prev":"0:"`, `"prev":"3:"`, 1), "parse mark"},
		"a hash too short":  {strings.Replace(good, `"hash":"`, `"hash":"0`, 1), "parse hash"},
		"a record twice":    {strings.Replace(good, `"position":2,`, `"position":1,`, 1), "out of place"},
	} {
		if c.bad == good {
			t.Fatalf("%s: nothing was spoilt", what)
		}
		if _, err := Decode([]byte(c.bad)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", what, err, c.want)
		}
	}
}

func TestALaterFormIsToldFromRubbish(t *testing.T) {
	for _, data := range []string{`{"form":2}`, `{"form":2,"events":"now a text","prev":7}`} {
		if _, err := Decode([]byte(data)); !errors.Is(err, ErrFutureEnvelope) {
			t.Errorf("%s: got %v, want ErrFutureEnvelope", data, err)
		}
	}
	if _, err := Decode([]byte(`{"events":"text"}`)); err == nil || errors.Is(err, ErrFutureEnvelope) {
		t.Errorf("rubbish: got %v, want another error", err)
	}
}

func FuzzDecode(f *testing.F) {
	golden, err := os.ReadFile(filepath.Join("testdata", "envelope.v1.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add([]byte(`{"form":1,"store":1,"shard":0,"shards":1,"prev":"0:","first":0,"last":"1:` + strings.Repeat("00", 32) + `","events":[]}`))
	f.Add([]byte(`{"form":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := Decode(data)
		if err != nil {
			return
		}
		if err := b.Validate(); err != nil {
			t.Fatalf("what was decoded is not valid: %v", err)
		}
		again, err := Encode(b)
		if err != nil {
			t.Fatalf("what was decoded cannot be encoded: %v", err)
		}
		got, err := Decode(again)
		if err != nil {
			t.Fatalf("what was encoded cannot be decoded: %v", err)
		}
		if diff := cmp.Diff(b, got); diff != "" {
			t.Fatalf("second journey (- before, + after):\n%s", diff)
		}
	})
}

// The form is what json.Marshal makes of event, byte for byte.
func TestEventsAreEncodedAsTheirFormSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := eventstore.Record{
			Position: rapid.Int64().Draw(t, "position"), Stream: rapid.String().Draw(t, "stream"), Version: rapid.Int64().Draw(t, "version"),
			Type: rapid.StringMatching(`[a-z.]*`).Draw(t, "type"), Schema: rapid.Int().Draw(t, "schema"),
			SaleID: rapid.String().Draw(t, "sale"), OrderID: rapid.StringMatching(`[a-z0-9<>&"\\\x00-\x1f]*`).Draw(t, "order"),
			RecordedAt: time.UnixMicro(rapid.Int64Range(0, 1<<55).Draw(t, "time")),
			Payload:    rapid.SliceOf(rapid.Byte()).Draw(t, "payload"), Metadata: rapid.SliceOf(rapid.Byte()).Draw(t, "metadata"),
		}
		copy(r.ID[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
		copy(r.Hash[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "hash"))
		if rapid.Bool().Draw(t, "nothing") {
			r.Payload, r.SaleID = nil, ""
		}
		got, err := encodeEvent(&r)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(event{
			Position: r.Position, ID: r.ID, Stream: r.Stream, Version: r.Version, Type: r.Type, Schema: r.Schema,
			SaleID: r.SaleID, OrderID: r.OrderID, RecordedAt: r.RecordedAt.UTC(), Payload: r.Payload, Metadata: r.Metadata, Hash: r.Hash.String(),
		})
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	})
}
