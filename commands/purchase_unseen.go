package commands

import (
	"context"
	"math/rand/v2"
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
			res, err := p.gate.Resolve(asked, ref, r.Buyer)
			if err == nil && res.State == OrderTombstone {
				return PurchaseResult{}, true
			}
			if err == nil && res.State != OrderUnresolved {
				if r.Place.Direct {
					return PurchaseResult{Outcome: domain.Reserved, Order: p.orderOf(ctx, r, r.Order)}, false
				}
				return p.accepted(r, Verdict{Entry: res.Entry, Weak: r.Strength == domain.AcknowledgeReplicated}), false
			}
			pause(asked, resolveLeast+rand.N(resolveMost-resolveLeast))
		}
	}
	look, cancel := detached(ctx, p.opts.FindBudget)
	defer cancel()
	if order, ok := p.ownOrder(look, sale, r.Buyer); ok {
		if order.ID == r.Order { // it is this very purchase's
			return PurchaseResult{Outcome: domain.Reserved, Order: order}, false
		}
		return PurchaseResult{Outcome: domain.Repeat, Repeat: true, Order: order}, false
	}
	p.env.Log.Warn("outcome of a purchase unknown", "trace_id", r.TraceID, "buyer_id", r.Buyer, "sale_id", r.Place.Sale, "order_id", r.Order, "gate", "unknown")
	p.kept.KeepUnknown(r)
	away := domain.WaitingForGate
	if r.Place.Direct {
		away = domain.WaitingForLog
	}
	return PurchaseResult{Outcome: domain.Reserved, Order: queuedOrder(r).waitingFor(away), unseen: true}, false
}
