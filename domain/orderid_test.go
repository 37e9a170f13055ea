package domain

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func testKeys() Keys {
	return Keys{Current: 1, Secrets: map[uint8][]byte{1: []byte("0123456789abcdef0123456789abcdef")}}
}

func newTestOrder(t *testing.T, keys Keys, p Place, buyer string) string {
	t.Helper()
	id, err := NewOrderID(keys, p, buyer, [orderRandom]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestAnOrderIDSaysWhereItsOrderLives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Place{
			Store:  rapid.Uint8().Draw(t, "store"),
			Sale:   SaleNumber(rapid.Uint64Range(0, 1<<40-1).Draw(t, "sale")).ID(),
			Bucket: rapid.IntRange(0, MaxBuckets-1).Draw(t, "bucket"),
		}
		buyer := rapid.StringMatching(`[!-~]{1,128}`).Draw(t, "buyer")
		random := [orderRandom]byte(rapid.SliceOfN(rapid.Byte(), orderRandom, orderRandom).Draw(t, "random"))
		id, err := NewOrderID(testKeys(), p, buyer, random)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseOrderID(id)
		if want := (OrderRef{ID: id, Key: 1, Lane: p.Lane(), Place: p}); err != nil || got != want {
			t.Fatalf("%s: got %+v, %v; want %+v", id, got, err, want)
		}
		if !got.Owned(testKeys(), buyer) {
			t.Fatalf("%s is not owned by %q, who it was made for", id, buyer)
		}
		if got.Owned(testKeys(), buyer+"x") || got.Owned(testKeys(), "") {
			t.Fatalf("%s of %q is owned by somebody else", id, buyer)
		}
	})
}

// The form is stored, and the check must be the same on every node.
func TestTheFormOfAnOrderIDIsFixed(t *testing.T) {
	got := newTestOrder(t, testKeys(), Place{Store: 1, Sale: "28t5cy4t", Bucket: 3}, "buyer-00042")
	if want := "040g000328t5cy4t041061050r3gg28av4kp40kfnef10"; got != want || len(got) != OrderIDLength {
		t.Errorf("got %q; want %q", got, want)
	}
}

func TestAnIDWithAnyBitFlippedIsNobodysOrder(t *testing.T) {
	id := newTestOrder(t, testKeys(), Place{Store: 1, Sale: "28t5cy4t", Bucket: 3}, "buyer-1")
	bytes, err := base32Text.DecodeString(id)
	if err != nil {
		t.Fatal(err)
	}
	readable := 0
	for bit := range len(bytes) * 8 {
		bytes[bit/8] ^= 1 << (bit % 8)
		forged := base32Text.EncodeToString(bytes)
		bytes[bit/8] ^= 1 << (bit % 8)
		ref, err := ParseOrderID(forged)
		if err != nil {
			continue
		}
		readable++
		if ref.Owned(testKeys(), "buyer-1") {
			t.Errorf("bit %d: %s was never issued but is owned", bit, forged)
		}
	}
	if readable < 200 {
		t.Errorf("only %d of %d forged ids could be read: the check was hardly asked", readable, len(bytes)*8)
	}
}

func TestAnOrderIDIsCheckedWithTheKeyItWasMadeWith(t *testing.T) {
	p := Place{Store: 1, Sale: "28t5cy4t", Bucket: 3}
	ref, err := ParseOrderID(newTestOrder(t, testKeys(), p, "buyer-1"))
	if err != nil {
		t.Fatal(err)
	}
	turned := testKeys()
	turned.Current, turned.Secrets[2] = 2, []byte("another secret, of thirty-two by")
	if !ref.Owned(turned, "buyer-1") {
		t.Error("an id of before the key was changed is not owned any more")
	}
	if id := newTestOrder(t, turned, p, "buyer-1"); id == ref.ID {
		t.Error("a new key made the same id")
	}
	for name, keys := range map[string]Keys{
		"no keys":           {Current: 1},
		"an empty secret":   {Current: 1, Secrets: map[uint8][]byte{1: {}}},
		"somebody's secret": {Current: 1, Secrets: map[uint8][]byte{1: []byte("fedcba9876543210fedcba9876543210")}},
	} {
		if ref.Owned(keys, "buyer-1") {
			t.Errorf("owned with %s", name)
		}
	}
}

func TestNoOrderIDIsMadeThatCouldNotBeFoundAgain(t *testing.T) {
	good := Place{Store: 1, Sale: "28t5cy4t", Bucket: 3}
	for name, c := range map[string]struct {
		keys Keys
		p    Place
	}{
		"no secret":         {Keys{Current: 1}, good},
		"a key of no one":   {Keys{Current: 9, Secrets: testKeys().Secrets}, good},
		"bucket too high":   {testKeys(), Place{Sale: good.Sale, Bucket: MaxBuckets}},
		"bucket below zero": {testKeys(), Place{Sale: good.Sale, Bucket: -1}},
		"no sale id":        {testKeys(), Place{Sale: "spring"}},
	} {
		if id, err := NewOrderID(c.keys, c.p, "buyer-1", [orderRandom]byte{}); err == nil {
			t.Errorf("%s: got %s; want an error", name, id)
		}
	}
}

func TestAnOrderIDHasOneSpelling(t *testing.T) {
	id := newTestOrder(t, testKeys(), Place{Store: 1, Sale: "28t5cy4t", Bucket: 3}, "buyer-1")
	for name, s := range map[string]string{
		"empty": "", "short": id[:44], "long": id + "0", "capitals": strings.ToUpper(id), "a letter outside": "u" + id[1:],
		"a line end inside": id[:20] + "\n" + id[20:44], "loose last bits": id[:44] + "1", "padding": id[:44] + "=",
		"spaces": strings.Repeat(" ", 45), "汉字": strings.Repeat("抢", 15),
	} {
		if ref, err := ParseOrderID(s); !errors.Is(err, ErrBadID) {
			t.Errorf("%s: got %+v, %v; want %v", name, ref, err, ErrBadID)
		}
	}
}

func TestASaleIDHasOneSpelling(t *testing.T) {
	for _, n := range []SaleNumber{0, 1, 1<<40 - 1, 0x123456789a} {
		if got, err := ParseSaleID(n.ID()); err != nil || got != n || len(n.ID()) != 8 {
			t.Errorf("%d as %q: got %d, %v", n, n.ID(), got, err)
		}
	}
	for _, s := range []string{"", "28t5cy4", "28t5cy4t0", "28T5CY4T", "28t5cy4u", "28t5cy4\n", "28t5\ncy4t", "28t5cy4="} {
		if n, err := ParseSaleID(s); !errors.Is(err, ErrBadID) {
			t.Errorf("%q: got %d, %v; want %v", s, n, err, ErrBadID)
		}
	}
}
