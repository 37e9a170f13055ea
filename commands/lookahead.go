package commands

import (
	"context"

	"seckill/domain"
)

// foresight is what the gate said of a purchase before its lines were known.
type foresight struct {
	sale   FoldedSale
	lines  [1]domain.Line
	short  Shortage
	failed error
}

// LookAhead looks whether the sale of a purchase that is still on its way is sold out: for
// a sale of one item that ran short, on behalf of one unit. req has all that the head of
// a request says, and no lines. What was seen stays in req, and Purchase uses it where it
// is the answer to what was asked for in the end; refusals keep their order. So a crowd
// that comes too late waits for the gate while its bodies are on their way, which costs a
// server less than to wait with a request that is read.
func (p *Purchaser) LookAhead(ctx context.Context, req *PurchaseRequest) {
	if p.opts.Shortages == nil || !p.short.some() {
		return
	}
	sale, err := p.sales.Get(ctx, req.Sale)
	if err != nil || len(sale.Terms.Items) != 1 || sale.Cleaned || several(&sale.Sale) || sale.Terms.RequireTicket || p.orders.has(sale.ID, req.Buyer) {
		return
	}
	f := &foresight{sale: sale, lines: [1]domain.Line{{SKU: sale.Terms.Items[0].SKU, Quantity: 1}}}
	req.Lines = f.lines[:]
	f.short, f.failed = p.soldOut(ctx, &f.sale, req)
	req.Lines = nil
	if f.short.Sold || f.failed != nil {
		req.ahead = f
	}
}

// foreseen gives what was seen ahead, where it is the answer to these lines: one unit, as
// the limit of every sale allows it. Else it is nil.
func (req *PurchaseRequest) foreseen() *foresight {
	if f := req.ahead; f != nil && len(req.Lines) == 1 && req.Lines[0] == f.lines[0] {
		return f
	}
	return nil
}

// Foreseen tells whether a look ahead has seen what Purchase will answer: it has no need
// of the gate any more.
func (req *PurchaseRequest) Foreseen() bool { return req.foreseen() != nil }

// saleOf gives the sale of a purchase.
func (p *Purchaser) saleOf(ctx context.Context, req *PurchaseRequest) (FoldedSale, error) {
	if f := req.foreseen(); f != nil {
		return f.sale, nil
	}
	return p.sales.Get(ctx, req.Sale)
}
