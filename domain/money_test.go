package domain

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestAnAmountIsReadInTheCurrencysOwnDecimals(t *testing.T) {
	for _, c := range []struct {
		amount, currency string
		minor            int64
		written          string
	}{
		{"19.90", "CNY", 1990, "19.90"},
		{"19.9", "CNY", 1990, "19.90"},
		{"19", "CNY", 1900, "19.00"},
		{"0", "CNY", 0, "0.00"},
		{"0.01", "CNY", 1, "0.01"},
		{"00.10", "CNY", 10, "0.10"},
		{"1500", "JPY", 1500, "1500"},
		{"1.234", "KWD", 1234, "1.234"},
		{"0.001", "KWD", 1, "0.001"},
		{"1.0001", "CLF", 10001, "1.0001"},
		{"7.5", "XXX", 750, "7.50"},
		{"92233720368547758.07", "CNY", math.MaxInt64, "92233720368547758.07"},
		{"9223372036854775807", "JPY", math.MaxInt64, "9223372036854775807"},
	} {
		m, err := ParseMoney(c.amount, c.currency)
		if err != nil || m != (Money{c.minor, c.currency}) || m.Amount() != c.written {
			t.Errorf("%s %s: got %+v %q, %v; want %d %q", c.amount, c.currency, m, m.Amount(), err, c.minor, c.written)
		}
	}
}

func TestWhatIsNoAmountIsRefused(t *testing.T) {
	for _, c := range [][2]string{
		{"", "CNY"}, {".", "CNY"}, {".5", "CNY"}, {"5.", "CNY"}, {"1.999", "CNY"}, {"1.5", "JPY"}, {"1.", "JPY"},
		{"-1", "CNY"}, {"+1", "CNY"}, {"1e3", "CNY"}, {" 1", "CNY"}, {"1 ", "CNY"}, {"1,50", "CNY"}, {"1.2.3", "CNY"},
		{"１", "CNY"}, {"0x1", "CNY"}, {"1_000", "CNY"}, {"NaN", "CNY"}, {"1.-5", "CNY"},
		{"92233720368547758.08", "CNY"}, {"9223372036854775808", "JPY"}, {strings.Repeat("9", 400), "CNY"},
		{"1", ""}, {"1", "cny"}, {"1", "CN"}, {"1", "CNYY"}, {"1", "CN1"}, {"1", "元"},
	} {
		if m, err := ParseMoney(c[0], c[1]); err == nil {
			t.Errorf("%q %q: got %+v; want an error", c[0], c[1], m)
		}
	}
}

func TestAnAmountBelowZeroCanBeShownButNotStored(t *testing.T) {
	for minor, want := range map[int64]string{-1: "-0.01", -1990: "-19.90", math.MinInt64: "-92233720368547758.08"} {
		m := Money{minor, "CNY"}
		if got := m.Amount(); got != want {
			t.Errorf("%d fen: got %q; want %q", minor, got, want)
		}
		if b, err := json.Marshal(m); err == nil {
			t.Errorf("%d fen was written as %s, which cannot be read again", minor, b)
		}
	}
	if b, err := json.Marshal(Money{5, ""}); err == nil {
		t.Errorf("money of no currency was written as %s", b)
	}
}

func TestMoneyThatIsWrittenIsReadAgain(t *testing.T) {
	for _, m := range []Money{{}, {0, "CNY"}, {1, "CNY"}, {1990, "CNY"}, {3, "JPY"}, {math.MaxInt64, "KWD"}, {1, "UYW"}} {
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		back := Money{7, "EUR"}
		if err := json.Unmarshal(b, &back); err != nil || back != m {
			t.Errorf("%+v as %s: got %+v, %v", m, b, back, err)
		}
	}
	if b, _ := json.Marshal(Money{1990, "CNY"}); string(b) != `{"amount":"19.90","currency":"CNY"}` {
		t.Errorf("got %s", b)
	}
}

func TestMoneyNeverWrapsAround(t *testing.T) {
	for _, c := range []struct {
		minor, n int64
		want     int64
		ok       bool
	}{
		{1990, 3, 5970, true}, {1990, 0, 0, true}, {0, math.MaxInt64, 0, true}, {1, math.MaxInt64, math.MaxInt64, true},
		{math.MaxInt64, 1, math.MaxInt64, true}, {math.MaxInt64, 2, 0, false}, {math.MaxInt64/2 + 1, 2, 0, false},
		{-5, 3, -15, true}, {math.MinInt64, 1, math.MinInt64, true}, {math.MinInt64, 2, 0, false}, {5, -1, 0, false},
	} {
		got, ok := Money{c.minor, "CNY"}.Times(c.n)
		if ok != c.ok || (ok && got != Money{c.want, "CNY"}) {
			t.Errorf("%d times %d: got %+v, %v; want %d, %v", c.minor, c.n, got, ok, c.want, c.ok)
		}
	}
	for _, c := range []struct {
		a, b int64
		ok   bool
	}{
		{1, 2, true}, {0, 0, true}, {5, -7, true}, {math.MaxInt64, 0, true}, {math.MaxInt64, -1, true}, {math.MaxInt64, 1, false},
		{math.MinInt64, 0, true}, {math.MinInt64, -1, false}, {math.MinInt64, math.MaxInt64, true}, {math.MinInt64, math.MinInt64, false},
	} {
		got, ok := Money{c.a, "CNY"}.Plus(Money{c.b, "CNY"})
		if ok != c.ok || (ok && got.Minor != c.a+c.b) {
			t.Errorf("%d plus %d: got %+v, %v; want %v", c.a, c.b, got, ok, c.ok)
		}
	}
	if sum, ok := (Money{1, "CNY"}).Plus(Money{1, "EUR"}); ok {
		t.Errorf("yuan plus euro: got %+v; want a refusal", sum)
	}
}

// Stored amounts are read by these numbers: this list only grows, and a number
// in it never gets smaller.
func TestTheDecimalsOfCurrenciesAreThoseOfISO4217(t *testing.T) {
	want := map[int]string{
		0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
		2: "AUD BRL CAD CHF CNY EUR GBP HKD IDR INR MGA MXN MYR NZD PHP SGD THB TRY TWD USD ZAR",
		3: "BHD IQD JOD KWD LYD OMR TND",
		4: "CLF UYW",
	}
	listed := 0
	for decimals, currencies := range want {
		for _, c := range strings.Fields(currencies) {
			if got := Exponent(c); got != decimals {
				t.Errorf("%s: got %d decimals; want %d", c, got, decimals)
			}
			if decimals != 2 {
				listed++
			}
		}
	}
	if listed != len(exponents) {
		t.Errorf("the table has %v; want the %d of this test", slices.Sorted(maps.Keys(exponents)), listed)
	}
}
