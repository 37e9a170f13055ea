package plan

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Wish is what a sale is expected to be.
type Wish struct {
	// Participants who come to buy, each once.
	Participants int64 `json:"participants"`
	// Share of them who press within Seconds of the opening, above 0 and at most 1.
	Share float64 `json:"share"`
	// Seconds of the peak.
	Seconds float64 `json:"seconds"`
	// Headroom multiplies the peak: 1.5 keeps half as much again free.
	Headroom float64 `json:"headroom"`
	// Stock is the units on sale, one a purchase.
	Stock int64 `json:"stock"`
	// PaymentWindow is how many seconds a winner has to pay before the units go back on
	// sale; 0: DefaultPaymentWindow.
	PaymentWindow float64 `json:"payment_window_s"`
}

// DefaultPaymentWindow is that of a sale whose terms name none, in seconds.
const DefaultPaymentWindow = 15 * 60

// Bounds of a wish.
const (
	MostParticipants = 10_000_000_000
	MostStock        = math.MaxInt32
	MostSeconds      = 24 * 60 * 60
	MostHeadroom     = 100
	MostWindow       = 30 * 24 * 60 * 60 // seconds, of a sale's terms
)

// Validate reports everything that cannot be meant, each as a sentence that says what
// to write instead.
func (w Wish) Validate() error {
	var bad []error
	refuse := func(wrong bool, format string, args ...any) {
		if wrong {
			bad = append(bad, fmt.Errorf(format, args...))
		}
	}
	within := func(v, least, most float64) bool { return v >= least && v <= most } // false for NaN
	refuse(w.Participants < 1 || w.Participants > MostParticipants,
		"--participants is how many people come to buy: want 1 to %d, not %d", int64(MostParticipants), w.Participants)
	refuse(!within(w.Share, math.SmallestNonzeroFloat64, 1),
		"--share is the part of them who press within the peak: want more than 0 and at most 1, such as 0.8 (or 80%%), not %v", w.Share)
	refuse(!within(w.Seconds, 0.001, MostSeconds),
		"--seconds is how long the peak lasts: want 0.001 to %d, such as 2, not %v", MostSeconds, w.Seconds)
	refuse(!within(w.Headroom, 1, MostHeadroom),
		"--headroom is what the peak is multiplied by: want 1 to %d, such as 1.5 for half as much again, not %v", MostHeadroom, w.Headroom)
	refuse(w.Stock < 1 || w.Stock > MostStock, "--stock is the units on sale: want 1 to %d, not %d", MostStock, w.Stock)
	refuse(w.PaymentWindow != 0 && !within(w.PaymentWindow, 1, MostWindow),
		"--payment-window is how long a winner has to pay: want 1s to 720h, not %v seconds", w.PaymentWindow)
	return errors.Join(bad...)
}

// ParseShare reads a part of a whole: 0.8 or 80%.
func ParseShare(text string) (float64, error) { return parse(text, "0.8 or 80%") }

// ParseHeadroom reads a factor: 1.5 or 150%.
func ParseHeadroom(text string) (float64, error) { return parse(text, "1.5 or 150%") }

func parse(text, like string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is no number: want one such as %s", text, like)
	}
	if percent {
		v /= 100
	}
	return v, nil
}
