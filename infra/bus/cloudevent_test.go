package bus

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"seckill/eventstore"
)

// Others read this form: what stands in the file never changes its meaning.
func TestACloudEventLooksAsItAlwaysDid(t *testing.T) {
	all := chain(7)
	var got bytes.Buffer
	for _, i := range []int{0, 2, 4} { // of an order, of a stock, with 汉字
		data, err := CloudEvent(EventSource("seckill", 1), &all[i])
		if err != nil {
			t.Fatal(err)
		}
		got.Write(append(data, '\n'))
	}
	want, err := os.ReadFile(filepath.Join("testdata", "cloudevents.v1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("got\n%s\nwant\n%s", got.Bytes(), want)
	}
}

func TestACloudEventHasWhatTheSpecificationAsksFor(t *testing.T) {
	r := chain(1)[0]
	data, err := CloudEvent("/seckill/x/1", &r)
	if err != nil {
		t.Fatal(err)
	}
	var e map[string]json.RawMessage
	if err := json.Unmarshal(data, &e); err != nil {
		t.Fatal(err)
	}
	for _, required := range []string{"id", "source", "specversion", "type"} {
		if len(e[required]) <= len(`""`) {
			t.Errorf("attribute %s is %s, want a text", required, e[required])
		}
	}
	for name := range e {
		for _, c := range name {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && name != "data_base64" {
				t.Errorf("attribute %q: want small letters and digits only", name)
			}
		}
	}
	if _, found := e["metadata"]; found || bytes.Contains(data, []byte("metadata")) {
		t.Error("the record's metadata went outside")
	}
}

// One bad record must not hold up those behind it.
func TestAPayloadThatIsNoJSONTravelsAsBase64(t *testing.T) {
	r := eventstore.Record{Position: 9, Stream: "order-a", Version: 1, Type: "order.placed", Payload: []byte{0xff, 0x00, '{'}}
	data, err := CloudEvent("/seckill/x/1", &r)
	if err != nil {
		t.Fatal(err)
	}
	var e struct {
		DataContentType string          `json:"datacontenttype"`
		Data            json.RawMessage `json:"data"`
		DataBase64      string          `json:"data_base64"`
	}
	if err := json.Unmarshal(data, &e); err != nil {
		t.Fatal(err)
	}
	back, err := base64.StdEncoding.DecodeString(e.DataBase64)
	if err != nil || !bytes.Equal(back, r.Payload) || e.Data != nil || e.DataContentType != "application/octet-stream" {
		t.Errorf("got %+v (error %v), want the bytes as base64 alone", e, err)
	}
}
