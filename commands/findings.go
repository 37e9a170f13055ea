package commands

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"seckill/domain"
	"seckill/eventstore"
)

// ViewSnapshot is the read models of one sale as they stood at one moment, and
// how far each shard had been brought then.
type ViewSnapshot struct {
	Shards int
	// OrderView, StockLog and Summary are positions by shard.
	OrderView []int64
	StockLog  []int64
	Summary   []int64
	Orders    []ViewOrder
	Stock     []ViewStock
	Counts    []ViewCounts
}

// ViewOrder is a row of order_view.
type ViewOrder struct {
	ID      string
	Buyer   string
	Status  domain.OrderStatus
	Version int64
	Units   int64
}

// ViewStock is what stock_log sums to for an item.
type ViewStock struct {
	SKU  string
	Left int64
}

// ViewCounts is a row of sale_summary.
type ViewCounts struct {
	Shard                                      int
	Placed, Rejected, Paid, Cancelled, Expired int64
	Units                                      int64
}

// ViewReader reads the read models of a sale in one snapshot.
type ViewReader interface {
	Snapshot(ctx context.Context, sale string) (ViewSnapshot, error)
}

// judgeUnread names every stream that cannot be read to its end: nothing can be
// said of what came later in it.
func (s *SaleReport) judgeUnread(b *books) {
	for _, stream := range slices.Sorted(maps.Keys(b.unread)) {
		f := Finding{Kind: FindingUnread, Detail: b.unread[stream].Error(), Repair: "use the version that wrote it, or look at the event with replay --stream " + stream}
		if id, ok := strings.CutPrefix(stream, domain.OrderStream("")); ok {
			f.OrderID = id
		}
		s.found(f)
	}
}

// judgeCut compares what the gate had left with the formula of the cut.
func (s *SaleReport) judgeCut(c cut, b *books) {
	lane := c.seen.Lane
	for i, sku := range c.skus {
		item := &s.Items[i]
		stream := domain.StockStream(c.place.Sale, sku, c.place.Bucket)
		book, ok := b.stocks[stream]
		if b.unread[stream] != nil {
			continue // found already: no account can be made of it
		}
		if !ok {
			s.found(Finding{Kind: FindingNotPrefix, SKU: sku, Detail: "the log has no such stock stream", Repair: "find out who wrote this hash"})
			continue
		}
		head, seen := book.head(), c.seen.Stocks[i]
		item.Released += head.Released
		item.Reserved += head.Reserved
		item.Returned += head.Returned
		item.Available += seen.Available
		s.judgeRule(sku, book)
		if !book.holds(seen.Applied) {
			s.found(Finding{Kind: FindingNotPrefix, SKU: sku,
				Detail: fmt.Sprintf("the gate has applied version %d, which is not in the stream", seen.Applied.Number),
				Repair: "rehydrate: the stock hash starts again from version 0"})
			continue
		}
		want := book.expected(seen.Applied.Number, lane.Epoch, lane.N)
		item.InFlight += head.Left() - want
		if kind, repair := gateDrift(seen.Available - want); kind != "" {
			s.found(Finding{Kind: kind, SKU: sku, Repair: repair,
				Detail: fmt.Sprintf("bucket %d has %d left; the log says %d at version %d and entry %d-%d",
					c.place.Bucket, seen.Available, want, seen.Applied.Number, lane.Epoch, lane.N)})
		}
	}
}

func gateDrift(by int64) (kind, repair string) {
	switch {
	case by > 0:
		return FindingGateAbove, fmt.Sprintf("withdraw %d from the gate", by)
	case by < 0:
		return FindingGateBelow, fmt.Sprintf("return %d to the gate", -by)
	}
	return "", ""
}

// judgeRule checks the stock rule at every version of a stream.
func (s *SaleReport) judgeRule(sku string, b *stockBook) {
	for _, a := range b.accounts {
		if a.Left() < 0 {
			s.found(Finding{Kind: FindingOversold, SKU: sku,
				Detail: fmt.Sprintf("at version %d of bucket %d %d units more are sold than released", a.Version, b.key.Bucket, -a.Left()),
				Repair: "none: the log itself was written around the guard"})
			return
		}
	}
}

func (s *SaleReport) judgeGuards(guards []eventstore.Guard, b *books) {
	for _, g := range guards {
		if b.unread[g.Stream] != nil {
			continue
		}
		book, ok := b.stocks[g.Stream]
		if !ok || g.Version < 0 || g.Version >= int64(len(book.accounts)) {
			s.found(Finding{Kind: FindingGuard, Detail: fmt.Sprintf("guard of %s stands at version %d, which is not in the log", g.Stream, g.Version), Repair: "write the fold as the guard"})
			continue
		}
		a := book.accounts[g.Version]
		if a.Released != g.Released || a.Reserved != g.Reserved || a.Returned != g.Returned {
			s.found(Finding{Kind: FindingGuard, SKU: book.key.SKU,
				Detail: fmt.Sprintf("guard of %s at version %d: released %d, reserved %d, returned %d; the log says %d, %d, %d",
					g.Stream, g.Version, g.Released, g.Reserved, g.Returned, a.Released, a.Reserved, a.Returned),
				Repair: "write the fold as the guard"})
		}
	}
}

// judgeClaims checks that every order that was placed has its claim, and every
// claim its order. Orders placed after the claims were read are passed over:
// the books were read later.
func (s *SaleReport) judgeClaims(claims []eventstore.Claim, b *books, terms domain.Terms) {
	held := map[string]int64{}
	for _, c := range claims {
		order, ok := b.orders[c.OrderID]
		switch {
		case b.unread[domain.OrderStream(c.OrderID)] != nil:
		case !ok:
			s.found(Finding{Kind: FindingClaim, OrderID: c.OrderID, BuyerID: c.BuyerID, Detail: "a claim without an order", Repair: "take the claim away"})
		case order.states[0].Status != domain.OrderStatusPlaced || order.states[0].BuyerID != c.BuyerID || lineUnits(order.states[0]) != c.Quantity:
			s.found(Finding{Kind: FindingClaim, OrderID: c.OrderID, BuyerID: c.BuyerID, Detail: "the claim is not what its order says", Repair: "write the claim from the order"})
		case order.now().Standing() == domain.Live && c.Live:
			held[c.BuyerID] += c.Quantity
		}
	}
	for buyer, units := range held {
		if units > terms.LimitPerBuyer {
			s.found(Finding{Kind: FindingDoubleClaim, BuyerID: buyer, Detail: fmt.Sprintf("holds %d units, the limit is %d", units, terms.LimitPerBuyer), Repair: "look at the buyer's orders; a switch may have lifted the limit"})
		}
	}
	s.judgeUnclaimed(claims, b)
}

// judgeUnclaimed finds placed orders without a claim, up to the newest order
// that has one.
func (s *SaleReport) judgeUnclaimed(claims []eventstore.Claim, b *books) {
	claimed := make(map[string]bool, len(claims))
	var newest int64
	for _, c := range claims {
		claimed[c.OrderID] = true
		if o, ok := b.orders[c.OrderID]; ok {
			newest = max(newest, o.positions[0])
		}
	}
	for id, o := range b.orders {
		if first := o.states[0]; first.Status == domain.OrderStatusPlaced && !claimed[id] && o.positions[0] < newest {
			s.found(Finding{Kind: FindingClaim, OrderID: id, BuyerID: first.BuyerID, Detail: "a placed order without a claim", Repair: "write the claim from the order"})
		}
	}
}

func lineUnits(o domain.Order) int64 {
	var n int64
	for _, l := range o.Lines {
		n += l.Quantity
	}
	return n
}

func (s *SaleReport) judgeViews(v ViewSnapshot, b *books) {
	s.judgeOrderView(v, b)
	s.judgeStockLog(v, b)
	s.judgeSummary(v, b)
}

// upTo gives the version of an order at a view's checkpoint, 0 for none.
func (o *orderBook) upTo(position int64) int {
	n := 0
	for n < len(o.positions) && o.positions[n] <= position {
		n++
	}
	return n
}

func (s *SaleReport) judgeOrderView(v ViewSnapshot, b *books) {
	rows := make(map[string]ViewOrder, len(v.Orders))
	for _, row := range v.Orders {
		rows[row.ID] = row
		if _, ok := b.orders[row.ID]; !ok && b.unread[domain.OrderStream(row.ID)] == nil {
			s.found(Finding{Kind: FindingViewExtra, OrderID: row.ID, BuyerID: row.Buyer, Detail: "order_view has an order that the log has not", Repair: "rebuild order_view"})
		}
	}
	for id, o := range b.orders {
		version := o.upTo(v.OrderView[eventstore.ShardOf(id, v.Shards)])
		row, ok := rows[id]
		switch {
		case version == 0 && !ok:
		case version > 0 && !ok:
			s.found(Finding{Kind: FindingViewMissing, OrderID: id, Detail: "order_view lacks an order that its checkpoint covers", Repair: "rebuild order_view"})
		case version == 0:
			s.found(Finding{Kind: FindingViewExtra, OrderID: id, Detail: "order_view has an order beyond its checkpoint", Repair: "rebuild order_view"})
		default:
			want := o.states[version-1]
			if row.Version != int64(version) || row.Status != want.Status || row.Units != lineUnits(want) {
				s.found(Finding{Kind: FindingViewStale, OrderID: id, Repair: "rebuild order_view",
					Detail: fmt.Sprintf("order_view says %s at version %d; the log says %s at version %d", row.Status, row.Version, want.Status, version)})
			}
		}
	}
}

func (s *SaleReport) judgeStockLog(v ViewSnapshot, b *books) {
	want, got := map[string]int64{}, map[string]int64{}
	for _, row := range v.Stock {
		got[row.SKU] += row.Left
	}
	for _, book := range b.stocks {
		for _, e := range book.entries {
			if e.position <= v.StockLog[eventstore.ShardOf(e.shard, v.Shards)] {
				want[book.key.SKU] += e.change
			}
		}
	}
	for _, item := range s.Items {
		if want[item.SKU] != got[item.SKU] {
			s.found(Finding{Kind: FindingStockLog, SKU: item.SKU, Detail: fmt.Sprintf("stock_log sums to %d, the log to %d", got[item.SKU], want[item.SKU]), Repair: "rebuild stock_log"})
		}
	}
}

func (s *SaleReport) judgeSummary(v ViewSnapshot, b *books) {
	got, want := make([]ViewCounts, v.Shards), make([]ViewCounts, v.Shards)
	for _, row := range v.Counts {
		if row.Shard < 0 || row.Shard >= v.Shards {
			s.found(Finding{Kind: FindingSummary, Detail: fmt.Sprintf("sale_summary has a row of shard %d of %d", row.Shard, v.Shards), Repair: "rebuild sale_summary"})
			continue
		}
		g := &got[row.Shard]
		g.Placed += row.Placed
		g.Rejected += row.Rejected
		g.Paid += row.Paid
		g.Cancelled += row.Cancelled
		g.Expired += row.Expired
		g.Units += row.Units
	}
	for id, o := range b.orders {
		shard := eventstore.ShardOf(id, v.Shards)
		for i := range o.upTo(v.Summary[shard]) {
			want[shard].count(o, i)
		}
	}
	for shard := range want {
		if got[shard] != want[shard] {
			s.found(Finding{Kind: FindingSummary, Detail: fmt.Sprintf("sale_summary of shard %d says %+v, the log %+v", shard, got[shard], want[shard]), Repair: "rebuild sale_summary"})
		}
	}
}

// count adds what the i-th event of an order did.
func (c *ViewCounts) count(o *orderBook, i int) {
	state := o.states[i]
	if i > 0 && o.states[i-1].Status == state.Status {
		return
	}
	switch state.Status {
	case domain.OrderStatusPlaced:
		c.Placed++
		c.Units += lineUnits(state)
	case domain.OrderStatusRejected:
		c.Rejected++
	case domain.OrderStatusPaid:
		c.Paid++
	case domain.OrderStatusCancelled:
		c.Cancelled++
	case domain.OrderStatusExpired:
		c.Expired++
	}
}
