package commands

import (
	"seckill/domain"
)

// TicketHolders knows who has no ticket without asking anybody. Implementation:
// Tickets.
type TicketHolders interface {
	// Without tells whether it is certain that a buyer never had a ticket of a sale and
	// gets none now; false says nothing.
	Without(sale *FoldedSale, buyer string) bool
}

// ticketless refuses from memory who comes without a good ticket and has no order to
// meet, beyond all doubt: whoever has one had a ticket. It does so only in a sale that
// is surely open, with the answer that the gate would give.
func (p *Purchaser) ticketless(sale *FoldedSale, req *PurchaseRequest) (domain.Outcome, bool) {
	if p.opts.Holders == nil || p.opts.Clock == nil || !sale.Terms.RequireTicket || sale.Gateless() {
		return 0, false
	}
	here := p.env.Now()
	gate, bound, ok := p.opts.Clock.at(here)
	doubt := bound + earlyMargin
	if !ok || elapsed(sale.SeenAt, here) > maxSaleAge ||
		sale.StateAt(gate.Add(-doubt)) != domain.SaleStateOpen || sale.StateAt(gate.Add(doubt)) != domain.SaleStateOpen {
		return 0, false
	}
	var r Reservation
	p.judgeBuyer(&r, &sale.Sale, req)
	if r.Unsure || r.Eligible && r.TicketFault == 0 || p.orders.has(sale.ID, req.Buyer) || !p.opts.Holders.Without(sale, req.Buyer) {
		return 0, false
	}
	if !r.Eligible {
		return domain.NotEligible, true
	}
	return r.TicketFault, true
}

// hasNothing tells whether it is certain that a buyer has neither an order nor a key
// in a sale: nobody has one yet, or this buyer never had a ticket.
func (p *Purchaser) hasNothing(sale *FoldedSale, req *PurchaseRequest) bool {
	if _, early := p.early(sale, req.Buyer); early {
		return true
	}
	_, certain := p.ticketless(sale, req)
	return certain
}
