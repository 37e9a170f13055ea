package commands

import (
	"context"
	"time"

	"seckill/domain"
)

// Bounds of the jitter between two questions about a lost answer: a gate that is in
// trouble is not asked more for it.
const (
	resolveLeast = 50 * time.Millisecond
	resolveMost  = 200 * time.Millisecond
)

// findOut asks what became of a purchase whose answer was lost. again means that
// it left a tombstone: nothing was bought, and nothing will be under that id. Where the
// gate stays away, a buyer who has an order already meets that one.
func (p *Purchaser) findOut(ctx context.Context, sale domain.Sale, r Reservation) (result PurchaseResult, again bool) {
	ref, err := domain.ParseOrderID(r.Order)
	if err == nil {
		asked, cancel := detached(ctx, p.opts.ResolveBudget)
		defer cancel()
		for asked.Err() == nil {
			if result, again, sure := p.askAgain(asked, ref, r); sure {
				return result, again
			}
			pause(asked, resolveLeast+p.env.jitter(resolveMost-resolveLeast))
		}
	}
	look, cancel := detached(ctx, p.opts.FindBudget)
	defer cancel()
	if met, ok := p.ownMet(look, sale, r); ok {
		if met.Order.ID == r.Order { // it is this very purchase's
			return PurchaseResult{Outcome: domain.Reserved, Order: met.Order}, false
		}
		return met, false
	}
	p.env.Log.Warn("outcome of a purchase unknown", "trace_id", r.TraceID, "buyer_id", r.Buyer, "sale_id", r.Place.Sale, "order_id", r.Order, "gate", "unknown")
	p.kept.KeepUnknown(r)
	away := domain.WaitingForGate
	if r.Place.Direct {
		away = domain.WaitingForLog
	}
	return PurchaseResult{Outcome: domain.Reserved, Order: queuedOrder(r).waitingFor(away), unseen: true}, false
}

// askAgain asks the gate once more under the same id, as a repeated script does, so that
// a purchase which never reached it is made now. Only where it says no is a tombstone
// left, for the first question may still be on its way: a tombstone whose answer was lost
// too would be the end of a purchase that the gate could have taken. sure is false where
// it cannot be seen now.
func (p *Purchaser) askAgain(ctx context.Context, ref domain.OrderRef, r Reservation) (result PurchaseResult, again, sure bool) {
	if !r.Place.Direct { // else the work itself is still on its way
		v, err := p.ask(ctx, &r)
		switch {
		case err != nil:
			return PurchaseResult{}, false, false
		case v.Order == r.Order && (v.Outcome == domain.Reserved || v.Outcome == domain.SameOrder):
			return p.accepted(r, v), false, true
		}
	}
	res, err := p.gate.Resolve(ctx, ref, r.Buyer)
	switch {
	case err != nil, res.State == OrderUnresolved:
		return PurchaseResult{}, false, false
	case res.State == OrderTombstone:
		return PurchaseResult{}, true, true
	case r.Place.Direct:
		return PurchaseResult{Outcome: domain.Reserved, Order: p.orderOf(ctx, r, r.Order)}, false, true
	}
	return p.accepted(r, Verdict{Entry: res.Entry, Weak: r.Strength == domain.AcknowledgeReplicated}), false, true
}
