package domain

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Money is an amount in minor units (cents, fen) of a currency (ISO 4217,
// upper case). It is written as a decimal string: {"amount":"19.90","currency":"CNY"}.
type Money struct {
	Minor    int64
	Currency string
}

// exponents lists the currencies whose minor unit is not a hundredth (ISO 4217).
// Stored amounts are read by it: a number here never gets smaller.
var exponents = map[string]int{
	"BHD": 3, "BIF": 0, "CLF": 4, "CLP": 0, "DJF": 0, "GNF": 0, "IQD": 3, "ISK": 0, "JOD": 3,
	"JPY": 0, "KMF": 0, "KRW": 0, "KWD": 3, "LYD": 3, "OMR": 3, "PYG": 0, "RWF": 0, "TND": 3,
	"UGX": 0, "UYI": 0, "UYW": 4, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
}

// Exponent gives the number of decimals of a currency, 2 where none is known.
func Exponent(currency string) int {
	if e, ok := exponents[currency]; ok {
		return e
	}
	return 2
}

// ParseMoney reads a decimal amount such as "19.90" of a currency. It refuses
// signs, exponents, more decimals than the currency has, and what does not fit
// into 64 bits.
func ParseMoney(amount, currency string) (Money, error) {
	if !validCurrency(currency) {
		return Money{}, fmt.Errorf("currency %q: want three capital letters", currency)
	}
	whole, fraction, dotted := strings.Cut(amount, ".")
	exponent := Exponent(currency)
	if whole == "" || !digits(whole) || !digits(fraction) || (dotted && fraction == "") || len(fraction) > exponent {
		return Money{}, fmt.Errorf("amount %q: want digits with at most %d decimals for %s", amount, exponent, currency)
	}
	minor, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", exponent-len(fraction)), 10, 64)
	if err != nil {
		return Money{}, fmt.Errorf("amount %q is too large", amount)
	}
	return Money{Minor: minor, Currency: currency}, nil
}

// Amount gives the decimal string, with as many decimals as the currency has.
func (m Money) Amount() string {
	exponent := Exponent(m.Currency)
	sign, u := "", uint64(m.Minor)
	if m.Minor < 0 {
		sign, u = "-", -u
	}
	s := strconv.FormatUint(u, 10)
	if exponent == 0 {
		return sign + s
	}
	for len(s) <= exponent {
		s = "0" + s
	}
	return sign + s[:len(s)-exponent] + "." + s[len(s)-exponent:]
}

// Times gives m for n units; ok is false when it does not fit into 64 bits.
func (m Money) Times(n int64) (Money, bool) {
	if n < 0 || (n > 0 && (m.Minor > math.MaxInt64/n || m.Minor < math.MinInt64/n)) {
		return Money{}, false
	}
	return Money{Minor: m.Minor * n, Currency: m.Currency}, true
}

// Plus adds an amount of the same currency; ok is false when the currencies
// differ or the sum does not fit.
func (m Money) Plus(o Money) (Money, bool) {
	sum := m.Minor + o.Minor
	if m.Currency != o.Currency || (sum > m.Minor) != (o.Minor > 0) {
		return Money{}, false
	}
	return Money{Minor: sum, Currency: m.Currency}, true
}

type moneyForm struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

// MarshalJSON writes the decimal form, and null for the zero Money. It refuses
// what UnmarshalJSON would not read back: amounts below zero, currencies that
// are none.
func (m Money) MarshalJSON() ([]byte, error) {
	if m == (Money{}) {
		return []byte("null"), nil
	}
	if m.Minor < 0 || !validCurrency(m.Currency) {
		return nil, fmt.Errorf("write money %s %q: want no sign and a currency of three capital letters", m.Amount(), m.Currency)
	}
	// Digits, a point and capital letters need no escaping.
	return []byte(`{"amount":"` + m.Amount() + `","currency":"` + m.Currency + `"}`), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (m *Money) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*m = Money{}
		return nil
	}
	var f moneyForm
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	v, err := ParseMoney(f.Amount, f.Currency)
	if err != nil {
		return err
	}
	*m = v
	return nil
}

func validCurrency(s string) bool {
	if len(s) != 3 {
		return false
	}
	for _, c := range s {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return true
}

func digits(s string) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}
