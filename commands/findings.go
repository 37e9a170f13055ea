package commands

import (
	"cmp"
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

// ViewOrder is a row of order_view. Digest is its OrderDigest.
type ViewOrder struct {
	ID        string
	Buyer     string
	Status    domain.OrderStatus
	Version   int64
	Units     int64
	Position  int64
	RefundDue bool
	Digest    uint64
}

// ViewStock is what the rows of stock_log sum to for an item. Digest stands for the
// set of them.
type ViewStock struct {
	SKU    string
	Left   int64
	Rows   int64
	Digest uint64
}

// ViewCounts is a row of sale_summary: one for each currency of a shard.
type ViewCounts struct {
	Shard                                      int
	Placed, Rejected, Paid, Cancelled, Expired int64
	Units                                      int64
	Amount                                     domain.Money
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
			f.Kind, f.Detail = FindingViewStale, staleSaid(row, want)
		}
		s.found(f)
	}
}

// staleSaid says in what a row of order_view differs from the log.
func staleSaid(row, want viewRow) string {
	if row.status != want.status || row.version != want.version || row.units != want.units {
		return fmt.Sprintf("order_view says %s at version %d, %d units; the log says %s at version %d, %d units",
			row.status.domain(), row.version, row.units, want.status.domain(), want.version, want.units)
	}
	var wrong []string
	if row.refund != want.refund {
		wrong = append(wrong, fmt.Sprintf("refund_due %t instead of %t", row.refund, want.refund))
	}
	if row.position != want.position {
		wrong = append(wrong, fmt.Sprintf("position %d instead of %d", row.position, want.position))
	}
	if row.digest != want.digest {
		wrong = append(wrong, "another buyer, bucket, line, amount, reason, time, entry or trace")
	}
	return "order_view has for this order " + strings.Join(wrong, ", ")
}

func (s *SaleReport) judgeStockLog(b *books) {
	got, skus := map[string]ViewStock{}, map[string]bool{}
	for _, row := range b.views.Stock {
		got[row.SKU], skus[row.SKU] = row, true
	}
	for sku := range b.stock {
		skus[sku] = true
	}
	for _, sku := range slices.Sorted(maps.Keys(skus)) {
		is, want := got[sku], b.stock[sku]
		is.SKU, want.SKU = sku, sku
		if is == want {
			continue
		}
		f := Finding{Kind: FindingStockLog, SKU: sku, about: about{projection: "stock_log", before: is.Left, after: want.Left}}
		f.Detail = fmt.Sprintf("stock_log has %d rows that sum to %d, the log %d that sum to %d", is.Rows, is.Left, want.Rows, want.Left)
		if is.Rows == want.Rows && is.Left == want.Left {
			f.Detail = fmt.Sprintf("stock_log has %d rows that sum to %d as in the log, and not all of them are the log's", is.Rows, is.Left)
		}
		s.found(f)
	}
}

// countsKey names a row of sale_summary.
type countsKey struct {
	shard    int
	currency string
}

func (s *SaleReport) judgeSummary(b *books) {
	got, keys := map[countsKey]ViewCounts{}, map[countsKey]bool{}
	wrong := Finding{Kind: FindingSummary, about: about{projection: "sale_summary"}}
	for _, row := range b.views.Counts {
		key := countsKey{row.Shard, row.Amount.Currency}
		got[key] = got[key].plus(row)
		keys[key] = true
	}
	for key := range b.count {
		keys[key] = true
	}
	for _, key := range slices.SortedFunc(maps.Keys(keys), func(a, b countsKey) int {
		return cmp.Or(cmp.Compare(a.shard, b.shard), cmp.Compare(a.currency, b.currency))
	}) {
		is, want := got[key].plus(ViewCounts{}), b.count[key].plus(ViewCounts{})
		_, made := b.count[key] // as by every event of an order, also one that counts nothing
		is.Shard, is.Amount.Currency, want.Shard, want.Amount.Currency = key.shard, key.currency, key.shard, key.currency
		switch {
		case key.shard < 0 || key.shard >= b.views.Shards:
			wrong.Detail = fmt.Sprintf("sale_summary has a row of shard %d, and there are %d", key.shard, b.views.Shards)
		case !made:
			wrong.Detail = fmt.Sprintf("sale_summary of shard %d has a row of currency %q, and the log has nothing for it: %s", key.shard, key.currency, is.said())
		case is == want:
			continue
		default:
			wrong.Detail = fmt.Sprintf("sale_summary of shard %d says %s; the log says %s", key.shard, is.said(), want.said())
		}
		s.found(wrong)
	}
}

// said is a row of sale_summary for people.
func (c ViewCounts) said() string {
	said := fmt.Sprintf("%d placed, %d rejected, %d paid, %d cancelled, %d expired, %d units", c.Placed, c.Rejected, c.Paid, c.Cancelled, c.Expired, c.Units)
	if c.Amount.Currency != "" {
		said += fmt.Sprintf(" for %s %s", c.Amount.Amount(), c.Amount.Currency)
	}
	return said
}

// plus adds up rows of one shard and currency. What does not fit into 64 bits wraps
// around in both views of it.
func (c ViewCounts) plus(row ViewCounts) ViewCounts {
	c.Placed += row.Placed
	c.Rejected += row.Rejected
	c.Paid += row.Paid
	c.Cancelled += row.Cancelled
	c.Expired += row.Expired
	c.Units += row.Units
	c.Amount.Minor += row.Amount.Minor
	return c
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
