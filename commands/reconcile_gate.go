package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// cut is one bucket of a sale in the gate at one moment, whose purchases are all
// recorded.
type cut struct {
	place domain.Place
	skus  []string
	seen  Inspection
}

// cutPause is how long is waited before looking again at a gate that is not open,
// or at a cursor that is behind.
const cutPause = 20 * time.Millisecond

// errOverdue: the lane's journal holds an entry past its deadline, which the
// report names; until it is recorded there is no cut.
var errOverdue = errors.New("an entry of the journal is past its deadline")

// lookAtGate scans what the gate holds of orders in a bucket, and takes a cut of
// it after that.
func (r *reconciliation) lookAtGate(ctx context.Context, place domain.Place) error {
	c := cut{place: place, skus: r.sale.SKUs()}
	before, err := r.openCut(ctx, c)
	if err == nil {
		if err = r.scan(ctx, c); err == nil {
			c.seen, err = r.recordedCut(ctx, c)
		}
	}
	switch {
	case errors.Is(err, errOverdue):
		return nil
	case err != nil:
		return fmt.Errorf("bucket %d: %w", place.Bucket, err)
	}
	r.books.cuts = append(r.books.cuts, c)
	for i, sku := range c.skus {
		stream := domain.StockStream(place.Sale, sku, place.Bucket)
		book, err := r.books.stockOf(stream)
		if err != nil {
			return err
		}
		seen := c.seen.Stocks[i]
		book.seen = &stockCut{applied: seen.Applied, available: seen.Available, epoch: c.seen.Lane.Epoch, n: c.seen.Lane.N}
		if before.Lane.Epoch == c.seen.Lane.Epoch {
			book.seen.before = before.Stocks[i].Applied.Number
		}
		book.prefix = seen.Applied.Number == 0
	}
	return nil
}

// openCut looks at a bucket until everything in it is open.
func (r *reconciliation) openCut(ctx context.Context, c cut) (Inspection, error) {
	for deadline := r.Env.Now().Add(r.opts.Patience); ; pause(ctx, cutPause) {
		seen, err := r.Gate.Inspect(ctx, c.place, c.skus)
		switch {
		case err != nil:
			return seen, fmt.Errorf("look at the gate: %w", err)
		case seen.open():
			return seen, nil
		case seen.Lane.Foreign != "":
			return seen, fmt.Errorf("%w: %w", ErrNoCut, errForeign(seen.Lane.Foreign))
		case ctx.Err() != nil:
			return seen, ctx.Err()
		case r.Env.Now().After(deadline):
			return seen, ErrNoCut
		}
	}
}

// open tells whether the lane, the sale's record and every stock hash are open.
func (p Peeked) open() bool {
	for _, stock := range p.Stocks {
		if stock.State != HashOpen {
			return false
		}
	}
	return p.Lane.Selling() && p.Sale.State == HashOpen
}

// recordedCut takes a cut and waits until its purchases are recorded. One that is
// not open, or whose epoch ends before, is thrown away.
func (r *reconciliation) recordedCut(ctx context.Context, c cut) (Inspection, error) {
	for deadline := r.Env.Now().Add(r.opts.Patience); ; {
		seen, err := r.openCut(ctx, c)
		if err != nil {
			return seen, err
		}
		ok, err := r.awaitRecorded(ctx, c.place.Lane(), seen.Lane)
		if err != nil || ok {
			return seen, err
		}
		if r.Env.Now().After(deadline) {
			return seen, ErrNoCut
		}
	}
}

// awaitRecorded waits until the log's cursor has reached what a lane had written,
// as long as it moves; false when the lane's epoch ends before.
func (r *reconciliation) awaitRecorded(ctx context.Context, lane int, at LaneState) (bool, error) {
	var reached int64
	for moved := r.Env.Now(); ; pause(ctx, cutPause) {
		cursors, err := r.Log.Cursors(ctx, []int{lane})
		if err == nil && cursors[0].N > reached {
			reached, moved = cursors[0].N, r.Env.Now()
		}
		switch {
		case err != nil:
			return false, fmt.Errorf("read the cursor: %w", err)
		case ctx.Err() != nil:
			return false, ctx.Err()
		case cursors[0].Epoch != at.Epoch:
			return false, nil
		case cursors[0].N >= at.N:
			return true, nil
		}
		stands := r.Env.Now().Sub(moved)
		if stands < r.opts.Stall {
			continue
		}
		overdue, err := r.overdue(ctx, lane, cursors[0], at.N)
		if err == nil && overdue {
			err = errOverdue
		}
		if err != nil {
			return false, err
		}
		if stands > r.opts.Patience {
			return false, ErrNoCut
		}
	}
}

// overduePage bounds how many entries are named in a finding.
const overduePage = 50

// overdue reports the entries of a lane after its cursor, if the first of them is
// past its deadline by the gate's clock, or lost, and still not recorded. written
// is what the lane had written before.
func (r *reconciliation) overdue(ctx context.Context, lane int, at eventstore.Cursor, written int64) (bool, error) {
	after := domain.EntryID{Epoch: at.Epoch, N: at.N}
	entries, err := r.Gate.ReadLane(ctx, lane, after, overduePage)
	if err != nil {
		return false, fmt.Errorf("read the journal: %w", err)
	}
	f, late, err := r.late(ctx, lane, entries)
	if err != nil || (len(entries) > 0 && !late) {
		return false, err
	}
	cursors, err := r.Log.Cursors(ctx, []int{lane})
	if err != nil || cursors[0].N != at.N || cursors[0].Epoch != at.Epoch {
		return false, err // it was recorded in this moment
	}
	if len(entries) == 0 {
		f.Detail = fmt.Sprintf("lane %d has written entry %d-%d, and its journal has none after %s", lane, at.Epoch, written, after)
	}
	known := slices.ContainsFunc(r.report.Findings, func(o Finding) bool { return o.Kind == f.Kind && o.about.lane == lane })
	if !known {
		r.report.found(f)
	}
	return true, nil
}

// late describes entries that wait, if the first is past its deadline.
func (r *reconciliation) late(ctx context.Context, lane int, entries []JournalEntry) (f Finding, late bool, err error) {
	f = Finding{Kind: FindingOverdue, about: about{place: domain.Place{Store: r.Env.Store, Sale: r.sale.ID}, lane: lane}}
	if len(entries) == 0 {
		return f, false, nil
	}
	state, err := r.Gate.Peek(ctx, f.about.place, nil)
	if err != nil {
		return f, false, fmt.Errorf("look at the gate: %w", err)
	}
	for i, e := range entries {
		body, err := DecodeEntry(e.Body)
		switch {
		case err == nil:
			f.OrderIDs = append(f.OrderIDs, ordersOf(body, r.sale.ID)...)
		case i == 0:
			f.Detail = fmt.Sprintf("entry %s of lane %d cannot be read: %v", e.ID, lane, err)
			return f, true, nil
		}
		if i == 0 {
			age := state.Lane.Now.Sub(body.Time())
			if age < r.opts.Deadline {
				return f, false, nil
			}
			f.Detail = fmt.Sprintf("entry %s of lane %d waits for %s to be recorded", e.ID, lane, age.Round(time.Second))
		}
	}
	return f, true, nil
}

// ordersOf names the orders of a sale in an entry.
func ordersOf(body *EntryBody, sale string) []string {
	var ids []string
	for _, raw := range body.Purchases {
		if p, _ := decodePurchase(raw); p.Sale == sale && p.Order != "" { // what could be read
			ids = append(ids, p.Order)
		}
	}
	return ids
}

// scanPage is about how many records one page of a scan has.
const scanPage = 1000

// scan notes what the gate holds of every order of a bucket.
func (r *reconciliation) scan(ctx context.Context, c cut) error {
	for from := ""; ; {
		page, err := r.Gate.ScanOrders(ctx, c.place, from, scanPage)
		if err != nil {
			return fmt.Errorf("scan the gate's orders: %w", err)
		}
		r.books.scanned(c.place, page)
		if from = page.Next; from == "" {
			break
		}
	}
	for i, sku := range c.skus {
		for from := ""; ; {
			page, err := r.Gate.ScanHolds(ctx, c.place, sku, from, scanPage)
			if err != nil {
				return fmt.Errorf("scan the gate's holds of %s: %w", sku, err)
			}
			r.books.held(c.place, page.Holds, uint8(i+1))
			if from = page.Next; from == "" {
				break
			}
		}
	}
	return nil
}
