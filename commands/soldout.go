package commands

import (
	"context"
	"sync"
	"time"

	"seckill/domain"
)

// Shortages looks whether a purchase could be anything but sold out, for much less
// than Reserve costs. Implementations: infra/redisgate, infra/memgate.
type Shortages interface {
	// SoldOut tells whether Reserve would have answered domain.SoldOut to this
	// purchase at a moment while SoldOut ran, and which moment that was. It looks at the gate itself, takes
	// nothing and writes nothing. False says only that Reserve must judge. It must
	// not be asked for a purchase that is not Eligible or has a TicketFault; Order,
	// BodyHash, TraceID and Node do not matter. It answers soon, by the deadline of ctx
	// or a little later. Errors are *GateError; nothing happened.
	SoldOut(ctx context.Context, r Reservation) (Shortage, error)
}

// Shortage is the answer of a look whether a purchase is sold out. Moment and Left are
// for the receipt; they may be zero, and Unknown.
type Shortage struct {
	Sold   bool
	Moment GateMoment
	// Left is how many units were left of the item that a purchase of one item asks for.
	Left int64
}

// GateMoment is a moment of a gate: its clock, and where the journal of the lane stood.
// What was accepted before lies before entry Next of Epoch, and what was accepted later does
// not. The zero value: not known.
type GateMoment struct {
	At          time.Time
	Epoch, Next int64
	// Bucket is the one that was looked at, the buyer's home; it says which lane it was.
	Bucket int
}

// maxShort bounds how many items are remembered as short.
const maxShort = 10_000

// shortMarks remembers of which items the gate had too few a moment ago. A mark
// refuses nobody: it says that asking Shortages first is worth it. So it cannot
// outlive a shortage, whoever gives units back, wherever.
type shortMarks struct {
	mu    sync.RWMutex
	least map[shortItem]int64 // the least quantity that was too much
}

type shortItem struct{ sale, sku string }

// mark remembers a purchase that was told sold out. Of several lines nobody knows
// which one was too much.
func (m *shortMarks) mark(sale string, lines []domain.Line) {
	if len(lines) != 1 {
		return
	}
	item, quantity := shortItem{sale, lines[0].SKU}, lines[0].Quantity
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.least[item]; ok && known <= quantity {
		return
	}
	if m.least == nil || len(m.least) >= maxShort {
		m.least = map[shortItem]int64{}
	}
	m.least[item] = quantity
}

// some tells whether anything is marked.
func (m *shortMarks) some() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return len(m.least) > 0
}

// any tells whether a line asks for what was too much.
func (m *shortMarks) any(sale string, lines []domain.Line) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if len(m.least) == 0 {
		return false
	}
	for _, l := range lines {
		if least, ok := m.least[shortItem{sale, l.SKU}]; ok && least <= l.Quantity {
			return true
		}
	}
	return false
}

// drop forgets the items of a purchase that was accepted: so much can be bought.
func (m *shortMarks) drop(sale string, lines []domain.Line) {
	if !m.any(sale, lines) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range lines {
		delete(m.least, shortItem{sale, l.SKU})
	}
}

// soldOut tells whether a purchase of what ran short is still sold out, by a look at
// the gate that began after the purchase arrived; of several buckets, at all of them.
// Who may not buy for a reason that is told before sold out is left to the gate. The
// error is a *domain.Problem.
func (p *Purchaser) soldOut(ctx context.Context, sale *FoldedSale, req *PurchaseRequest) (Shortage, error) {
	if f := req.foreseen(); f != nil {
		return f.short, f.failed
	}
	if p.opts.Shortages == nil || sale.Gateless() || !p.short.any(sale.ID, req.Lines) {
		return Shortage{}, nil
	}
	r := Reservation{
		Buyer: req.Buyer, Lines: req.Lines, Items: sale.SKUs(),
		Place: domain.Place{Store: p.env.Store, Sale: sale.ID, Bucket: domain.HomeBucket(sale.ID, req.Buyer, sale.Terms.Buckets)},
	}
	if p.judgeBuyer(&r, &sale.Sale, req); !r.Eligible || r.TicketFault != 0 {
		return Shortage{}, nil
	}
	if req.IdempotencyKey != "" {
		r.Key = KeyDigest(req.Buyer, sale.ID, req.Route, req.IdempotencyKey)
	}
	sold, err := p.lookAtHome(ctx, r, req)
	if err != nil || !sold.Sold || !several(&sale.Sale) {
		return sold, err
	}
	var wait bringing
	switch wait.bring(ctx, p, &sale.Sale, &r) {
	case UnitsNone:
		// What took the last units since the look may be the buyer's own order.
		return p.lookAtHome(ctx, r, req)
	case UnitsHere:
		return Shortage{}, nil
	}
	return Shortage{}, &domain.Problem{Code: domain.CodeBusy}
}

// lookAtHome looks at the buyer's home bucket, where the own orders are too.
func (p *Purchaser) lookAtHome(ctx context.Context, r Reservation, req *PurchaseRequest) (Shortage, error) {
	sold, err := p.opts.Shortages.SoldOut(ctx, r)
	if err != nil {
		p.env.Log.Warn("gate did not answer", "trace_id", req.TraceID, "buyer_id", req.Buyer, "sale_id", req.Sale, "error", err)
		return Shortage{}, &domain.Problem{Code: domain.CodeBusy}
	}
	sold.Moment.Bucket = r.Place.Bucket
	return sold, nil
}
