package commands

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"seckill/domain"
)

// judgeUnread names every stream that cannot be read to its end: nothing can be
// said of what came later in it.
func (s *SaleReport) judgeUnread(b *books) {
	for _, stream := range slices.Sorted(maps.Keys(b.unread)) {
		f := Finding{Kind: FindingUnread, Detail: b.unread[stream].Error()}
		if id, ok := strings.CutPrefix(stream, domain.OrderStream("")); ok {
			f.OrderID = id
		}
		s.found(f)
	}
}

// judgeCut compares what the gate had left with the formula of the cut. What
// findings about single orders explain is not reported again.
func (r *reconciliation) judgeCut(c cut, off stranded) {
	s, lane := &r.report, c.seen.Lane
	for i, sku := range c.skus {
		item, stream := &s.Items[i], domain.StockStream(c.place.Sale, sku, c.place.Bucket)
		if r.books.unread[stream] != nil {
			continue // found already: no account can be made of it
		}
		book, seen := r.books.stocks[stream], c.seen.Stocks[i]
		book.addTo(item)
		item.Available += seen.Available
		f := Finding{SKU: sku, about: about{place: c.place, before: seen.Available, after: book.expected}}
		if !book.prefix {
			f.Kind = FindingNotPrefix
			f.Detail = fmt.Sprintf("the gate has applied %s of %s, which is not in the stream", versionSaid(seen.Applied), stream)
			s.found(f)
			continue
		}
		item.InFlight += book.now.Left() - book.expected
		by := seen.Available - book.expected
		if by == 0 || by == off[stream] {
			continue
		}
		f.Kind = FindingGateAbove
		if by < 0 {
			f.Kind = FindingGateBelow
		}
		f.Detail = fmt.Sprintf("bucket %d has %d left; the log says %d at version %d and entry %d-%d",
			c.place.Bucket, seen.Available, book.expected, seen.Applied.Number, lane.Epoch, lane.N)
		s.found(f)
	}
}

// judgeRule checks that at no version of a stream more was sold than released and
// the item's overdraft allows.
func (r *reconciliation) judgeRule(b *stockBook) {
	if b.least.Within(r.sale.OverdraftIn(b.key.SKU, b.key.Bucket)) {
		return
	}
	r.report.found(Finding{Kind: FindingOversold, SKU: b.key.SKU,
		Detail: fmt.Sprintf("at version %d of bucket %d %d units more are sold than released", b.least.Version, b.key.Bucket, -b.least.Left())})
}

// judgeMoves names the moves between buckets of which one side alone is in the log. What
// stands in a stream that cannot be read may be there.
func (s *SaleReport) judgeMoves(b *books) {
	for _, side := range b.moves.left() {
		if b.unread[side.donor] == nil && b.unread[side.receiver] == nil {
			s.found(Finding{Kind: FindingMove, SKU: side.sku, Detail: side.lacks()})
		}
	}
}

// judgeGuards checks that every guard is the fold of its stream.
func (s *SaleReport) judgeGuards(b *books) {
	for _, stream := range slices.Sorted(maps.Keys(b.guards)) {
		g, at := b.guards[stream].guard, b.guards[stream].version
		book := b.stocks[stream]
		if b.unread[stream] != nil || book == nil {
			continue
		}
		a := book.atGuard
		overdrawn := g.Overdraft > b.overdraft[stream] && b.unread[domain.SaleStream(s.Sale)] == nil
		if a.Released == g.Released && a.Reserved == g.Reserved && a.Returned == g.Returned && g.Version == at && !overdrawn {
			continue
		}
		s.found(Finding{Kind: FindingGuard, SKU: book.key.SKU,
			about: about{place: domain.Place{Sale: book.key.Sale, Bucket: book.key.Bucket}, before: g.Left(), after: a.Left()},
			Detail: fmt.Sprintf("guard of %s: version %d, released %d, reserved %d, returned %d, overdraft %d; the log says %d, %d, %d, %d, at most %d",
				stream, g.Version, g.Released, g.Reserved, g.Returned, g.Overdraft, at, a.Released, a.Reserved, a.Returned, b.overdraft[stream])})
	}
}

// judgeOverdueOrders names orders that should long have expired.
func (r *reconciliation) judgeOverdueOrders() {
	now := r.Env.Now()
	for _, id := range slices.Sorted(maps.Keys(r.books.orders)) {
		o := r.books.orders[id]
		if o.overdue(now, r.opts.Grace) && r.books.unread[domain.OrderStream(id)] == nil {
			r.report.found(Finding{Kind: FindingOrderDue, OrderID: id, BuyerID: o.buyer,
				Detail: fmt.Sprintf("it should have been paid %d seconds ago", now.Unix()-o.payBy)})
		}
	}
}
