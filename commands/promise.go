package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// Promises records acknowledged orders that the gate forgot and has no units for:
// the one way beside the recorder to sell, and only within an item's overdraft.
type Promises struct {
	Env    *Env
	Sales  *Sales
	Gate   PromiseGate
	Log    PromiseLog
	Follow *Follower
}

// PromiseGate is what Promises ask of the gate.
type PromiseGate interface {
	Resolve(ctx context.Context, ref domain.OrderRef, buyer string) (Resolution, error)
	Lane(ctx context.Context, lane int) (LaneState, error)
}

// PromiseLog is what Promises ask of the log.
type PromiseLog interface {
	eventstore.Appender
	Cursors(ctx context.Context, lanes []int) ([]eventstore.Cursor, error)
}

// errOverdrawn: neither stock nor overdraft has units for the promise.
var errOverdrawn = errors.New("no units are left for this promise")

// Keep places the order straight in the log, by no entry of the journal, if its
// sale's items have an overdraft and enough of it is left. The gate, which has
// just refused it for want of units, keeps a tombstone first, so that it never
// takes units for it by itself; and everything it had accepted until then must be
// in the log, or the promise would take what is promised to others. True: the
// order is decided. ErrUnresolved: ask again.
func (p *Promises) Keep(ctx context.Context, ref domain.OrderRef, r Reservation) (bool, error) {
	sale, err := p.Sales.Fold(ctx, r.Place.Sale)
	if err != nil {
		return false, err
	}
	if len(sale.Judged().Overdraft) == 0 || sale.Cleaned {
		return false, nil
	}
	terms, err := p.termsOf(ctx, sale)
	if err != nil {
		return false, err
	}
	lane := r.Place.Lane()
	epoch, err := p.awaitRecorded(ctx, lane)
	if err != nil {
		return false, err
	}
	res, err := p.Gate.Resolve(ctx, ref, r.Buyer)
	switch {
	case err != nil:
		return false, fmt.Errorf("resolve order %s: %w", r.Order, err)
	case res.State == OrderUnresolved, res.Epoch != epoch:
		return false, ErrUnresolved
	case res.State != OrderTombstone:
		return false, nil // decided otherwise: Lost.Declare tells how
	}
	err = p.place(ctx, r, terms, epoch)
	switch {
	case errors.Is(err, errOverdrawn):
		return false, nil
	case errors.Is(err, errEpochMoved):
		return false, ErrUnresolved
	}
	return err == nil, err
}

// termsOf gives the terms that a promise of the sale is judged and priced by. Once
// it has opened its prices and limits stay (Operator.Revise), but a switch may have
// lifted the limit when the promise was made: the widest that ever stood counts, as
// in a reconciliation.
func (p *Promises) termsOf(ctx context.Context, sale FoldedSale) (domain.Terms, error) {
	terms, ever := sale.Judged(), newBooks(sale)
	err := eachRecord(ctx, p.Sales.store, domain.SaleStream(sale.ID), 0, func(r *eventstore.Record) error {
		ev, err := decode(r)
		if err == nil {
			ever.addTerms(ev)
		}
		return err
	})
	terms.LimitPerBuyer, terms.OrdersPerBuyer = max(terms.LimitPerBuyer, ever.limit), max(terms.OrdersPerBuyer, ever.allowed)
	return terms, err
}

// limit gives the widest limit per buyer that a sale ever had.
func (p *Promises) limit(ctx context.Context, id string) (int64, error) {
	sale, err := p.Sales.Fold(ctx, id)
	if err != nil {
		return 0, err
	}
	terms, err := p.termsOf(ctx, sale)
	if err != nil {
		return 0, fmt.Errorf("read the limits that sale %s had: %w", id, err)
	}
	return terms.LimitPerBuyer, nil
}

// awaitRecorded waits until all that the gate has accepted by now is recorded, and
// gives the lane's epoch. ErrUnresolved: it takes longer, or the lane is closed.
func (p *Promises) awaitRecorded(ctx context.Context, lane int) (int64, error) {
	state, err := p.Gate.Lane(ctx, lane)
	if err != nil {
		return 0, fmt.Errorf("look at lane %d: %w", lane, err)
	}
	for state.Selling() && ctx.Err() == nil {
		cursors, err := p.Log.Cursors(ctx, []int{lane})
		switch {
		case err != nil:
			return 0, fmt.Errorf("read cursor of lane %d: %w", lane, err)
		case cursors[0].Epoch != state.Epoch:
			return 0, ErrUnresolved
		case cursors[0].N >= state.N:
			return state.Epoch, nil
		}
		pause(ctx, 10*time.Millisecond)
	}
	return 0, ErrUnresolved
}

// overdraw tells whether the overdraft alone has the units: what the stock has left
// belongs to the gate.
func (d *draft) overdraw(a *accepted) bool {
	for i, stream := range a.stockStreams() {
		l := a.Lines[i]
		over := max(-d.guard(stream).Left(), 0)
		if over+l.Quantity > a.terms.OverdraftIn(l.SKU, a.Bucket) {
			return false
		}
	}
	return true
}

// place records the order, if it is undecided and the lane's epoch still that of
// the tombstone, and brings its units into the gate's account.
func (p *Promises) place(ctx context.Context, r Reservation, terms domain.Terms, epoch int64) error {
	page := []accepted{{
		Purchase: Purchase{
			Order: r.Order, Buyer: r.Buyer, Sale: r.Place.Sale, Bucket: r.Place.Bucket, Lines: r.Lines, Key: r.Key, Body: r.BodyHash, TraceID: r.TraceID, Node: r.Node, Ticket: r.Ticket,
		},
		terms: terms, by: "promise",
	}}
	lane := r.Place.Lane()
	receipt, err := p.Log.Submit(context.WithoutCancel(ctx), eventstore.Work{
		Needs: pageNeeds(page, lane),
		Decide: func(look eventstore.Look) (*eventstore.Group, error) {
			a := page[0]
			if look.Stream(a.orderStream()).Version > 0 {
				return nil, nil
			}
			if look.Cursor(lane).Epoch != epoch {
				return nil, errEpochMoved
			}
			a.at = look.Now().UnixMicro()
			d := newDraft(p.Env, look)
			claims := d.claimsOf(&a)
			if reason, _ := d.judge(&a, claims); reason != "" || !d.overdraw(&a) {
				return nil, errOverdrawn
			}
			if err := d.place(&a, claims); err != nil {
				return nil, err
			}
			return d.done(), nil
		},
	})
	if err != nil {
		return fmt.Errorf("keep the promise of order %s: %w", r.Order, err)
	}
	if len(receipt.Records) == 0 {
		return nil // decided meanwhile
	}
	p.Env.Log.Warn("acknowledged order kept beyond what the gate has", "order_id", r.Order, "buyer_id", r.Buyer, "sale_id", r.Place.Sale)
	into, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyBudget)
	defer cancel()
	if err := p.Follow.Push(into, receipt.Records); err != nil {
		p.Env.Log.Warn("promise kept; the gate's account follows later", "order_id", r.Order, "error", err)
	}
	return nil
}
