package commands

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"seckill/domain"
	"seckill/eventstore"
)

// Judgements of a receipt.
const (
	// ReceiptRight: the log says that the refusal was right.
	ReceiptRight = "right"
	// ReceiptContradicted: the log says that it was not.
	ReceiptContradicted = "contradicted"
	// ReceiptUnknown: the log alone cannot tell.
	ReceiptUnknown = "unknown"
	// ReceiptNoClaim: the refusal said nothing that the log could know: try again.
	ReceiptNoClaim = "no_claim"
	// ReceiptForged: we did not sign it, or not as it is.
	ReceiptForged = "forged"
)

// ReceiptReport is what a receipt says, and what the log says of that moment.
type ReceiptReport struct {
	Valid     bool      `json:"valid" doc:"We signed it as it is"`
	Judgement string    `json:"judgement" enum:"right,contradicted,unknown,no_claim,forged"`
	Says      []string  `json:"says" nullable:"false" doc:"Why, in sentences"`
	Code      string    `json:"code,omitempty"`
	SaleID    string    `json:"sale_id,omitempty"`
	Buyer     *bool     `json:"buyer_matches,omitempty" doc:"Whether it was given to the buyer that was named"`
	At        time.Time `json:"at,omitzero" doc:"The gate's time of the refusal"`
	BoundMS   *int64    `json:"bound_ms,omitempty" doc:"How far at may be off; not there: it is the node's own clock"`
	Left      *int64    `json:"left,omitempty" doc:"Units that were left"`
	SKU       string    `json:"sku,omitempty"`
	Quantity  int       `json:"quantity,omitempty" doc:"Units that were asked for; 255: that many or more"`
	Bucket    *int      `json:"bucket,omitempty"`
	Next      string    `json:"next,omitempty" doc:"Epoch and next entry of the journal: what was accepted before lies before it"`
	// Then is nil where the sale is not in the log.
	Then *ReceiptThen `json:"then,omitempty" doc:"What the log says of that moment"`
}

// ReceiptThen is how a sale, its stock and a buyer's orders were at the moment of a
// refusal.
type ReceiptThen struct {
	Position int64          `json:"position" doc:"The newest event that was recorded by then"`
	Title    string         `json:"title"`
	State    string         `json:"state"`
	OpensAt  time.Time      `json:"opens_at"`
	ClosesAt time.Time      `json:"closes_at"`
	Limit    int64          `json:"limit_per_buyer"`
	Buckets  int            `json:"buckets"`
	Stock    []ReceiptStock `json:"stock" nullable:"false" doc:"Of the item that was asked for, else of all"`
	Orders   []ReceiptOrder `json:"orders" nullable:"false" doc:"Of the buyer that was named"`
}

// ReceiptStock is the stock of an item at the moment of a refusal, over the buckets that
// count.
type ReceiptStock struct {
	SKU       string `json:"sku"`
	Released  int64  `json:"released"`
	Taken     int64  `json:"taken" doc:"By everything that was accepted before"`
	GivenBack int64  `json:"given_back"`
	Left      int64  `json:"left" doc:"At most: by the log"`
	Unsure    int64  `json:"unsure" doc:"So many of those may not have been in the gate yet, or were taken about then"`
}

// ReceiptOrder is an order of the buyer as it stood at the moment of a refusal.
type ReceiptOrder struct {
	OrderID    string    `json:"order_id"`
	Status     string    `json:"status" doc:"Then"`
	Units      int64     `json:"units"`
	AcceptedAt time.Time `json:"accepted_at"`
}

// NoReceipt is what is said of a text that this installation did not sign.
func NoReceipt(text string) ReceiptReport {
	says := "This is no receipt of this installation, or something in it was changed: its signature is wrong."
	if n := utf8.RuneCountInString(text); n != domain.ReceiptLength {
		says = fmt.Sprintf("A receipt has %d characters and this has %d: take all of it, as the refusal had it.", domain.ReceiptLength, n)
	}
	return ReceiptReport{Judgement: ReceiptForged, Says: []string{says}}
}

// Explain tells what a receipt says, and what the log says of that moment: whether the
// refusal was right. buyer is who shows it, "" for nobody; without one their orders are
// left out. It only reads.
func (t *Teller) Explain(ctx context.Context, text, buyer string) (ReceiptReport, error) {
	signer := domain.NewReceiptSigner(t.Env.Keys)
	r, err := signer.Read(text)
	if err != nil {
		return NoReceipt(text), nil
	}
	e := &explanation{teller: t, Receipt: r, buyer: buyer, report: reportOf(r)}
	if buyer != "" {
		matches := signer.IsOf(r, buyer)
		e.report.Buyer = &matches
		if !matches {
			e.buyer = ""
			e.say("It was not given to %s.", buyer)
		}
	}
	if err := e.explain(ctx); err != nil {
		return e.report, fmt.Errorf("explain a receipt of sale %s: %w", r.Sale, err)
	}
	return e.report, nil
}

// reportOf gives what the receipt itself says.
func reportOf(r domain.Receipt) ReceiptReport {
	report := ReceiptReport{Valid: true, Judgement: ReceiptUnknown, Says: []string{}, Code: string(r.Code), SaleID: r.Sale, At: r.At, Quantity: r.Quantity}
	if r.Bound >= 0 {
		bound := r.Bound.Milliseconds()
		report.BoundMS = &bound
	}
	if r.Left >= 0 {
		report.Left = &r.Left
	}
	if r.Bucket >= 0 {
		report.Bucket = &r.Bucket
	}
	if r.Epoch > 0 {
		report.Next = domain.EntryID{Epoch: r.Epoch, N: r.Next}.String()
	}
	return report
}

// explanation is one receipt on its way to its report.
type explanation struct {
	teller *Teller
	domain.Receipt
	buyer  string
	report ReceiptReport
	sale   domain.Sale // as it was
	// later is what was recorded of the sale soon after: a stop is in the gate before it
	// is in the log.
	later []domain.Event
}

func (e *explanation) say(format string, args ...any) {
	e.report.Says = append(e.report.Says, fmt.Sprintf(format, args...))
}

func (e *explanation) judged(as, format string, args ...any) {
	e.report.Judgement = as
	e.say(format, args...)
}

// doubtOf is how far the gate's time may be off; a node's own clock is taken to be within
// a minute.
func (e *explanation) doubtOf() time.Duration {
	if e.Bound < 0 {
		return time.Minute
	}
	return e.Bound
}

// landingFor is how long what the log says may take into the gate, and the other way round,
// before it says something about either.
const landingFor = 5 * time.Second

func (e *explanation) explain(ctx context.Context) error {
	known, err := e.readSale(ctx)
	if err != nil {
		return err
	}
	if !known {
		if e.Code == domain.CodeSaleNotFound {
			e.judged(ReceiptRight, "The log had no sale %s by then.", e.Sale)
			return nil
		}
		e.judged(ReceiptUnknown, "The log had no sale %s by then: it was archived or cleaned out, or the log is another one.", e.Sale)
		return nil
	}
	position, err := PositionAt(ctx, e.teller.Log, e.At)
	if err != nil {
		return err
	}
	e.report.Then = &ReceiptThen{
		Position: position, Title: e.sale.Terms.Title, State: string(e.sale.StateAt(e.At)), OpensAt: e.sale.Terms.OpensAt, ClosesAt: e.sale.Terms.ClosesAt,
		Limit: e.sale.Terms.LimitPerBuyer, Buckets: max(e.sale.Terms.Buckets, 1), Stock: []ReceiptStock{}, Orders: []ReceiptOrder{},
	}
	if err := e.readStock(ctx); err != nil {
		return err
	}
	if e.buyer != "" {
		if err := e.readOrders(ctx); err != nil {
			return err
		}
	}
	e.judge()
	return nil
}

// readSale folds the sale as it was, and keeps what came soon after.
func (e *explanation) readSale(ctx context.Context) (known bool, err error) {
	err = eachRecord(ctx, e.teller.Log, domain.SaleStream(e.Sale), 0, func(r *eventstore.Record) error {
		ev, err := decode(r)
		if err != nil {
			return err
		}
		if !r.RecordedAt.After(e.At.Add(e.doubtOf())) {
			e.sale, known = e.sale.FoldSale(ev), true
		} else if r.RecordedAt.Before(e.At.Add(e.doubtOf() + landingFor)) {
			e.later = append(e.later, ev)
		} else {
			return errPastEnd
		}
		return nil
	})
	if errors.Is(err, errPastEnd) {
		err = nil
	}
	return known, err
}
