package commands

import (
	"slices"

	"seckill/domain"
)

// Kinds of findings.
const (
	FindingGateAbove   = "gate_above_log"
	FindingGateBelow   = "gate_below_log"
	FindingNotInGate   = "recorded_not_in_gate"
	FindingNotPrefix   = "applied_no_prefix"
	FindingSaleRecord  = "sale_record_off_log"
	FindingStranded    = "reserved_never_recorded"
	FindingOrphan      = "orphan_buyer_record"
	FindingKey         = "key_off_log"
	FindingTicket      = "ticket_off_log"
	FindingOverdue     = "journal_overdue"
	FindingGuard       = "guard_off_log"
	FindingOversold    = "oversold"
	FindingMove        = "half_a_move"
	FindingClaim       = "claims_off_log"
	FindingDoubleClaim = "double_claim"
	FindingOrderDue    = "order_overdue"
	FindingViewMissing = "view_row_missing"
	FindingViewStale   = "view_row_stale"
	FindingViewExtra   = "view_row_extra"
	FindingStockLog    = "stock_log_mismatch"
	FindingSummary     = "summary_mismatch"
	FindingParked      = "parked_sequence"
	FindingUnread      = "event_unreadable"
	FindingMore        = "more_suspects"
)

// Finding is one way in which the books do not agree. Cause is what most likely
// brought it about; Repair is what `--repair` does about it, or what a person
// does where it does nothing.
type Finding struct {
	Kind    string `json:"kind"`
	SKU     string `json:"sku,omitempty"`
	OrderID string `json:"order_id,omitempty"`
	// OrderIDs is set where the finding is about several orders.
	OrderIDs []string `json:"order_ids,omitempty"`
	BuyerID  string   `json:"buyer_id,omitempty"`
	Detail   string   `json:"detail"`
	Cause    string   `json:"cause"`
	Repair   string   `json:"repair"`

	about about
}

// about is what a repair needs to know of a finding beside what people read.
type about struct {
	place         domain.Place
	before, after int64 // units
	projection    string
	sequence      string
	lane          int
	epoch         int64          // under which the gate's record was seen
	record        *GateRecord    // of an order that the gate alone knows
	wrong         []string       // items whose account is wrong because of that order
	orders        []string       // of the buyer
	seen          []string       // items, in the order of record.Holds
	entry         domain.EntryID // of that order
	uses          []ScannedUse   // that name that order
	strange       bool           // the log can decide nothing about it
}

// way is what a repair does about a kind.
type way int

const (
	byPerson  way = iota // nothing
	byStock              // the gate's account of one item is built again from the log
	bySale               // the gate's record of the sale is written again from the log
	byRestart            // the gate's record of the sale and all its stock start again from the log
	byOrder              // the order is recorded, or rejected so that its units come back
	byGuard              // the guard is written from its stream
	byClaims             // the buyer's claims are written from the orders
	byRebuild            // the view is folded again from the log
	byRetry              // what is set aside is tried again
	byLane               // the lane is recovered, which records what its journal holds
	byExpiry             // the order expires
)

// findingForm is what is known of a kind. danger: units may be sold that do not
// exist, so the sale is stopped until the finding is gone.
type findingForm struct {
	kind, cause, repair string
	way                 way
	danger              bool
}

// Repairs of findings of more than one kind.
const (
	repairSale    = "writes the gate's record of the sale again from the log"
	repairRestart = "starts the gate's record of the sale and all its accounts again from the log"
)

// findingForms is the one table of findings.
var findingForms = [...]findingForm{
	{FindingGateAbove, "the gate forgot purchases, or somebody wrote into it", "builds the item's account in the gate again from the log", byStock, true},
	{FindingGateBelow, "the gate took units that no purchase has, or missed a return", "builds the item's account in the gate again from the log", byStock, false},
	{FindingNotInGate, "the gate lost the record of an order, or somebody deleted it", "builds the item's account in the gate again from the log", byStock, true},
	{FindingNotPrefix, "the log went back, or the gate holds another history", "builds the item's account in the gate again from the log", byStock, true},
	{FindingSaleRecord, "somebody wrote into the gate", repairSale, bySale, true},
	{FindingStranded, "a purchase that the gate accepted left its journal before it was recorded", "records the order, or rejects it and gives its units back where it cannot be kept", byOrder, false},
	{FindingOrphan, "the gate kept the record of a purchase and lost its units", "rejects the order as lost, so that its buyer may buy again", byOrder, false},
	{FindingKey, "somebody wrote into the gate", repairRestart, byRestart, false},
	{FindingTicket, "somebody wrote into the gate", repairRestart, byRestart, false},
	{FindingOverdue, "no recorder runs, or it stops at this entry", "recovers the lane, which records what its journal holds", byLane, false},
	{FindingGuard, "somebody wrote the guard by hand", "writes the guard from its stream", byGuard, true},
	{FindingOversold, "the log was written around its guard", "nothing: decide which buyers to tell, and cancel their orders (docs/runbook.md)", byPerson, false},
	{FindingMove, "the log was written around its one writer", "nothing: see who wrote it, then give the units to a bucket or take them off sale (docs/runbook.md)", byPerson, false},
	{FindingClaim, "somebody wrote the claims by hand", "writes the buyer's claims from the orders in the log", byClaims, false},
	{FindingDoubleClaim, "a limit was lifted for a while, or a claim was written by hand", "writes the buyer's claims from the orders in the log; of orders that really are too many nothing: cancel one (docs/runbook.md)", byClaims, false},
	{FindingOrderDue, "nothing expires orders: no process runs the scheduler role", "expires the order, which gives its units back", byExpiry, false},
	{FindingViewMissing, "somebody changed the view by hand", "folds order_view again from the log", byRebuild, false},
	{FindingViewStale, "somebody changed the view by hand", "folds order_view again from the log", byRebuild, false},
	{FindingViewExtra, "somebody changed the view by hand, or the log went back", "folds order_view again from the log", byRebuild, false},
	{FindingStockLog, "somebody changed the view by hand", "folds stock_log again from the log", byRebuild, false},
	{FindingSummary, "somebody changed the view by hand", "folds sale_summary again from the log", byRebuild, false},
	{FindingParked, "a view could not apply an event", "tries the sequence again", byRetry, false},
	{FindingUnread, "a newer version of this program wrote the event", "nothing: use the version that wrote it, or look at the event with replay", byPerson, false},
	{FindingMore, "much is wrong, or was written while the stores were read", "nothing: run it again when the other findings are mended; it looks at the next ones then", byPerson, false},
}

// FindingKinds lists every kind, for metrics that must exist from the start.
func FindingKinds() []string {
	kinds := make([]string, len(findingForms))
	for i, f := range findingForms {
		kinds[i] = f.kind
	}
	return kinds
}

func formOf(kind string) findingForm {
	at := slices.IndexFunc(findingForms[:], func(f findingForm) bool { return f.kind == kind })
	return findingForms[at]
}

// Dangerous tells whether units may be sold that do not exist while this stands.
func (f Finding) Dangerous() bool { return formOf(f.Kind).danger }

// way is what a repair does about the finding; what is really too many orders of
// a buyer is no matter of his claims, and what the log can decide nothing about no
// matter of an order.
func (f Finding) way() way {
	switch {
	case f.Kind == FindingDoubleClaim && len(f.OrderIDs) > 0:
		return byPerson
	case f.about.strange:
		return byRestart
	case f.Kind == FindingNotPrefix && f.SKU == "":
		return bySale
	}
	return formOf(f.Kind).way
}

// found adds a finding, with what the table says of its kind.
func (s *SaleReport) found(f Finding) {
	form := formOf(f.Kind)
	f.Cause, f.Repair = form.cause, form.repair
	switch f.way() {
	case bySale:
		f.Repair = repairSale
	case byRestart:
		f.Cause, f.Repair = "somebody wrote into the gate", repairRestart
	}
	s.Findings = append(s.Findings, f)
}
