package commands

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"seckill/domain"
	"seckill/eventstore"
)

func TestTheFastWayReadsEveryStoredFormAsTheFullWayDoes(t *testing.T) {
	files, err := filepath.Glob("../domain/testdata/events/stock.*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("got %d golden files, %v", len(files), err)
	}
	for _, file := range files {
		payload, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(strings.TrimSuffix(filepath.Base(file), ".json"), ".v")
		number, _, _ := strings.Cut(parts[1], "-") // of what is in it
		schema, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		ev, err := domain.Decode(parts[0], schema, payload)
		if err != nil {
			t.Fatal(err)
		}
		want := domain.Account{}.Fold(ev)
		want.Version = 0
		c := chunkReader{chunk: &auditChunk{}, learned: map[stockForm]stockEffect{}}
		r := &eventstore.Record{Type: parts[0], Schema: schema, Payload: payload}
		for _, way := range []string{"full", "fast"} {
			said, plain := scanPayload(payload)
			got, err := c.stockChange(r, said, plain)
			if err != nil || got != want {
				t.Errorf("%s, %s way: got %+v, %v, want %+v", file, way, got, err, want)
			}
		}
		if said, _ := scanPayload(payload); said.quantity != 0 && len(c.learned) != 1 {
			t.Errorf("%s: its form was not learned, so that an audit reads each in full", file)
		}
	}
}

func FuzzScanPayload(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"sale_id":"a","order_id":"b","quantity":12}`, `{"quantity":-5,"x":{"quantity":7,"y":[1,"}",{}]}}`, `{"quantity":1,"quantity":2}`,
		`{"Quantity":3}`, `{"quantity":1e3}`, `{"quantity":1.0}`, `{"quantity": 04}`, `{"sale\u005fid":"x"}`, `{"sale_id":"a\"b"}`, `{"quantity":null}`,
		`{"ſale_id":"x"}`, `{"quantity":12345678901234567890}`, ` { "x" : "\\" , "quantity" : 9 } `, `[1]`, `{"a":[{"quantity":1}],"quantity":2}`, `{"quantity":1}}`,
		"{\"sale_id\":\"\x9d\x9d\"}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		said, plain := scanPayload(b)
		var full struct {
			Sale     *string `json:"sale_id"`
			Order    *string `json:"order_id"`
			Quantity *int64  `json:"quantity"`
		}
		if !plain || !json.Valid(b) {
			return
		}
		if err := json.Unmarshal(b, &full); err != nil {
			t.Fatalf("%q: plain, but in full: %v", b, err)
		}
		same := func(fast []byte, full *string) bool {
			return (fast == nil) == (full == nil) && (full == nil || *full == string(fast))
		}
		if !same(said.sale, full.Sale) || !same(said.order, full.Order) || said.hasQuantity != (full.Quantity != nil) || (full.Quantity != nil && *full.Quantity != said.quantity) {
			t.Errorf("%q: fast %q %q %d, full %v", b, said.sale, said.order, said.quantity, full)
		}
	})
}
