package commands

import (
	"context"
	"slices"

	"seckill/domain"
	"seckill/eventstore"
)

// ownOrders bounds how many of a buyer's orders are looked at; rejected ones are
// among them.
const ownOrders = 100

// ownOrder looks for an order that this buyer has in the sale while the gate
// cannot say: a lane that recovers does not hide it from its owner. Only a few
// look at once, so that a crowd does not fall on the read model.
func (p *Purchaser) ownOrder(ctx context.Context, sale domain.Sale, buyer string) (OrderAnswer, bool) {
	leave, ok := p.lookIn()
	if !ok {
		return OrderAnswer{}, false
	}
	defer leave()
	return p.listedOrder(ctx, sale, buyer)
}

// lookIn takes one of the places for those who look at once; ok is false where none is
// free.
func (p *Purchaser) lookIn() (leave func(), ok bool) {
	select {
	case p.owners <- struct{}{}:
		return func() { <-p.owners }, true
	default:
		return nil, false
	}
}

// listedOrder gives the order of the read model that counts for its buyer.
func (p *Purchaser) listedOrder(ctx context.Context, sale domain.Sale, buyer string) (OrderAnswer, bool) {
	page, err := p.finder.List(ctx, sale.ID, buyer, ownOrders, "")
	if err != nil {
		p.env.Log.Warn("own order not looked up", "buyer_id", buyer, "sale_id", sale.ID, "error", err)
		return OrderAnswer{}, false
	}
	known := make([]domain.BuyerOrder, 0, len(page.Orders))
	for _, o := range slices.Backward(page.Orders) {
		known = append(known, domain.BuyerOrder{ID: o.ID, State: o.Standing()})
	}
	id := domain.RepeatOf(known, sale.Judged())
	for _, o := range page.Orders {
		if o.ID == id {
			return o, true
		}
	}
	return OrderAnswer{}, false
}

// ownMet gives what a purchase meets of its buyer's own while the gate cannot say, in the
// order of judgement: first what the log knows of its idempotency key, which is the
// order that came with it, or KeyMismatch where that had another body; then the order
// that counts. ok is false where it meets nothing.
func (p *Purchaser) ownMet(ctx context.Context, sale domain.Sale, r Reservation) (met PurchaseResult, ok bool) {
	leave, ok := p.lookIn()
	if !ok {
		return PurchaseResult{}, false
	}
	defer leave()
	switch claim, known := p.keyed(ctx, &r); {
	case known && claim.BodyHash != "" && claim.BodyHash != r.BodyHash:
		return PurchaseResult{Outcome: domain.KeyMismatch}, true
	case known:
		return PurchaseResult{Outcome: domain.SameOrder, Repeat: true, Order: p.orderOf(ctx, r, claim.OrderID)}, true
	}
	order, ok := p.listedOrder(ctx, sale, r.Buyer)
	return PurchaseResult{Outcome: domain.Repeat, Repeat: true, Order: order}, ok
}

// keyed gives the claim that the log has under the key of a purchase. known is false where
// it has none, or cannot be read: then the key is judged by nobody.
func (p *Purchaser) keyed(ctx context.Context, r *Reservation) (claim eventstore.Claim, known bool) {
	if r.Key == "" || r.Place.Direct { // without a gate it is the log that is away
		return eventstore.Claim{}, false
	}
	claims, err := p.kept.log.ClaimsOf(ctx, eventstore.ClaimKey{SaleID: r.Place.Sale, BuyerID: r.Buyer})
	if err != nil {
		p.env.Log.Warn("idempotency key not looked up", "trace_id", r.TraceID, "buyer_id", r.Buyer, "sale_id", r.Place.Sale, "error", err)
		return eventstore.Claim{}, false
	}
	i := slices.IndexFunc(claims, func(c eventstore.Claim) bool { return c.Key == r.Key })
	if i < 0 {
		return eventstore.Claim{}, false
	}
	return claims[i], true
}
