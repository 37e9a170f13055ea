package commands

import (
	"time"

	"seckill/domain"
)

// budget bounds one question about a purchase of a sale.
func (p *Purchaser) budget(sale domain.Sale) time.Duration {
	if sale.Gateless() {
		return p.opts.DirectBudget
	}
	return p.opts.GateBudget
}

// recorded answers with an order that is recorded already.
func (p *Purchaser) recorded(order OrderAnswer) PurchaseResult {
	p.finder.told.tell(order) // the views may be behind
	return PurchaseResult{Outcome: domain.Reserved, Order: order}
}
