package commands

import (
	"context"
	"sync"

	"seckill/domain"
)

// maxKnown bounds the orders of one generation; two are kept.
const maxKnown = 32_768

// buyerOrders remembers, within bounds, which order a buyer has in a sale, as it was
// acknowledged or seen here. What it forgot the gate knows.
type buyerOrders struct {
	mu         sync.RWMutex
	young, old map[buyerOfSale]buyerOrder
}

type buyerOfSale struct{ sale, buyer string }

// buyerOrder is an order, its status when it was seen last, and the key and body of
// the purchase that it came from, "" where they are not known.
type buyerOrder struct {
	order     string
	status    domain.OrderStatus
	key, body string
}

func (o *buyerOrders) get(sale, buyer string) (buyerOrder, bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	k := buyerOfSale{sale, buyer}
	known, ok := o.young[k]
	if !ok {
		known, ok = o.old[k]
	}
	return known, ok
}

func (o *buyerOrders) has(sale, buyer string) bool { _, ok := o.get(sale, buyer); return ok }

// put remembers the order of an answer.
func (o *buyerOrders) put(sale *FoldedSale, req *PurchaseRequest, result PurchaseResult) {
	k := buyerOfSale{sale.ID, req.Buyer}
	seen := buyerOrder{order: result.Order.ID, status: result.Order.Status}
	known, _ := o.get(sale.ID, req.Buyer)
	switch {
	case known.order == seen.order:
		seen.key, seen.body = known.key, known.body
	case (result.Outcome == domain.Reserved || result.Outcome == domain.SameOrder) && req.IdempotencyKey != "":
		seen.key, seen.body = KeyDigest(req.Buyer, sale.ID, req.Route, req.IdempotencyKey), req.BodyHash
	}
	if known == seen {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.young) >= maxKnown {
		o.old, o.young = o.young, nil
	}
	if o.young == nil {
		o.young = map[buyerOfSale]buyerOrder{}
	}
	o.young[k] = seen
}

func (o *buyerOrders) drop(sale, buyer string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.young, buyerOfSale{sale, buyer})
	delete(o.old, buyerOfSale{sale, buyer})
}

// ownKnown answers a repeat by the order that is remembered, with its status of now.
// It does so only where it is certain that the gate would meet this very order: one
// that the log decided and did not reject, in a sale where each buyer has one order
// and none again after it. Whether a key fits is certain only for the one that the
// order came with.
func (p *Purchaser) ownKnown(ctx context.Context, sale *FoldedSale, req *PurchaseRequest) (PurchaseResult, bool) {
	if sale.Terms.OrdersPerBuyer != 1 || sale.Terms.Rebuy {
		return PurchaseResult{}, false
	}
	known, ok := p.orders.get(sale.ID, req.Buyer)
	if !ok || !decidedForGood(known.status) {
		return PurchaseResult{}, false
	}
	if req.IdempotencyKey != "" &&
		(known.key != KeyDigest(req.Buyer, sale.ID, req.Route, req.IdempotencyKey) || known.body != req.BodyHash) {
		return PurchaseResult{}, false
	}
	look, cancel := context.WithTimeout(ctx, p.opts.FindBudget)
	defer cancel()
	answer, err := p.finder.Find(look, req.Buyer, known.order)
	if err != nil {
		return PurchaseResult{}, false
	}
	if !decidedForGood(answer.Status) { // the log went back
		p.orders.drop(sale.ID, req.Buyer)
		return PurchaseResult{}, false
	}
	return PurchaseResult{Outcome: domain.Repeat, Repeat: true, Order: answer}, true
}

// decidedForGood tells whether an order of this status will never be rejected, so
// that it always counts for its buyer.
func decidedForGood(s domain.OrderStatus) bool {
	switch s {
	case domain.OrderStatusPlaced, domain.OrderStatusPaid, domain.OrderStatusCancelled, domain.OrderStatusExpired:
		return true
	}
	return false
}
