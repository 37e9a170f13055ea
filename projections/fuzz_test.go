package projections

import (
	"errors"
	"reflect"
	"testing"
	"time"
)

// FuzzCursor: a cursor is taken only as it was written.
func FuzzCursor(f *testing.F) {
	f.Add(formatCursor(time.UnixMicro(1_700_000_000_000_000), "0101g000000000000000000000000000000000000000w"))
	f.Add(formatCursor(time.UnixMicro(-1<<62), "x"))
	f.Add("KzEgeA")
	f.Fuzz(func(t *testing.T, text string) {
		placed, id, err := parseCursor(text)
		if err != nil {
			if !errors.Is(err, ErrBadCursor) {
				t.Errorf("%q: got %v, want ErrBadCursor", text, err)
			}
			return
		}
		if again := formatCursor(placed, id); again != text || id == "" {
			t.Errorf("%q is read as %s and %q, which is written %q", text, placed, id, again)
		}
	})
}

// FuzzLines: lines of a row that are read are the same once written again.
func FuzzLines(f *testing.F) {
	f.Add([]byte(`[{"sku":"a","quantity":1,"price_minor":1990,"currency":"CNY"}]`))
	f.Add([]byte(`null`))
	f.Add([]byte(`[{"sku":"\ud800","quantity":-9223372036854775808}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := decodeLines(data)
		if err != nil {
			return
		}
		text, err := encodeLines(lines)
		if err != nil {
			t.Fatalf("%s was read and cannot be written: %v", data, err)
		}
		if again, err := decodeLines([]byte(text)); err != nil || !reflect.DeepEqual(again, lines) {
			t.Errorf("%s is read as %+v, written %s and read as %+v, %v", data, lines, text, again, err)
		}
	})
}
