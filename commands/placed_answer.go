package commands

import (
	"context"

	"seckill/domain"
)

// toRecord is an accepted purchase whose record its answer may wait for.
type toRecord struct {
	lane  int
	entry domain.EntryID
	// weak: it is not certain that the gate keeps it as strongly as its sale asks.
	weak bool
}

// accepted answers for a purchase that the gate accepted.
func (p *Purchaser) accepted(r Reservation, v Verdict) PurchaseResult {
	p.kept.Keep(r, v.Entry)
	return PurchaseResult{Outcome: domain.Reserved, Order: queuedOrder(r), record: &toRecord{r.Place.Lane(), v.Entry, v.Weak}}
}

// awaitRecord gives the answer as it is: where the strategy of the sale is redis-sync,
// or the gate could not keep the purchase as strongly as the sale asks, once the log
// has decided it. A rejected order is told as its status: it was accepted and has an
// id. While nobody can say what the log decided, the order stays queued.
func (p *Purchaser) awaitRecord(ctx context.Context, sale *domain.Sale, req *PurchaseRequest, result PurchaseResult) PurchaseResult {
	if result.record == nil || p.opts.Placed == nil || sale.Terms.Strategy != domain.StrategyRedisSync && !result.record.weak {
		return result
	}
	if req.Judged != nil {
		req.Judged()
	}
	order := result.Order.ID
	state, decided := p.opts.Placed.Wait(ctx, result.record.lane, order, result.record.entry)
	if !decided {
		return result
	}
	p.env.step("purchase.after-record")
	// From here on the log answers: no poll of this node may say queued again.
	p.kept.drop(result.record.lane, order)
	if state.Type == (&domain.OrderPlaced{}).EventType() {
		result.Order.Status, result.Order.Version, result.Order.WaitingFor = domain.OrderStatusPlaced, state.Version, ""
		p.finder.told.tell(result.Order)
		return result
	}
	look, cancel := detached(ctx, p.opts.FindBudget)
	defer cancel()
	answer, err := p.finder.Find(look, req.Buyer, order)
	if err != nil {
		p.env.Log.Warn("a decided order not looked up", "trace_id", req.TraceID, "buyer_id", req.Buyer, "order_id", order, "error", err)
		answer = result.Order.waitingFor(domain.WaitingForLog)
	}
	result.Order = answer
	return result
}
