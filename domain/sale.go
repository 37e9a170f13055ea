package domain

import (
	"slices"
	"time"
)

// SaleState is what a person is told about where a sale stands.
type SaleState string

// States of a sale.
const (
	SaleStateScheduled SaleState = "scheduled"
	SaleStateOpen      SaleState = "open"
	SaleStatePaused    SaleState = "paused"
	SaleStateEnded     SaleState = "ended"
	SaleStateCleaned   SaleState = "cleaned"
)

// Sale is the fold of a sale's stream.
type Sale struct {
	ID      string
	Version int64
	Terms   SaleTerms
	// FirstOpensAt is the earliest opening that the sale ever had: before it there
	// is no order.
	FirstOpensAt time.Time `json:"-"`
	// TermsVersion is the version at which the sale began to say what it says to
	// buyers (see SaysAsMuch): it moves neither with terms that no page shows, such
	// as eligible_tiers, nor with pauses, switches or preheats.
	TermsVersion int64 `json:"-"`
	// Preheated lists the buckets that the gate has held at some time.
	Preheated []int
	Pauses    []PauseReason
	Closed    bool
	Cleaned   bool
	// Members is the list of those who may buy; nil: everybody.
	Members  *MemberList  `json:",omitempty"`
	Switches []SaleSwitch `json:",omitempty"`
	// Checked: the last preheat of these terms found everything as the log says.
	// Confirmed: somebody let these terms open. Both are known of a sale that does
	// not open by itself.
	Checked   bool `json:",omitempty"`
	Confirmed bool `json:",omitempty"`
}

// FoldSale brings s forward by one event of its stream.
func (s Sale) FoldSale(e Event) Sale {
	s.Version++
	switch e := e.(type) {
	case *SaleScheduled:
		s.ID, s.Terms, s.TermsVersion = e.SaleID, e.SaleTerms, s.Version
	case *SaleRevised:
		if !onlyTextsAndEnd(changes(s.Terms, e.SaleTerms)) {
			s.Checked, s.Confirmed = false, false
		}
		if !s.Terms.SaysAsMuch(e.SaleTerms) {
			s.TermsVersion = s.Version
		}
		s.Terms = e.SaleTerms
	case *SaleChecked:
		s.Checked = e.Differences == 0
	case *SaleConfirmed:
		s.Confirmed = true
	case *SalePreheated:
		if !slices.Contains(s.Preheated, e.Bucket) {
			s.Preheated = append(slices.Clone(s.Preheated), e.Bucket)
		}
	case *SalePaused:
		if !slices.Contains(s.Pauses, e.Reason) {
			s.Pauses = append(slices.Clone(s.Pauses), e.Reason)
		}
	case *SaleResumed:
		s.Pauses = slices.DeleteFunc(slices.Clone(s.Pauses), func(r PauseReason) bool { return r == e.Reason })
	case *SaleClosed:
		s.Closed = true
	case *SaleMembersSet:
		s.Members = &MemberList{ID: e.List, Version: e.Version, Count: e.Count, Digest: e.Digest}
		s.Checked = false // nobody has looked at this list
	case *SaleCleaned:
		s.Cleaned = true
	case *SwitchFlipped:
		s.Switches = s.flipped(e)
	}
	if s.FirstOpensAt.IsZero() || s.Terms.OpensAt.Before(s.FirstOpensAt) {
		s.FirstOpensAt = s.Terms.OpensAt
	}
	return s
}

// StateAt gives the state of the sale at a time.
func (s Sale) StateAt(now time.Time) SaleState {
	switch {
	case s.Cleaned:
		return SaleStateCleaned
	case s.Ended() || !now.Before(s.Terms.ClosesAt):
		return SaleStateEnded
	case s.Halted():
		return SaleStatePaused
	case now.Before(s.Terms.OpensAt) || !s.MayOpen():
		return SaleStateScheduled
	}
	return SaleStateOpen
}

// Over tells whether the sale is over for good at a time: a sale that only a
// switch ended may go on.
func (s Sale) Over(now time.Time) bool {
	return s.Cleaned || s.Closed || !now.Before(s.Terms.ClosesAt)
}

// RehearsalTier is of the buyers of rehearsals (`seckill drill`): a sale for it alone
// is a rehearsal.
const RehearsalTier = "rehearsal"

// Rehearsal tells whether the sale is for rehearsing buyers alone.
func (s Sale) Rehearsal() bool {
	return len(s.Terms.EligibleTiers) == 1 && s.Terms.EligibleTiers[0] == RehearsalTier
}

// SKUs lists the items of the sale in the order they were scheduled.
func (s Sale) SKUs() []string {
	skus := make([]string, len(s.Terms.Items))
	for i, item := range s.Terms.Items {
		skus[i] = item.SKU
	}
	return skus
}

// Item gives the terms of an item.
func (s Sale) Item(sku string) (ItemTerms, bool) {
	for _, item := range s.Terms.Items {
		if item.SKU == sku {
			return item, true
		}
	}
	return ItemTerms{}, false
}

// Gateless tells whether no gate holds anything of the sale.
func (s Sale) Gateless() bool { return s.Terms.Strategy.Gateless() }

// Judged gives the terms that purchases are judged by.
func (s Sale) Judged() Terms {
	prices := make(map[string]Money, len(s.Terms.Items))
	var overdraft map[string]int64
	buckets := 0
	for _, item := range s.Terms.Items {
		prices[item.SKU] = item.Price
		if item.Overdraft > 0 {
			if overdraft == nil {
				overdraft, buckets = map[string]int64{}, s.Terms.Buckets
			}
			overdraft[item.SKU] = item.Overdraft
		}
	}
	return Terms{
		Version: s.Version, LimitPerBuyer: s.limit(), OrdersPerBuyer: s.Terms.OrdersPerBuyer,
		Rebuy: s.Terms.Rebuy, PaymentWindow: s.Terms.PaymentWindow, Prices: prices, Overdraft: overdraft, Buckets: buckets,
	}
}

// SplitStock deals quantity over n buckets, the first ones getting the rest.
func SplitStock(quantity int64, n int) []int64 {
	parts := make([]int64, n)
	for i := range parts {
		parts[i] = quantity / int64(n)
		if int64(i) < quantity%int64(n) {
			parts[i]++
		}
	}
	return parts
}

// Schedule gives the events that open a sale: the sale's own, and the first
// release of each item and bucket. Terms are checked by ValidateTerms before.
func Schedule(id string, terms SaleTerms, by string) (*SaleScheduled, []*StockReleased) {
	var released []*StockReleased
	for _, item := range terms.Items {
		for bucket, quantity := range SplitStock(firstStock(item), terms.Buckets) {
			released = append(released, &StockReleased{SaleID: id, SKU: item.SKU, Bucket: bucket, Quantity: quantity, By: by})
		}
	}
	return &SaleScheduled{SaleID: id, SaleTerms: terms, By: by}, released
}

// firstStock gives what is on sale from the beginning: the stock that no
// tranche holds back.
func firstStock(item ItemTerms) int64 {
	left := item.Stock
	for _, t := range item.Release {
		left -= t.Quantity
	}
	return left
}

// Pause, Resume and Close decide what an operator may do to a sale. A nil event
// means that nothing would change.
func (s Sale) Pause(reason PauseReason, note, by string) Event {
	if s.Closed || s.Cleaned || slices.Contains(s.Pauses, reason) {
		return nil
	}
	return &SalePaused{SaleID: s.ID, Reason: reason, Note: note, By: by}
}

// Preheat decides to let the gate hold a bucket for the first time.
func (s Sale) Preheat(bucket int) Event {
	if s.Cleaned || slices.Contains(s.Preheated, bucket) {
		return nil
	}
	return &SalePreheated{SaleID: s.ID, Bucket: bucket}
}

// Resume takes a reason for a pause away.
func (s Sale) Resume(reason PauseReason, note, by string) Event {
	if s.Cleaned || !slices.Contains(s.Pauses, reason) {
		return nil
	}
	return &SaleResumed{SaleID: s.ID, Reason: reason, Note: note, By: by}
}

// Close ends the sale for good.
func (s Sale) Close(note, by string) Event {
	if s.Closed || s.Cleaned {
		return nil
	}
	return &SaleClosed{SaleID: s.ID, Note: note, By: by}
}

// Clean ends the life of the sale. Whether nothing of it is under way any more
// its caller knows.
func (s Sale) Clean(items []CleanItem, note, by string) Event {
	if s.Cleaned {
		return nil
	}
	return &SaleCleaned{SaleID: s.ID, Items: items, Note: note, By: by}
}
