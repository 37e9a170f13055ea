package commands

import (
	"encoding/json"
	"strconv"
)

// AppendPurchase appends to b the bytes that a gate puts into an entry for r: Purchase
// as encoding/json writes it, without what that costs where a hundred thousand are
// written in a second.
func AppendPurchase(b []byte, r *Reservation) []byte {
	b = appendText(append(b, `{"order":`...), r.Order)
	b = appendText(append(b, `,"buyer":`...), r.Buyer)
	b = appendText(append(b, `,"sale":`...), r.Place.Sale)
	b = strconv.AppendInt(append(b, `,"bucket":`...), int64(r.Place.Bucket), 10)
	if r.Lines == nil {
		b = append(b, `,"lines":null`...)
	} else {
		b = append(b, `,"lines":[`...)
		for i, l := range r.Lines {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendText(append(b, `{"sku":`...), l.SKU)
			b = strconv.AppendInt(append(b, `,"quantity":`...), l.Quantity, 10)
			b = append(b, '}')
		}
		b = append(b, ']')
	}
	for _, field := range [...]struct{ name, text string }{
		{`,"key":`, r.Key}, {`,"body":`, r.BodyHash}, {`,"trace":`, r.TraceID}, {`,"node":`, r.Node}, {`,"ticket":`, r.Ticket},
	} {
		if field.text != "" {
			b = appendText(append(b, field.name...), field.text)
		}
	}
	if r.Promised != 0 {
		b = strconv.AppendInt(append(b, `,"limit":`...), r.Promised, 10)
	}
	return append(b, '}')
}

// appendText appends s as a string of JSON, as encoding/json writes it.
func appendText(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // of a string it has no error
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
