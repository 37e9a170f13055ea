package commands

import (
	"context"
	"fmt"
	"maps"
	"slices"

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
	// Aside are the sequences that a view leaves out, of all sales.
	Aside []ViewAside
}

// ViewAside is a sequence that a view has not applied from a position on. Parked:
// it waits to be tried again; otherwise a person gave it up.
type ViewAside struct {
	Projection string
	Sequence   string
	First      int64
	Parked     bool
	Reason     string
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

// judgeViews compares each view with the log at its own checkpoints.
func (s *SaleReport) judgeViews(b *books) {
	s.judgeAside(b)
	s.judgeOrderView(b)
	s.judgeStockLog(b)
	s.judgeSummary(b)
}

// judgeAside names the sequences of the sale that a view waits to apply.
func (s *SaleReport) judgeAside(b *books) {
	for _, a := range b.views.Aside {
		_, order := b.orders[a.Sequence]
		_, stock := b.stocks[a.Sequence]
		if !a.Parked || (!order && !stock && a.Sequence != domain.SaleStream(s.Sale)) {
			continue
		}
		f := Finding{Kind: FindingParked, about: about{projection: a.Projection, sequence: a.Sequence},
			Detail: fmt.Sprintf("%s has not applied %s from position %d on: %s", a.Projection, a.Sequence, a.First, a.Reason)}
		if order {
			f.OrderID = a.Sequence
		}
		s.found(f)
	}
}

func (s *SaleReport) judgeOrderView(b *books) {
	for _, id := range slices.Sorted(maps.Keys(b.orders)) {
		o := b.orders[id]
		f := Finding{OrderID: id, BuyerID: o.buyer, about: about{projection: "order_view"}}
		switch row, want := o.inView, o.folded; {
		case row == want, b.unread[domain.OrderStream(id)] != nil:
			continue
		case row.version == 0:
			f.Kind, f.Detail = FindingViewMissing, "order_view lacks an order that its checkpoint covers"
		case o.status == 0:
			f.Kind, f.Detail = FindingViewExtra, "order_view has an order that the log has not"
		case want.version == 0:
			f.Kind, f.Detail = FindingViewExtra, "order_view has an order beyond its checkpoint"
		default:
			f.Kind = FindingViewStale
			f.Detail = fmt.Sprintf("order_view says %s at version %d, %d units; the log says %s at version %d, %d units",
				row.status.domain(), row.version, row.units, want.status.domain(), want.version, want.units)
		}
		s.found(f)
	}
}

func (s *SaleReport) judgeStockLog(b *books) {
	got := map[string]int64{}
	for _, row := range b.views.Stock {
		got[row.SKU] += row.Left
	}
	for _, item := range s.Items {
		if want := b.stock[item.SKU]; want != got[item.SKU] {
			s.found(Finding{Kind: FindingStockLog, SKU: item.SKU, about: about{projection: "stock_log", before: got[item.SKU], after: want},
				Detail: fmt.Sprintf("stock_log sums to %d, the log to %d", got[item.SKU], want)})
		}
	}
}

func (s *SaleReport) judgeSummary(b *books) {
	got := make([]ViewCounts, b.views.Shards)
	wrong := Finding{Kind: FindingSummary, about: about{projection: "sale_summary"}}
	for _, row := range b.views.Counts {
		if row.Shard < 0 || row.Shard >= b.views.Shards {
			wrong.Detail = fmt.Sprintf("sale_summary has a row of shard %d of %d", row.Shard, b.views.Shards)
			s.found(wrong)
			continue
		}
		got[row.Shard].add(row)
	}
	for shard, want := range b.count {
		if got[shard] != want {
			wrong.Detail = fmt.Sprintf("sale_summary of shard %d says %+v, the log %+v", shard, got[shard], want)
			s.found(wrong)
		}
	}
}

func (c *ViewCounts) add(row ViewCounts) {
	c.Placed += row.Placed
	c.Rejected += row.Rejected
	c.Paid += row.Paid
	c.Cancelled += row.Cancelled
	c.Expired += row.Expired
	c.Units += row.Units
}

// readClaims notes every claim of the sale. They come in the order of their
// buyers: who holds more than the terms of the sale ever allowed is looked at again.
func (r *reconciliation) readClaims(ctx context.Context) error {
	head, err := r.Log.Head(ctx)
	if err != nil {
		return fmt.Errorf("read the head of the log: %w", err)
	}
	r.books.claimsAt = head.Number
	r.doubtful = map[string]bool{}
	var after eventstore.Claim
	var units int64
	var live int
	for {
		page, err := r.Log.SaleClaims(ctx, r.sale.ID, after, booksPage)
		if err != nil {
			return fmt.Errorf("read claims: %w", err)
		}
		for _, c := range page {
			if c.BuyerID != after.BuyerID {
				units, live = 0, 0
			}
			after = c
			r.books.claimed(c)
			if c.Live {
				units, live = units+c.Quantity, live+1
			}
			if units > r.sale.Terms.LimitPerBuyer || live > r.sale.Terms.OrdersPerBuyer {
				r.doubtful[c.BuyerID] = true
			}
		}
		if len(page) < booksPage {
			return nil
		}
	}
}
