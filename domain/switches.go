package domain

import (
	"math"
	"slices"
)

// SwitchName names something that an operator may turn on in a hurry, for one
// sale or everywhere, and off again.
type SwitchName string

// Switches.
const (
	// SkipPurchaseLimit lifts LimitPerBuyer; never the bound on one purchase, and
	// never how many orders a buyer may have.
	SkipPurchaseLimit SwitchName = "skip_purchase_limit"
	// SkipEligibility lets buyers of every tier in.
	SkipEligibility SwitchName = "skip_eligibility"
	// ForceEnded shows and judges a sale as over; turned off, it goes on.
	ForceEnded SwitchName = "force_ended"
	// PausePurchases stops selling.
	PausePurchases SwitchName = "pause_purchases"
	// PauseNoncore stops what nobody's order waits for. It is only ever flipped
	// everywhere.
	PauseNoncore SwitchName = "pause_noncore"
)

// SwitchNames lists every switch, in the order of the documentation.
func SwitchNames() []SwitchName {
	return []SwitchName{SkipPurchaseLimit, SkipEligibility, ForceEnded, PausePurchases, PauseNoncore}
}

// OfSales tells whether sales are judged by the switch.
func (n SwitchName) OfSales() bool { return n != PauseNoncore }

// Stops gives what buyers hear while a switch that stops a sale is on.
func (n SwitchName) Stops() (Outcome, bool) {
	switch n {
	case ForceEnded:
		return Ended, true
	case PausePurchases:
		return Paused, true
	}
	return Reserved, false
}

// SwitchStream names the stream of what is flipped everywhere.
const SwitchStream = "switches"

// SaleSwitch is a switch that is on for a sale: its own, or one that is on
// everywhere; and who turned it on last and why, as far as the sale's stream says.
type SaleSwitch struct {
	Name       SwitchName
	Everywhere bool
	By         string `json:",omitempty"`
	Reason     string `json:",omitempty"`
}

// is tells whether an event is about this switch.
func (w SaleSwitch) is(f *SwitchFlipped) bool {
	return w.Name == f.Name && w.Everywhere == f.Everywhere
}

// On tells whether a switch is on for the sale, its own or everywhere.
func (s Sale) On(name SwitchName) bool {
	return slices.ContainsFunc(s.Switches, func(w SaleSwitch) bool { return w.Name == name })
}

// Flip decides to turn a switch of the sale. A nil event means that nothing would
// change. Turning on the sale's own switch that is on already is an event where
// somebody else does it, or for another reason: whoever asks later why it is on must
// find both. Of what is on everywhere the stream of switches says that.
func (s Sale) Flip(f SwitchFlipped) Event {
	if s.Cleaned {
		return nil
	}
	f.SaleID = s.ID
	at := slices.IndexFunc(s.Switches, func(w SaleSwitch) bool { return w.is(&f) })
	switch {
	case f.On != (at >= 0):
		return &f
	case !f.On || f.Everywhere:
		return nil
	case s.Switches[at].By == f.By && s.Switches[at].Reason == f.Reason:
		return nil
	}
	return &f
}

func (s Sale) flipped(e *SwitchFlipped) []SaleSwitch {
	rest := slices.DeleteFunc(slices.Clone(s.Switches), func(w SaleSwitch) bool { return w.is(e) })
	switch {
	case e.On:
		return append(rest, SaleSwitch{Name: e.Name, Everywhere: e.Everywhere, By: e.By, Reason: e.Reason})
	case len(rest) == 0:
		return nil
	}
	return rest
}

// Ended tells whether the log ended the sale, for good or by a switch; its window
// is another matter.
func (s Sale) Ended() bool { return s.Closed || s.On(ForceEnded) }

// Halted tells whether there is a reason for which nothing is sold.
func (s Sale) Halted() bool { return len(s.Pauses) > 0 || s.On(PausePurchases) }

// limit gives the units that a buyer may hold as things stand. Where the limit is
// lifted it is still one whose amounts can be counted.
func (s Sale) limit() int64 {
	limit := s.Terms.LimitPerBuyer
	if !s.On(SkipPurchaseLimit) {
		return limit
	}
	lifted := int64(MaxQuantity)
	for _, item := range s.Terms.Items {
		if item.Price.Minor > 0 {
			lifted = min(lifted, math.MaxInt64/item.Price.Minor)
		}
	}
	return max(limit, lifted)
}
