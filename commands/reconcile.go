package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// Kinds of findings.
const (
	FindingGateAbove   = "gate_above_log"     // the gate has units that the log does not
	FindingGateBelow   = "gate_below_log"     // the gate lacks units that the log has
	FindingNotPrefix   = "applied_no_prefix"  // what the gate has applied is not in the stream
	FindingGuard       = "guard_off_log"      // the guard does not stand where its stream does
	FindingOversold    = "oversold"           // the stock rule is broken in the log itself
	FindingClaim       = "claims_off_log"     // the claims and the orders disagree
	FindingDoubleClaim = "double_claim"       // a buyer has more than the terms allow
	FindingViewMissing = "view_row_missing"   // an order of the log is not in order_view
	FindingViewStale   = "view_row_stale"     // order_view tells of an older state
	FindingViewExtra   = "view_row_extra"     // order_view has what the log has not
	FindingStockLog    = "stock_log_mismatch" // stock_log does not sum to the fold
	FindingUnread      = "event_unreadable"   // an event of the sale that this program cannot read
	FindingSummary     = "summary_mismatch"   // sale_summary does not count the fold
)

// Finding is one way in which the books do not agree. Repair says what would
// mend it.
type Finding struct {
	Kind    string `json:"kind"`
	SKU     string `json:"sku,omitempty"`
	OrderID string `json:"order_id,omitempty"`
	BuyerID string `json:"buyer_id,omitempty"`
	Detail  string `json:"detail"`
	Repair  string `json:"repair"`
}

// Totals is an account in units: what the log released, reserved and took back,
// what the gate had left at the cut, and what the log held beyond the cut.
type Totals struct {
	Released  int64 `json:"released"`
	Available int64 `json:"available"`
	Reserved  int64 `json:"reserved"`
	Returned  int64 `json:"returned"`
	InFlight  int64 `json:"in_flight"`
}

// ItemReport is the account of one item over all buckets.
type ItemReport struct {
	SKU string `json:"sku"`
	Totals
}

// SaleReport is the account of a sale. Drift is the number of findings.
type SaleReport struct {
	Sale  string       `json:"sale"`
	Items []ItemReport `json:"items"`
	Totals
	Drift    int       `json:"drift"`
	Findings []Finding `json:"findings"`
}

// ReconcileReport is the account of several sales.
type ReconcileReport struct {
	Sales []SaleReport `json:"sales"`
}

// Drift is the number of findings over all sales.
func (r ReconcileReport) Drift() int {
	n := 0
	for _, s := range r.Sales {
		n += s.Drift
	}
	return n
}

// ErrNoCut: the gate could not be looked at while it was open: it is recovering
// or away. Nothing is wrong with the books for all that is known; try again.
var ErrNoCut = errors.New("the gate is not open, so there is nothing to compare with")

// Reconciler compares gate, guard, claims and views with the log, exactly,
// whatever is in flight. It only reports.
type Reconciler struct {
	Env   *Env
	Sales *Sales
	Log   Log
	Gate  interface {
		Peek(ctx context.Context, place domain.Place, skus []string) (Peeked, error)
	}
	Views ViewReader
}

// Reconcile reports on a sale, or on all when sale is "".
func (r *Reconciler) Reconcile(ctx context.Context, sale string) (ReconcileReport, error) {
	ids := []string{sale}
	if sale == "" {
		var err error
		if ids, err = r.Sales.IDs(ctx); err != nil {
			return ReconcileReport{}, err
		}
	}
	report := ReconcileReport{Sales: []SaleReport{}}
	for _, id := range ids {
		one, err := r.sale(ctx, id)
		if err != nil {
			return report, fmt.Errorf("reconcile sale %s: %w", id, err)
		}
		report.Sales = append(report.Sales, one)
	}
	return report, nil
}

func (r *Reconciler) sale(ctx context.Context, id string) (SaleReport, error) {
	sale, err := r.Sales.Fold(ctx, id)
	if err != nil {
		return SaleReport{}, err
	}
	cuts, err := r.cuts(ctx, sale)
	if err != nil {
		return SaleReport{}, err
	}
	rows, err := r.sideRows(ctx, sale)
	if err != nil {
		return SaleReport{}, err
	}
	books, err := readBooks(ctx, r.Log, id)
	if err != nil {
		return SaleReport{}, err
	}
	report := SaleReport{Sale: id, Items: []ItemReport{}, Findings: []Finding{}}
	for _, sku := range sale.SKUs() {
		report.Items = append(report.Items, ItemReport{SKU: sku})
	}
	report.judgeUnread(books)
	for _, c := range cuts {
		report.judgeCut(c, books)
	}
	for _, item := range report.Items {
		report.add(item.Totals)
	}
	report.judgeGuards(rows.guards, books)
	report.judgeClaims(rows.claims, books, sale.Judged())
	report.judgeViews(rows.views, books)
	report.Drift = len(report.Findings)
	return report, nil
}

func (t *Totals) add(o Totals) {
	t.Released += o.Released
	t.Available += o.Available
	t.Reserved += o.Reserved
	t.Returned += o.Returned
	t.InFlight += o.InFlight
}

func (s *SaleReport) found(f Finding) { s.Findings = append(s.Findings, f) }

// cut is one bucket of a sale in the gate at one moment, whose purchases are
// all recorded.
type cut struct {
	place domain.Place
	skus  []string
	seen  Peeked
}

// cutTries bounds how often a cut that was thrown away is taken again.
const (
	cutTries = 50
	cutPause = 100 * time.Millisecond
)

// cuts takes a cut of every bucket. A cut of a lane or record that is not open,
// or whose epoch ends before its purchases are recorded, is thrown away.
func (r *Reconciler) cuts(ctx context.Context, sale FoldedSale) ([]cut, error) {
	var cuts []cut
	for _, place := range Places(r.Env.Store, sale.Sale) {
		c, ok := cut{place: place, skus: sale.SKUs()}, false
		for try := 0; try < cutTries && !ok && ctx.Err() == nil; try++ {
			if try > 0 {
				pause(ctx, cutPause)
			}
			var err error
			if c.seen, err = r.Gate.Peek(ctx, place, c.skus); err != nil {
				return nil, fmt.Errorf("look at the gate: %w", err)
			}
			if ok, err = r.recorded(ctx, c); err != nil {
				return nil, err
			}
		}
		if !ok {
			return nil, fmt.Errorf("bucket %d: %w", place.Bucket, ErrNoCut)
		}
		cuts = append(cuts, c)
	}
	return cuts, nil
}

// recorded waits until the log's cursor has reached the cut.
func (r *Reconciler) recorded(ctx context.Context, c cut) (bool, error) {
	if !c.seen.Lane.Selling() || c.seen.Sale.State != HashOpen {
		return false, nil
	}
	for _, stock := range c.seen.Stocks {
		if stock.State != HashOpen {
			return false, nil
		}
	}
	for try := 0; try < cutTries && ctx.Err() == nil; try++ {
		cursors, err := r.Log.Cursors(ctx, []int{c.place.Lane()})
		switch {
		case err != nil:
			return false, fmt.Errorf("read the cursor: %w", err)
		case cursors[0].Epoch != c.seen.Lane.Epoch:
			return false, nil
		case cursors[0].N >= c.seen.Lane.N:
			return true, nil
		}
		pause(ctx, cutPause)
	}
	return false, ctx.Err()
}

// sideRows is what stands beside the log, read before the log itself is.
type sideRows struct {
	guards []eventstore.Guard
	claims []eventstore.Claim
	views  ViewSnapshot
}

func (r *Reconciler) sideRows(ctx context.Context, sale FoldedSale) (sideRows, error) {
	var rows sideRows
	var streams []string
	for _, place := range Places(r.Env.Store, sale.Sale) {
		for _, sku := range sale.SKUs() {
			streams = append(streams, domain.StockStream(sale.ID, sku, place.Bucket))
		}
	}
	var err error
	if rows.guards, err = r.Log.Guards(ctx, streams); err != nil {
		return rows, fmt.Errorf("read guards: %w", err)
	}
	for i := range rows.guards {
		rows.guards[i].Stream = streams[i]
	}
	var after eventstore.Claim
	for {
		page, err := r.Log.SaleClaims(ctx, sale.ID, after, streamPage)
		if err != nil {
			return rows, fmt.Errorf("read claims: %w", err)
		}
		rows.claims = append(rows.claims, page...)
		if len(page) < streamPage {
			break
		}
		after = page[len(page)-1]
	}
	if rows.views, err = r.Views.Snapshot(ctx, sale.ID); err != nil {
		return rows, fmt.Errorf("read views: %w", err)
	}
	return rows, nil
}
