package domain

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FuzzDecodeAndFold: whatever bytes stand under whatever name, reading and
// folding them never panics, and what can be read is written the same each time.
func FuzzDecodeAndFold(f *testing.F) {
	files, err := filepath.Glob("testdata/events/*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no golden payloads: %v", err)
	}
	for _, file := range files {
		payload, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		name, version, _ := strings.Cut(filepath.Base(file), ".v")
		f.Add(name, int(version[0]-'0'), payload)
	}
	f.Add("order.paid", 2, []byte("null"))
	f.Add("sale.revised", 1, []byte(`{"opens_at":"2026-11-01T01:30:00-24:00"}`))
	f.Add("nothing.known", -1, []byte("\x00"))
	f.Fuzz(func(t *testing.T, name string, schema int, payload []byte) {
		e, err := Decode(name, schema, payload)
		if err != nil {
			return
		}
		foldEverywhere(e)
		_, schema, first, err := Encode(e)
		if err != nil && strings.Contains(err.Error(), "timezone hour outside of range") {
			return // Go reads an offset of 24 hours and writes none: ValidateTerms keeps it out
		}
		if err != nil {
			t.Fatalf("%s was read from %q but cannot be written: %v", name, payload, err)
		}
		again, err := Decode(name, schema, first)
		if err != nil {
			t.Fatalf("%s was written as %s but cannot be read: %v", name, first, err)
		}
		if _, _, second, err := Encode(again); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s is written as %s, then as %s, %v", name, first, second, err)
		}
	})
}

// foldEverywhere folds an event onto states that expect it and that do not.
func foldEverywhere(e Event) {
	Sale{}.FoldSale(e).FoldSale(e).Judged()
	(Order{Status: OrderStatusExpired}).FoldOrder(e).FoldOrder(e).Standing()
	_ = Account{}.Fold(e).Fold(e).Left()
	s := NewStock(testStock)
	s.Take("o", "b", 1)
	_ = s.Fold(e) // an event of another stream is an error here, and no panic
	_ = s.Fold(e)
}

func FuzzParseOrderID(f *testing.F) {
	id, err := NewOrderID(testKeys(), Place{Store: 1, Sale: "28t5cy4t", Bucket: 3}, "buyer-1", [orderRandom]byte{1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(id, "buyer-1")
	f.Add(strings.Repeat("0", OrderIDLength), "")
	f.Add("", "\n")
	f.Fuzz(func(t *testing.T, s, buyer string) {
		ref, err := ParseOrderID(s)
		if err != nil {
			return
		}
		if ref.ID != s || ref.Lane < 0 || ref.Lane >= Lanes || ref.Place.Bucket >= MaxBuckets {
			t.Fatalf("%q: got %+v", s, ref)
		}
		if ref.Owned(testKeys(), buyer) && (s != id || buyer != "buyer-1") {
			t.Fatalf("%q of %q was never issued but is owned", s, buyer)
		}
	})
}

func FuzzParseSaleID(f *testing.F) {
	f.Add("28t5cy4t")
	f.Add("zzzzzzzz")
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := ParseSaleID(s); err == nil && n.ID() != s {
			t.Fatalf("%q is read as %d, which is written %q", s, n, n.ID())
		}
	})
}

func FuzzParseMoney(f *testing.F) {
	for _, s := range []string{"19.90", "0", "92233720368547758.07", "-1", "1e3"} {
		f.Add(s, "CNY")
	}
	f.Add("1", "JPY")
	f.Fuzz(func(t *testing.T, amount, currency string) {
		m, err := ParseMoney(amount, currency)
		if err != nil {
			return
		}
		if back, err := ParseMoney(m.Amount(), currency); err != nil || back != m || m.Minor < 0 {
			t.Fatalf("%q %s: got %+v, written %q, read again as %+v, %v", amount, currency, m, m.Amount(), back, err)
		}
	})
}

func FuzzParseEntryID(f *testing.F) {
	f.Add("7-42.3")
	f.Add("+7-042")
	f.Fuzz(func(t *testing.T, s string) {
		if e, err := ParseEntryID(s); err == nil && e.String() != s {
			t.Fatalf("%q is read as %+v, which is written %q", s, e, e)
		}
	})
}

func FuzzParseStockStream(f *testing.F) {
	f.Add("stock-28t5cy4t-mug-red-3")
	f.Add("stock---0")
	f.Fuzz(func(t *testing.T, s string) {
		if k, err := ParseStockStream(s); err == nil && k.Stream() != s {
			t.Fatalf("%q is read as %+v, which is written %q", s, k, k.Stream())
		}
	})
}

// Of all texts only the one that we signed is a ticket, for its buyer and its sale alone.
func FuzzParseTicket(f *testing.F) {
	const sale, buyer = "28t5cy4t", "buyer-1"
	ticket, err := NewTicket(testKeys(), sale, buyer, time.UnixMicro(1<<50))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(ticket, sale, buyer)
	f.Add(ticket[:TicketLength-1]+"B", sale, buyer)
	f.Add(ticket, "", sale+" "+buyer)
	f.Add(strings.Repeat("_", TicketLength), sale, buyer)
	f.Fuzz(func(t *testing.T, text, of, by string) {
		if strings.ContainsRune(of+by, ' ') {
			return // neither a sale's nor a buyer's id holds one
		}
		id, _, err := ParseTicket(testKeys(), of, by, text)
		switch {
		case err == nil && (text != ticket || of != sale || by != buyer || len(id) != 2*ticketMAC):
			t.Fatalf("%q was never given to %q for %q, and is taken as %q", text, by, of, id)
		case err != nil && !errors.Is(err, ErrBadTicket):
			t.Fatalf("%q: got %v, want ErrBadTicket", text, err)
		}
	})
}
