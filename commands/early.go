package commands

import (
	"context"
	"slices"
	"time"

	"seckill/domain"
)

// Kinds of answers that a Purchaser gives without Reserve, as OnKnown hears them.
const (
	KnownEarly    = "too_early"
	KnownSoldOut  = "sold_out"
	KnownRepeat   = "repeat"
	KnownNoTicket = "no_ticket"
)

// KnownAnswers lists the kinds, for metrics that must exist from the start.
func KnownAnswers() []string { return []string{KnownEarly, KnownSoldOut, KnownRepeat, KnownNoTicket} }

// known answers a purchase of which everything is known already; ok is false where
// the gate must judge. Its answer is the one the gate would have given at some
// moment since the purchase arrived.
func (p *Purchaser) known(ctx context.Context, sale *FoldedSale, req *PurchaseRequest) (result PurchaseResult, ok bool, err error) {
	var kind string
	if result, ok = p.ownKnown(ctx, sale, req); ok {
		kind = KnownRepeat
	} else if result, ok = p.early(sale, req.Buyer); ok {
		kind = KnownEarly
	} else if no, sure := p.ticketless(sale, req); sure {
		result, ok, kind = PurchaseResult{Outcome: no}, true, KnownNoTicket
	} else if short, failed := p.soldOut(ctx, sale, req); short.Sold || failed != nil {
		result, ok, kind, err = PurchaseResult{Outcome: domain.SoldOut, Moment: short.Moment, Left: short.Left}, short.Sold, KnownSoldOut, failed
	}
	if ok && p.opts.OnKnown != nil {
		p.opts.OnKnown(kind)
	}
	return result, ok, err
}

// learn keeps what an answer of the gate says for the next ones.
func (p *Purchaser) learn(sale *FoldedSale, req *PurchaseRequest, result PurchaseResult) {
	switch {
	case result.Outcome == domain.SoldOut:
		p.short.mark(sale.ID, req.Lines)
	case result.Order.ID != "" && !result.unseen:
		p.orders.put(sale, req, result)
		if result.Outcome == domain.Reserved {
			p.short.drop(sale.ID, req.Lines)
		}
	}
}

// earlyMargin is how long before the opening only the gate says that it is too
// early.
const earlyMargin = 100 * time.Millisecond

// maxSaleAge is how old what is known of a sale may be where it refuses somebody.
const maxSaleAge = time.Second

// early refuses from memory who comes before the sale opens, beyond all doubt. Nobody
// has an order before the earliest opening that the sale ever had, so nobody is kept
// from meeting the own one.
func (p *Purchaser) early(sale *FoldedSale, buyer string) (PurchaseResult, bool) {
	if p.opts.Clock == nil || sale.Gateless() || sale.FirstOpensAt.IsZero() {
		return PurchaseResult{}, false
	}
	opens := sale.FirstOpensAt
	here := p.env.Now()
	if elapsed(sale.SeenAt, here) > maxSaleAge {
		return PurchaseResult{}, false
	}
	gate, bound, ok := p.opts.Clock.at(here)
	if !ok || opens.Sub(gate) <= bound+earlyMargin || sale.StateAt(gate) != domain.SaleStateScheduled || p.orders.has(sale.ID, buyer) {
		return PurchaseResult{}, false
	}
	return PurchaseResult{Outcome: domain.TooEarly, OpensAt: sale.Terms.OpensAt.Truncate(time.Microsecond), Now: gate}, true // as the gate says it
}

// unknownItem tells whether a purchase names what the sale does not have.
func unknownItem(sale *domain.Sale, lines []domain.Line) bool {
	return slices.ContainsFunc(lines, func(l domain.Line) bool { _, ok := sale.Item(l.SKU); return !ok })
}
