package domain

import (
	"crypto/hmac"
	"crypto/sha256"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func testRefusal() Refusal {
	return Refusal{
		Code: CodeSoldOut, Sale: "28t5cy4t", Buyer: "buyer-00042", At: time.Date(2026, 11, 11, 0, 0, 1, 234567000, time.UTC), Bound: 1500 * time.Microsecond,
		Left: 0, Lines: []Line{{SKU: "shoe-42", Quantity: 1}}, Bucket: 3, Epoch: 2, Next: 71,
	}
}

func signed(t testing.TB, s *ReceiptSigner, r Refusal) string {
	t.Helper()
	text, ok := s.Append([]byte("x"), &r)
	if !ok || text[0] != 'x' {
		t.Fatalf("no receipt for %+v", r)
	}
	return string(text[1:])
}

func TestAReceiptSaysByWhatARefusalWasTold(t *testing.T) {
	s := NewReceiptSigner(testKeys())
	text := signed(t, s, testRefusal())
	got, err := s.Read(text)
	want := Receipt{
		Key: 1, Code: CodeSoldOut, Sale: "28t5cy4t", Buyer: got.Buyer, At: testRefusal().At, Bound: 2 * time.Millisecond, // rounded up: it still holds
		Item: ItemHash("shoe-42"), Quantity: 1, Bucket: 3, Epoch: 2, Next: 71,
	}
	if err != nil || got != want || len(text) != ReceiptLength {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	if !s.IsOf(got, "buyer-00042") || s.IsOf(got, "buyer-00043") || s.IsOf(got, "") {
		t.Error("it is not that buyer's, or also another one's")
	}
}

// The form is given away for good, and every node must read what any node signed.
func TestTheFormOfAReceiptIsFixed(t *testing.T) {
	const want = "AQEIEjRWeJoQAvOKdS0o_QAGX_TgXtaHAAIAAAAA22IBAAMAAAAAAgAAAABHP8cvzQjB03gGoTLw"
	if got := signed(t, NewReceiptSigner(testKeys()), testRefusal()); got != want {
		t.Errorf("got %q; want %q", got, want)
	}
}

func TestAReceiptGivesBackWhatFitsIntoIt(t *testing.T) {
	s := NewReceiptSigner(testKeys())
	rapid.Check(t, func(t *rapid.T) {
		r := Refusal{
			Code:  rapid.SampledFrom(receiptCodes[1:]).Draw(t, "code"),
			Sale:  SaleNumber(rapid.Uint64Range(0, 1<<40-1).Draw(t, "sale")).ID(),
			Buyer: rapid.StringMatching(`[!-~]{1,128}`).Draw(t, "buyer"),
			At:    time.UnixMicro(rapid.Int64Range(0, 1<<55).Draw(t, "at")).UTC(), Bound: time.Duration(rapid.Int64Range(-1, 1<<40).Draw(t, "bound")),
			Left: rapid.Int64Range(-1, 1<<33).Draw(t, "left"), Bucket: rapid.IntRange(-1, MaxBuckets-1).Draw(t, "bucket"),
			Epoch: rapid.Int64Range(0, 1<<40-1).Draw(t, "epoch"), Next: rapid.Int64Range(0, 1<<40-1).Draw(t, "next"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "lines") {
			r.Lines = append(r.Lines, Line{SKU: rapid.StringMatching(`[a-z]{1,8}`).Draw(t, "sku"), Quantity: rapid.Int64Range(1, MaxQuantity).Draw(t, "quantity")})
		}
		text, ok := s.Append(nil, &r)
		got, err := s.Read(string(text))
		if !ok || err != nil {
			t.Fatalf("%+v: %v, %v", r, ok, err)
		}
		if got.Code != r.Code || got.Sale != r.Sale || !got.At.Equal(r.At) || got.Bucket != r.Bucket || got.Epoch != r.Epoch || got.Next != r.Next || !s.IsOf(got, r.Buyer) {
			t.Fatalf("got %+v of %+v", got, r)
		}
		if known := r.Left >= 0 && r.Left < 1<<32-1; known && got.Left != r.Left || r.Left < 0 && got.Left != Unknown {
			t.Fatalf("got %d left, want %d", got.Left, r.Left)
		}
		if r.Bound < 0 && got.Bound != Unknown || r.Bound >= 0 && r.Bound < time.Minute && (got.Bound < r.Bound || got.Bound > r.Bound+time.Millisecond) {
			t.Fatalf("got ± %s, want %s or a little more", got.Bound, r.Bound)
		}
	})
}

func TestAReceiptWithAnyBitFlippedIsNoneOfOurs(t *testing.T) {
	s := NewReceiptSigner(testKeys())
	b, err := receiptText.DecodeString(signed(t, s, testRefusal()))
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 8 * len(b) {
		b[bit/8] ^= 1 << (bit % 8)
		if got, err := s.Read(receiptText.EncodeToString(b)); err != ErrBadReceipt {
			t.Errorf("bit %d: got %+v, %v; want ErrBadReceipt", bit, got, err)
		}
		b[bit/8] ^= 1 << (bit % 8)
	}
	other := Keys{Current: 1, Secrets: map[uint8][]byte{1: []byte("another secret of 32 bytes......")}}
	if got, err := NewReceiptSigner(other).Read(receiptText.EncodeToString(b)); err != ErrBadReceipt {
		t.Errorf("with another secret: got %+v, %v", got, err)
	}
	for _, text := range []string{"", "x", signed(t, s, testRefusal()) + "A"} {
		if _, err := s.Read(text); err != ErrBadReceipt {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

func TestAReceiptIsReadWithTheKeyItWasSignedWith(t *testing.T) {
	keys := testKeys()
	text := signed(t, NewReceiptSigner(keys), testRefusal())
	keys.Current, keys.Secrets[2] = 2, []byte("the next secret has 32 bytes too")
	next := NewReceiptSigner(keys)
	if r, err := next.Read(text); err != nil || r.Key != 1 || !next.IsOf(r, "buyer-00042") {
		t.Errorf("got %+v, %v; want it read with key 1", r, err)
	}
	if r, err := next.Read(signed(t, next, testRefusal())); err != nil || r.Key != 2 {
		t.Errorf("got %+v, %v; want the current key", r, err)
	}
}

func TestThereIsNoReceiptOfWhatCannotBeNamed(t *testing.T) {
	s := NewReceiptSigner(testKeys())
	for name, change := range map[string]func(*Refusal){
		"no sale": func(r *Refusal) { r.Sale = "" }, "another text": func(r *Refusal) { r.Sale = "../../x!" }, "no buyer": func(r *Refusal) { r.Buyer = "" },
		"a code that no purchase has": func(r *Refusal) { r.Code = CodeVersionConflict },
	} {
		r := testRefusal()
		change(&r)
		if text, ok := s.Append([]byte("x"), &r); ok || string(text) != "x" {
			t.Errorf("%s: got %q", name, text)
		}
	}
	if _, ok := NewReceiptSigner(Keys{}).Append(nil, &Refusal{Code: CodeBusy, Sale: "28t5cy4t", Buyer: "b"}); ok {
		t.Error("signed without a secret")
	}
}

// What others may verify by: HMAC-SHA-256 by a key of its own, as everybody has it.
func TestTheMACOfAReceiptIsHMAC(t *testing.T) {
	b, err := receiptText.DecodeString(signed(t, NewReceiptSigner(testKeys()), testRefusal()))
	if err != nil {
		t.Fatal(err)
	}
	m := hmac.New(sha256.New, derivedKey(testKeys().Secrets[1], "receipt"))
	m.Write(b[:receiptHead])
	if got, want := b[receiptHead:], m.Sum(nil)[:receiptMAC]; !hmac.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func FuzzReceipt(f *testing.F) {
	s := NewReceiptSigner(testKeys())
	r := testRefusal()
	text, _ := s.Append(nil, &r)
	f.Add(string(text))
	f.Fuzz(func(t *testing.T, text string) {
		said, err := ParseReceipt(text)
		if err == nil && !said.Code.Known() {
			t.Fatalf("read a code that is none: %+v", said)
		}
		if _, err := s.Read(text); err == nil && text != string(mustAppend(s)) {
			t.Fatalf("took %q for signed", text)
		}
	})
}

func mustAppend(s *ReceiptSigner) []byte {
	r := testRefusal()
	text, _ := s.Append(nil, &r)
	return text
}

// What a refusal costs more for its receipt.
func BenchmarkReceipt(b *testing.B) {
	s, r, text := NewReceiptSigner(testKeys()), testRefusal(), make([]byte, 0, ReceiptLength)
	b.ReportAllocs()
	for b.Loop() {
		text, _ = s.Append(text[:0], &r)
	}
}
