package api

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"seckill/domain"
)

// What the hand-written reader accepts, encoding/json reads in the same way with
// unknown fields refused; and nothing it accepts is out of range.
func FuzzPurchaseBody(f *testing.F) {
	for _, body := range []string{
		oneShoe, `{"lines":[{"sku":"a","quantity":1},{"sku":"b","quantity":2}]}`, `{"sku":"\u0061","quantity":2147483648}`,
		`{"lines":[],"sku":"a"}`, `{"sku":"a","sku":"b","quantity":1}`, `[1,[2,{"a":"]"}]]`, `{"lines":[{"sku":"a\"","quantity":-1}]} `, `"\\"`, `1`, ` {} `,
		`{"sku":"a","quantity":01}`, `{"sku":"a","quantity":2147483648}`, `{"sku":"a","quantity":}`, `{"sku":"a","quantity":1}}`, `{"sku":"","quantity":1}`, ``, ` `,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		lines, err := purchaseLines(body)
		if err != nil {
			if _, plain := plainPurchase(body); plain {
				t.Errorf("%s is plain and refused: %v", body, err)
			}
			return
		}
		if !json.Valid(body) {
			t.Fatalf("%q was read as a purchase and is no JSON", body)
		}
		if slow, err := decodePurchase(body); err != nil || !cmp.Equal(lines, slow) {
			t.Errorf("%s: read as %v, and as %v, %v the long way", body, lines, slow, err)
		}
		bad := checkJSON("", skipSpace(body), nil)
		if len(bad) > 0 {
			t.Errorf("%s was read as a purchase and breaks the rules of every body: %v", body, bad)
		}
		var want struct {
			SKU      *string       `json:"sku"`
			Quantity *int64        `json:"quantity"`
			Lines    []domain.Line `json:"lines"`
		}
		strict := json.NewDecoder(bytes.NewReader(body))
		strict.DisallowUnknownFields()
		if err := strict.Decode(&want); err != nil {
			t.Fatalf("%s was read as a purchase, but: %v", body, err)
		}
		if want.SKU != nil {
			want.Lines = append(want.Lines, domain.Line{SKU: *want.SKU, Quantity: *want.Quantity})
		}
		if diff := cmp.Diff(want.Lines, lines); diff != "" {
			t.Errorf("%s: lines differ (-want +got):\n%s", body, diff)
		}
		for _, l := range lines {
			if !domain.ValidSKU(l.SKU) || l.Quantity < 1 || l.Quantity > domain.MaxQuantity {
				t.Errorf("%s: line %+v is out of range", body, l)
			}
		}
	})
}

func FuzzHeaders(f *testing.F) {
	f.Add("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "zh;q=0.5, en")
	f.Fuzz(func(t *testing.T, parent, language string) {
		if id, ok := parentTrace(parent); ok && (len(id) != 32 || !lowerHex(id) || zeros(id)) {
			t.Errorf("%q gave trace id %q", parent, id)
		}
		if l := languageOf(language); l != "en" && l != "zh" {
			t.Errorf("%q gave language %q", language, l)
		}
	})
}
