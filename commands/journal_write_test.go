package commands

import (
	"encoding/json"
	"testing"

	"seckill/domain"
)

// FuzzAPurchaseIsWrittenAsEncodingJSONWouldWriteIt: what is written by hand for the sake
// of speed may differ in no byte, whatever stands in it.
func FuzzAPurchaseIsWrittenAsEncodingJSONWouldWriteIt(f *testing.F) {
	f.Add("040g000328t5cy4t04", "auth0|5f2:<x>@y", "mug-red", "6b23", "", int64(1), int64(0), uint8(1))
	f.Add("a\"b\\c", "\x00\x1f\x7f", "\u2028é\xff", "<&>", "t", int64(-1), int64(7), uint8(0))
	f.Add("", "", "", "", "", int64(0), int64(-9), uint8(3))
	f.Fuzz(func(t *testing.T, order, buyer, sku, key, ticket string, quantity, promised int64, lines uint8) {
		r := Reservation{
			Order: order, Buyer: buyer, Place: domain.Place{Sale: sku, Bucket: int(lines)}, Key: key, BodyHash: ticket,
			Ticket: ticket, TraceID: buyer, Node: key, Promised: promised,
		}
		if lines > 0 {
			r.Lines = make([]domain.Line, lines%12)
		}
		for i := range r.Lines {
			r.Lines[i] = domain.Line{SKU: sku, Quantity: quantity + int64(i)}
		}
		want, err := json.Marshal(Purchase{
			Order: order, Buyer: buyer, Sale: sku, Bucket: int(lines), Lines: r.Lines, Key: key, Body: ticket,
			TraceID: buyer, Node: key, Ticket: ticket, Limit: promised,
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendPurchase(nil, &r); string(got) != string(want) {
			t.Fatalf("got %s\nwant %s", got, want)
		}
	})
}
