package bus

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/eventstore"
)

// agree checks that the quick reader, where it reads something, reads what
// encoding/json reads.
func agree(t *testing.T, data []byte) (quick bool) {
	t.Helper()
	b, first, ok := decodeQuick(data)
	if !ok || first != firstPosition(b.Records) || b.Validate() != nil {
		return false
	}
	slow, err := decodeSlowly(data)
	if err != nil {
		t.Fatalf("read quickly, and not by encoding/json: %v\n%s", err, data)
	}
	if diff := cmp.Diff(slow, b); diff != "" {
		t.Fatalf("(- encoding/json, + quick):\n%s", diff)
	}
	return true
}

// plain is chain with names as our program gives them, of ASCII alone.
func plain(count int) []eventstore.Record {
	all := chain(count)
	for i := range all {
		if all[i].Stream == "order-汉字" {
			all[i].Stream, all[i].OrderID = "order-hanzi", "hanzi"
		}
	}
	return all
}

func TestWhatEncodeWritesIsReadQuickly(t *testing.T) {
	all := plain(200)
	for shard := range 8 {
		b := batchOf(all, shard, 8)
		if len(b.Records) == 0 {
			continue
		}
		data, err := Encode(b)
		if err != nil {
			t.Fatal(err)
		}
		if !agree(t, data) {
			t.Errorf("shard %d is not read quickly", shard)
		}
	}
	// Texts that need quoting are left to encoding/json.
	odd := batchOf(chain(3), 0, 1)
	odd.Records[1].Type = `order."placed"`
	data, err := Encode(odd)
	if err != nil {
		t.Fatal(err)
	}
	if agree(t, data) {
		t.Error("a quoted text is read quickly")
	}
	if got, err := Decode(data); err != nil || got.Records[1].Type != odd.Records[1].Type {
		t.Errorf("got %v, %v", got, err)
	}
}

func FuzzDecodeQuickAgreesWithJSON(f *testing.F) {
	golden, err := os.ReadFile(filepath.Join("testdata", "envelope.v1.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	data, err := Encode(batchOf(plain(5), 0, 1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) { agree(t, data) })
}

func BenchmarkDecode(b *testing.B) {
	data, err := Encode(batchOf(plain(250), 0, 1))
	if err != nil {
		b.Fatal(err)
	}
	for name, decode := range map[string]func(){
		"quick": func() { _, _ = Decode(data) },
		"json":  func() { _, _ = decodeSlowly(data) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				decode()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/250, "ns/event")
		})
	}
}
