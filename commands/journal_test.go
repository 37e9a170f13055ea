package commands

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"seckill/domain"

	"github.com/google/go-cmp/cmp"
)

// goldenEntry is the body of an entry as gates write it in form 1.
func goldenEntry(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile("testdata/entry.v1.json")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(string(b), "\n")
}

// goldenReservations are what the purchases of the golden entry were asked with.
func goldenReservations() []Reservation {
	return []Reservation{
		{
			Order: "040g000328t5cy4t041061050r3gg28av4kp40kfnef10", Buyer: "buyer-00042",
			Place: domain.Place{Store: 1, Sale: "28t5cy4t", Bucket: 3},
			Lines: []domain.Line{{SKU: "mug-red", Quantity: 1}, {SKU: "mug-blue", Quantity: 1}},
			Key:   "6b23c0d5f35d1b11f9b683f0b0a617355deb11277d91ae091d399c655b87940d", BodyHash: "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
			TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", Eligible: true, Items: []string{"mug-red", "mug-blue"},
		},
		{
			Order: "040g00003f8k2m9p0g40r40m30e209185gr38e1w8124gk", Buyer: "auth0|5f2:<x>@y",
			Place: domain.Place{Store: 1, Sale: "3f8k2m9p"}, Lines: []domain.Line{{SKU: "tea", Quantity: 1}},
		},
	}
}

func TestAnEntryIsReadAsItWasWritten(t *testing.T) {
	body := goldenEntry(t)
	got, err := DecodeEntry(body)
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Date(2026, 11, 1, 5, 30, 0, 123_000, time.UTC); got.Form != 1 || !got.Time().Equal(want) {
		t.Errorf("form %d at %v; want 1 at %v", got.Form, got.Time(), want)
	}
	want := map[string]domain.Terms{
		"28t5cy4t": {Version: 4, LimitPerBuyer: 2, OrdersPerBuyer: 3, Rebuy: true, PaymentWindow: 900,
			Prices: map[string]domain.Money{"mug-red": {Minor: 1990, Currency: "CNY"}, "mug-blue": {Minor: 2050, Currency: "CNY"}}},
		"3f8k2m9p": {Version: 1, LimitPerBuyer: 1, OrdersPerBuyer: 1, PaymentWindow: 60,
			Prices: map[string]domain.Money{"tea": {Minor: 1500, Currency: "JPY"}}},
	}
	if diff := cmp.Diff(want, got.Terms); diff != "" {
		t.Errorf("terms (-want +got):\n%s", diff)
	}
	if again, err := json.Marshal(got); err != nil || string(again) != body {
		t.Errorf("written again:\n got %s, %v\nwant %s", again, err, body)
	}
}

func TestPurchasesStandInAnEntryAsTheirReservationsSay(t *testing.T) {
	body, err := DecodeEntry(goldenEntry(t))
	if err != nil {
		t.Fatal(err)
	}
	asked := goldenReservations()
	if len(body.Purchases) != len(asked) {
		t.Fatalf("got %d purchases; want %d", len(body.Purchases), len(asked))
	}
	for i, r := range asked {
		if raw := AppendPurchase(nil, &r); string(raw) != string(body.Purchases[i]) {
			t.Errorf("purchase %d:\n got %s\nwant %s", i+1, raw, body.Purchases[i])
		}
		want := Purchase{Order: r.Order, Buyer: r.Buyer, Sale: r.Place.Sale, Bucket: r.Place.Bucket, Lines: r.Lines, Key: r.Key, Body: r.BodyHash, TraceID: r.TraceID}
		got, err := decodePurchase(body.Purchases[i])
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("purchase %d: %v (-want +got):\n%s", i+1, err, diff)
		}
	}
}

// The node came later, as an optional field: entries without it are read on, and
// the form keeps its number.
func TestAPurchaseSaysWhichNodeTookIt(t *testing.T) {
	golden, err := os.ReadFile("testdata/entry.v1-node.json")
	if err != nil {
		t.Fatal(err)
	}
	body, err := DecodeEntry(strings.TrimSuffix(string(golden), "\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := goldenReservations()[1]
	r.Buyer, r.TraceID, r.Node = "buyer-00042", "4bf92f3577b34da6a3ce929d0e0e4736", "api-2"
	if raw := AppendPurchase(nil, &r); string(raw) != string(body.Purchases[0]) {
		t.Errorf("got %s; want %s", raw, body.Purchases[0])
	}
	if p, err := decodePurchase(body.Purchases[0]); err != nil || p.Node != "api-2" {
		t.Errorf("got %+v, %v; want the node", p, err)
	}
}

// The digest is over the bytes as they stand in the journal; other programs
// compute it from this vector.
func TestTheDigestOfTheGoldenEntry(t *testing.T) {
	got := domain.NextDigest(domain.FirstDigest(17, 3), goldenEntry(t))
	if want := "2708aca591dacf583532c12df9cd8fb30f346f73"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
}

// B65
func TestIdsInAnEntryAreStrings(t *testing.T) {
	for _, bad := range []string{`{"order":2127021556583370752}`, `{"buyer":7}`, `{"sale":7}`, `{"key":7}`, `{"lines":[{"sku":7,"quantity":1}]}`} {
		if p, err := decodePurchase([]byte(bad)); err == nil {
			t.Errorf("%s: got %+v; want an error", bad, p)
		}
	}
}

func TestAnEntryOfALaterFormStopsWithASentence(t *testing.T) {
	for body, form := range map[string]int{`{"form":4}`: 4, `{"form":4,"purchases":"another shape"}`: 4, `{"form":99,"at":{}}`: 99} {
		_, err := DecodeEntry(body)
		var future *FutureEntryError
		if !errors.As(err, &future) || future.Form != form {
			t.Errorf("%s: got %v; want the form named", body, err)
		}
	}
	if s := (&FutureEntryError{Form: 4}).Error(); !strings.Contains(s, "form 4") || !strings.Contains(s, "roll out readers before writers") {
		t.Errorf("got %q; want what to do", s)
	}
}

func TestAnUnreadableFrameIsNoLaterForm(t *testing.T) {
	for _, body := range []string{"", "{", "[]", "{}", `{"form":0}`, `{"form":-1}`, "null", `{"form":1} {"form":1}`, `{"form":"1"}`, `{"form":1,"at":1.5}`, `{"form":1,"terms":[]}`} {
		b, err := DecodeEntry(body)
		var future *FutureEntryError
		if err == nil || errors.As(err, &future) {
			t.Errorf("%q: got %+v, %v; want an unreadable frame", body, b, err)
		}
	}
}

func TestOneUnreadablePurchaseHidesNoNeighbour(t *testing.T) {
	body := strings.Replace(goldenEntry(t), `"purchases":[`, `"purchases":[null,{"order":["x"]},"text",`, 1)
	got, err := DecodeEntry(body)
	if err != nil || len(got.Purchases) != 5 {
		t.Fatalf("got %v; want an entry of 5 purchases", err)
	}
	for i, raw := range got.Purchases {
		if _, err := decodePurchase(raw); (err == nil) != (i >= 3) {
			t.Errorf("purchase %d, %s: got %v", i+1, raw, err)
		}
	}
}

func TestWhatCannotBeAPurchaseIsRefusedButStillKnown(t *testing.T) {
	for name, change := range map[string]func(*Purchase){
		"no buyer":              func(p *Purchase) { p.Buyer = "" },
		"no sale":               func(p *Purchase) { p.Sale = "" },
		"no lines":              func(p *Purchase) { p.Lines = nil },
		"quantity 0":            func(p *Purchase) { p.Lines[0].Quantity = 0 },
		"quantity below 0":      func(p *Purchase) { p.Lines[0].Quantity = -1 },
		"quantity beyond 2^31":  func(p *Purchase) { p.Lines[0].Quantity = domain.MaxQuantity + 1 },
		"a SKU twice":           func(p *Purchase) { p.Lines = append(p.Lines, p.Lines[0]) },
		"eleven lines":          func(p *Purchase) { p.Lines = make([]domain.Line, domain.MaxLines+1) },
		"a bucket below 0":      func(p *Purchase) { p.Bucket = -1 },
		"a bucket beyond 1,023": func(p *Purchase) { p.Bucket = domain.MaxBuckets },
	} {
		p := Purchase{Order: "o", Buyer: "b", Sale: "s", Lines: []domain.Line{{SKU: "a", Quantity: 1}}}
		change(&p)
		raw, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodePurchase(raw); err == nil || got.Order != "o" {
			t.Errorf("%s: got %+v, %v; want an error and order o", name, got, err)
		}
	}
	if got, err := decodePurchase([]byte(`{"bucket":"three","order":"o","lines":[{"sku":"a","quantity":1e3}]}`)); err == nil || got.Order != "o" {
		t.Errorf("wrong types: got %+v, %v; want an error and order o", got, err)
	}
}

func TestLinesArePricedByTheTermsOfTheEntry(t *testing.T) {
	cny := func(minor int64) domain.Money { return domain.Money{Minor: minor, Currency: "CNY"} }
	terms := domain.Terms{Prices: map[string]domain.Money{"a": cny(1990), "b": cny(1), "dear": cny(math.MaxInt64), "yen": {Minor: 5, Currency: "JPY"}}}
	lines, sum, err := priced([]domain.Line{{SKU: "a", Quantity: 2}, {SKU: "b", Quantity: 3}}, terms)
	want := []domain.OrderLine{{SKU: "a", Quantity: 2, Price: cny(1990)}, {SKU: "b", Quantity: 3, Price: cny(1)}}
	if diff := cmp.Diff(want, lines); err != nil || diff != "" || sum != cny(3983) {
		t.Errorf("got %v, %+v; want 39.83 (-want +got):\n%s", err, sum, diff)
	}
	for name, lines := range map[string][]domain.Line{
		"no price":               {{SKU: "c", Quantity: 1}},
		"a product that is huge": {{SKU: "dear", Quantity: 2}},
		"a sum that is huge":     {{SKU: "dear", Quantity: 1}, {SKU: "b", Quantity: 1}},
		"two currencies":         {{SKU: "a", Quantity: 1}, {SKU: "yen", Quantity: 1}},
	} {
		if _, sum, err := priced(lines, terms); err == nil {
			t.Errorf("%s: got %+v; want an error", name, sum)
		}
	}
}

// FuzzDecodeEntry: whatever stands in a journal, reading it never panics, and
// what can be read is written the same each time.
func FuzzDecodeEntry(f *testing.F) {
	f.Add(goldenEntry(f))
	f.Add(`{"form":1,"purchases":[null,7,{}]}`)
	f.Add(`{"form":3,"moves":[{}]}`)
	f.Add(`{"form":4}`)
	f.Fuzz(func(t *testing.T, body string) {
		b, err := DecodeEntry(body)
		if err != nil {
			return
		}
		for _, raw := range b.Purchases {
			if p, err := decodePurchase(raw); err == nil {
				if lines, _, err := priced(p.Lines, b.Terms[p.Sale]); err == nil && len(lines) != len(p.Lines) {
					t.Fatalf("%d lines became %d", len(p.Lines), len(lines))
				}
			}
		}
		first, err := json.Marshal(b)
		if err != nil {
			t.Fatalf("an entry that was read cannot be written: %v", err)
		}
		again, err := DecodeEntry(string(first))
		if err != nil {
			t.Fatalf("%s cannot be read again: %v", first, err)
		}
		if second, err := json.Marshal(again); err != nil || string(second) != string(first) {
			t.Fatalf("written as %s, then as %s, %v", first, second, err)
		}
	})
}

// The body is what the gate's script writes: it stays readable for ever.
func TestAnEntryWithAWithdrawalIsRead(t *testing.T) {
	const one = `{"id":"w1","sale":"28t5cy4t","bucket":0,"sku":"mug","quantity":5,"by":"admin-1","trace":"t"}`
	body := func(withdrawal string) JournalEntry {
		return JournalEntry{ID: domain.EntryID{Epoch: 7, N: 43}, Body: `{"form":2,"at":1,"terms":{},"purchases":[],"withdrawals":[` + withdrawal + `]}`}
	}
	got, err := openEntry(body(one))
	want := JournalWithdrawal{ID: "w1", Sale: "28t5cy4t", SKU: "mug", Quantity: 5, By: "admin-1", TraceID: "t"}
	if err != nil || len(got.purchases) != 0 || got.taken == nil || *got.taken.(*withdrawn) != (withdrawn{want, domain.EntryID{Epoch: 7, N: 43, I: 1}}) {
		t.Errorf("got %+v, %v; want %+v of entry 7-43.1", got, err, want)
	}
	for _, bad := range []string{`1`, `{}`, strings.Replace(one, `"quantity":5`, `"quantity":0`, 1), strings.Replace(one, "w1", "a b", 1), strings.Replace(one, "28t5cy4t", "x", 1)} {
		if _, err := openEntry(body(bad)); !errors.Is(err, errFrame) {
			t.Errorf("%s: got %v; want that the lane stops", bad, err)
		}
	}
}

// The body is what the gate's script writes: it stays readable for ever.
func TestAnEntryWithAMoveIsRead(t *testing.T) {
	const one = `{"id":"m1","sale":"28t5cy4t","bucket":2,"to":0,"sku":"mug","quantity":5,"trace":"t"}`
	body := func(move string) JournalEntry {
		return JournalEntry{ID: domain.EntryID{Epoch: 7, N: 43}, Body: `{"form":3,"at":1,"terms":{},"purchases":[],"moves":[` + move + `]}`}
	}
	got, err := openEntry(body(one))
	want := moved{JournalMove{ID: "m1", Sale: "28t5cy4t", Bucket: 2, SKU: "mug", Quantity: 5, TraceID: "t"}, domain.EntryID{Epoch: 7, N: 43, I: 1}}
	if err != nil || len(got.purchases) != 0 || got.taken == nil || *got.taken.(*moved) != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	written, err := EncodeMove(Move{ID: "m1", Place: domain.Place{Store: 1, Sale: "28t5cy4t", Bucket: 2}, SKU: "mug", Quantity: 5, TraceID: "t"})
	if err != nil || string(written) != one {
		t.Errorf("written: got %s, %v; want %s", written, err, one)
	}
	for _, bad := range []string{`1`, `{}`, strings.Replace(one, `"quantity":5`, `"quantity":0`, 1), strings.Replace(one, `"to":0`, `"to":2`, 1), strings.Replace(one, `"to":0`, `"to":1024`, 1)} {
		if _, err := openEntry(body(bad)); !errors.Is(err, errFrame) {
			t.Errorf("%s: got %v; want that the lane stops", bad, err)
		}
	}
}

// An entry is recorded in one transaction, so it holds one thing that is recorded by itself.
func TestAnEntryThatNoGateWritesStopsTheLane(t *testing.T) {
	const (
		withdrawal = `{"id":"w1","sale":"28t5cy4t","bucket":0,"sku":"mug","quantity":5}`
		move       = `{"id":"m1","sale":"28t5cy4t","bucket":2,"to":0,"sku":"mug","quantity":5}`
	)
	for _, body := range []string{
		`"purchases":[],"withdrawals":[` + withdrawal + `,` + withdrawal + `]`,
		`"purchases":[],"withdrawals":[` + withdrawal + `],"moves":[` + move + `]`,
		`"purchases":[{}],"moves":[` + move + `]`,
	} {
		e := JournalEntry{ID: domain.EntryID{Epoch: 7, N: 43}, Body: `{"form":3,"at":1,"terms":{},` + body + `}`}
		if got, err := openEntry(e); !errors.Is(err, errFrame) {
			t.Errorf("%s: got %+v, %v; want that the lane stops", body, got, err)
		}
	}
}
