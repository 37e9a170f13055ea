package commands

import (
	"context"
	"fmt"
	"slices"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// Revision asks for other terms of a sale. Version is that of the sale which its
// author had before him; Change gives the new terms from those, and what cannot be
// read of them.
type Revision struct {
	Sale    string
	Version int64
	Change  func(domain.SaleTerms) (domain.SaleTerms, []domain.FieldError)
}

// pastEnd is why a closes_at that is over cannot come with other changes.
const pastEnd = "is over: to end the sale at once, change nothing else"

// Revise changes what a sale says, if it stands as its author saw it: otherwise,
// and for one of two who revise at once, it is a *domain.Problem with code
// version_conflict. Before the sale opens everything may change but what its stock
// is made of; once it has opened by the gate's clock only closes_at and texts.
// What would be sold by the old terms and not by the new ones the gate stops
// selling before the log knows: so nothing is ever sold by terms that the log had
// replaced, and all purchases of a sale are judged by the same prices and limits.
// A closes_at that is over closes the sale. A sale that is over is sale_ended.
func (o *Operator) Revise(ctx context.Context, r Revision, actor Actor) (FoldedSale, error) {
	if _, err := domain.ParseSaleID(r.Sale); err != nil {
		return FoldedSale{}, errNoSale()
	}
	sale, err := o.Sales.Fold(ctx, r.Sale)
	if err != nil {
		return FoldedSale{}, err
	}
	if sale.Version != r.Version {
		return FoldedSale{}, &domain.Problem{Code: domain.CodeVersionConflict}
	}
	old := sale.Terms
	old.Items = slices.Clone(old.Items)
	for i := range old.Items {
		old.Items[i].Release = slices.Clone(old.Items[i].Release)
	}
	terms, bad := r.Change(old)
	if len(bad) > 0 {
		return FoldedSale{}, domain.Invalid(bad...)
	}
	terms = terms.WithDefaults()
	ev, now, err := o.revision(ctx, sale, terms, actor)
	switch {
	case err != nil:
		return FoldedSale{}, err
	case ev == nil:
		return sale, nil
	case !terms.ClosesAt.After(now):
		return o.Close(ctx, sale.ID, actor)
	case !sale.Stops(terms):
		return o.record(ctx, sale, ev, actor)
	}
	for _, place := range Places(o.Env.Store, sale.Sale) {
		if err := o.Gate.Hold(ctx, place, domain.Paused); err != nil {
			return FoldedSale{}, fmt.Errorf("stop sale %s in the gate: %w", sale.ID, err)
		}
	}
	o.Env.step("revise.after-hold")
	// From here on nothing is sold, so what the clock says now stays true.
	if ev, _, err = o.revision(ctx, sale, terms, actor); err == nil {
		sale, err = o.record(ctx, sale, ev, actor)
	}
	if err != nil {
		o.letGo(ctx, r.Sale)
	}
	return sale, err
}

// saleClock reads the clock that the sale's purchases are judged by: the gate's, or the
// log's where there is no gate.
func (o *Operator) saleClock(ctx context.Context, sale FoldedSale) (now time.Time, err error) {
	if sale.Gateless() {
		_, err = o.Log.Submit(ctx, eventstore.Work{Decide: func(look eventstore.Look) (*eventstore.Group, error) {
			now = look.Now()
			return nil, nil
		}})
		if err != nil {
			return now, fmt.Errorf("ask the log for the time: %w", err)
		}
		return now, nil
	}
	seen, err := o.Follow.gate.Peek(ctx, Places(o.Env.Store, sale.Sale)[0], nil)
	if err != nil {
		return now, fmt.Errorf("ask the gate of sale %s for the time: %w", sale.ID, err)
	}
	return seen.Lane.Now, nil
}

// revision decides, and tells the clock that the sale is judged by.
func (o *Operator) revision(ctx context.Context, sale FoldedSale, terms domain.SaleTerms, actor Actor) (domain.Event, time.Time, error) {
	now, err := o.saleClock(ctx, sale)
	if err != nil {
		return nil, time.Time{}, err
	}
	if sale.Over(now) {
		return nil, now, &domain.Problem{Code: domain.CodeSaleEnded}
	}
	opened := sale.OpenAt(now)
	ev, bad := sale.Revise(terms, opened, actor.By)
	if len(bad) == 0 && ev != nil {
		bad = domain.ValidateTerms(judgedAgain(terms, opened))
		bad = append(bad, endOf(sale, terms, now)...)
		weak, err := o.tooWeak(ctx, sale.Sale, terms)
		if err != nil {
			return nil, now, err
		}
		bad = append(bad, weak...)
	}
	if len(bad) > 0 {
		return nil, now, domain.Invalid(bad...)
	}
	return ev, now, nil
}

// judgedAgain gives the terms without what cannot change any more and was judged before:
// a sale that has opened may end before its last tranche, which then never comes.
func judgedAgain(terms domain.SaleTerms, opened bool) domain.SaleTerms {
	if !opened {
		return terms
	}
	terms.Items = slices.Clone(terms.Items)
	for i := range terms.Items {
		terms.Items[i].Release = nil
	}
	return terms
}

// endOf tells what is wrong with a closes_at that is over.
func endOf(sale FoldedSale, terms domain.SaleTerms, now time.Time) []domain.FieldError {
	if terms.ClosesAt.After(now) {
		return nil
	}
	if !sale.OpenAt(now) {
		return []domain.FieldError{{Field: "closes_at", Reason: "must be later than now"}}
	}
	same := sale.Terms
	same.ClosesAt = terms.ClosesAt
	if other, _ := (domain.Sale{Terms: same}).Revise(terms, false, ""); other != nil {
		return []domain.FieldError{{Field: "closes_at", Reason: pastEnd}}
	}
	return nil
}

// record appends a revision at the version that was read, and brings it into the
// gate. One that changes what purchases are judged by is refused where the log
// knows of a purchase, whatever the clock says.
func (o *Operator) record(ctx context.Context, sale FoldedSale, ev domain.Event, actor Actor) (FoldedSale, error) {
	own := domain.SaleStream(sale.ID)
	stored, err := o.Env.newEvent(ev, sale.ID, "", Meta{TraceID: actor.TraceID, By: actor.By})
	if err != nil {
		return FoldedSale{}, err
	}
	needs := eventstore.Needs{Streams: []string{own}, Guards: stockStreams(sale.Sale)}
	withdrawn, err := o.withdrawnUnits(ctx, sale.ID)
	if err != nil {
		return FoldedSale{}, err
	}
	receipt, err := o.Log.Submit(context.WithoutCancel(ctx), eventstore.Work{
		Needs: needs,
		Decide: func(look eventstore.Look) (*eventstore.Group, error) {
			for _, stream := range needs.Guards {
				if look.Guard(stream).Reserved == withdrawn[stream] {
					continue
				}
				if _, bad := sale.Revise(ev.(*domain.SaleRevised).SaleTerms, true, actor.By); len(bad) > 0 {
					return nil, domain.Invalid(bad...)
				}
			}
			return &eventstore.Group{Appends: []eventstore.Append{{Stream: own, Expected: sale.Version, Events: []eventstore.NewEvent{stored}}}}, nil
		},
	})
	switch {
	case err != nil:
		return FoldedSale{}, fmt.Errorf("append %s to sale %s: %w", ev.EventType(), sale.ID, err)
	case receipt.Outcome == eventstore.Conflict:
		return FoldedSale{}, &domain.Problem{Code: domain.CodeVersionConflict}
	}
	o.Env.step("revise.after-append")
	revised, err := o.Sales.Fold(context.WithoutCancel(ctx), sale.ID)
	if err != nil {
		return FoldedSale{}, err
	}
	o.apply(ctx, revised)
	return revised, nil
}

// withdrawnUnits gives what was withdrawn and moved out of each stock stream of a sale:
// the log's account counts it with what was bought.
func (o *Operator) withdrawnUnits(ctx context.Context, sale string) (map[string]int64, error) {
	units := map[string]int64{}
	for _, kind := range []domain.Event{&domain.StockWithdrawn{}, &domain.StockMovedOut{}} {
		err := eachOf(ctx, o.Log, sale, kind, func(r *eventstore.Record, ev domain.Event) { units[r.Stream] += domain.Account{}.Fold(ev).Reserved })
		if err != nil {
			return nil, err
		}
	}
	return units, nil
}

// letGo takes holds away that came to nothing. What stays the lane keeper takes
// away.
func (o *Operator) letGo(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyBudget)
	defer cancel()
	sale, err := o.Sales.Fold(ctx, id)
	if err != nil {
		o.Env.Log.Warn("sale stays held for a moment", "sale_id", id, "error", err)
		return
	}
	for _, place := range Places(o.Env.Store, sale.Sale) {
		seen, err := o.Follow.gate.Peek(ctx, place, nil)
		if err == nil && seen.Sale.Held {
			_, err = o.Follow.gate.ApplySale(ctx, SalePage{Place: place, From: seen.Sale.Applied, To: sale.Mark, Sale: sale.Sale})
		}
		if err != nil {
			o.Env.Log.Warn("sale stays held for a moment", "sale_id", id, "error", err)
		}
	}
}
