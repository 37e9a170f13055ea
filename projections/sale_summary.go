package projections

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"seckill/domain"
)

// saleSummary counts what happened to the orders of a sale. Its rows are sums
// of changes, so the checkpoint alone keeps a record from counting twice.
func saleSummary() Projection {
	return Projection{Name: "sale_summary", Version: 1, Reads: "order.", Fold: foldSaleSummary,
		Tables: []string{"sale_summary"}, Proof: summaryProof()}
}

const addToSummary = `
insert into sale_summary (store, sale_id, shard, currency, placed, rejected, paid, cancelled, expired, units, amount_minor)
select $1, sale_id, $2, currency, placed, rejected, paid, cancelled, expired, units, amount_minor
from unnest($3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[])
  as t (sale_id, currency, placed, rejected, paid, cancelled, expired, units, amount_minor)
on conflict (sale_id, store, shard, currency) do update set
  placed = sale_summary.placed + excluded.placed, rejected = sale_summary.rejected + excluded.rejected,
  paid = sale_summary.paid + excluded.paid, cancelled = sale_summary.cancelled + excluded.cancelled,
  expired = sale_summary.expired + excluded.expired, units = sale_summary.units + excluded.units,
  amount_minor = sale_summary.amount_minor + excluded.amount_minor`

// Counts are how many orders each thing happened to, and the units that were
// placed. An order that was placed, paid and cancelled counts in all three.
type Counts struct {
	Placed    int64
	Rejected  int64
	Paid      int64
	Cancelled int64
	Expired   int64
	Units     int64
}

// summaryKey is a row of sale_summary within a share. Currency is that of the
// amount, "" for changes without one.
type summaryKey struct{ sale, currency string }

type summaryChange struct {
	Counts
	amount domain.Money
}

type summaryTable struct {
	share   Share
	changes map[summaryKey]*summaryChange
}

func foldSaleSummary(s Share, facts []Fact) (Rows, error) {
	t := &summaryTable{share: s, changes: map[summaryKey]*summaryChange{}}
	for _, f := range facts {
		if err := t.count(f); err != nil {
			return nil, fmt.Errorf("count the event at position %d: %w", f.Record.Position, err)
		}
	}
	return t, nil
}

func (t *summaryTable) count(f Fact) error {
	sale := f.Record.SaleID
	if sale == "" {
		ref, err := domain.ParseOrderID(f.Record.OrderID)
		if err != nil {
			return fmt.Errorf("find the sale of order %q: %w", f.Record.OrderID, err)
		}
		sale = ref.Place.Sale
	}
	switch e := f.Event.(type) {
	case *domain.OrderPlaced:
		c := t.change(sale, e.Amount.Currency)
		sum, ok := c.amount.Plus(e.Amount)
		if !ok {
			return fmt.Errorf("amounts of sale %s do not fit into 64 bits", sale)
		}
		c.amount = sum
		c.Placed++
		c.Units += unitsOf(e.Lines)
	case *domain.OrderRejected:
		t.change(sale, "").Rejected++
	case *domain.OrderPaid:
		t.change(sale, "").Paid++
	case *domain.OrderCancelled:
		t.change(sale, "").Cancelled++
	case *domain.OrderExpired:
		t.change(sale, "").Expired++
	case *domain.OrderRefundDue:
		t.change(sale, "") // the row stands, as for every event of an order
	default:
		return fmt.Errorf("%s has no place in sale_summary: %w", f.Record.Type, domain.ErrUnknownEvent)
	}
	return nil
}

func (t *summaryTable) change(sale, currency string) *summaryChange {
	k := summaryKey{sale, currency}
	if t.changes[k] == nil {
		t.changes[k] = &summaryChange{amount: domain.Money{Currency: currency}}
	}
	return t.changes[k]
}

// Write adds the changes to the rows of this share.
func (t *summaryTable) Write(ctx context.Context, tx pgx.Tx) error {
	keys := slices.SortedFunc(maps.Keys(t.changes), func(a, b summaryKey) int {
		return cmp.Or(cmp.Compare(a.sale, b.sale), cmp.Compare(a.currency, b.currency))
	})
	sales, currencies := make([]string, len(keys)), make([]string, len(keys))
	var numbers [7][]int64
	for i, k := range keys {
		c := t.changes[k]
		sales[i], currencies[i] = k.sale, k.currency
		for n, v := range [7]int64{c.Placed, c.Rejected, c.Paid, c.Cancelled, c.Expired, c.Units, c.amount.Minor} {
			numbers[n] = append(numbers[n], v)
		}
	}
	_, err := tx.Exec(ctx, addToSummary, t.share.Store, t.share.Shard, sales, currencies,
		numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[6])
	if err != nil {
		return fmt.Errorf("write %d rows of sale_summary: %w", len(keys), err)
	}
	return nil
}
