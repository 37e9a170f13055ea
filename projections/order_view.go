package projections

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// orderView keeps one row per order: the fold of its stream.
func orderView() Projection {
	return Projection{Name: "order_view", Version: 1, Core: true, Reads: "order.", Fold: foldOrderView,
		Tables: []string{"order_view"}, Proof: orderProof()}
}

const (
	selectOrdersForFold = `select ` + orderColumns + ` from order_view where order_id = any($1)`

	// An older version never overwrites a newer one.
	upsertOrders = `
insert into order_view (order_id, sale_id, buyer_id, bucket, lines, units, amount_minor, currency, status, reason,
  refund_due, placed_at, accepted_at, pay_by, entry, version, trace_id, position)
select order_id, sale_id, buyer_id, bucket, lines::jsonb, units, amount_minor, currency, status, reason,
  refund_due, placed_at, accepted_at, pay_by, entry, version, trace_id, position
from unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::text[], $6::bigint[], $7::bigint[], $8::text[], $9::text[],
  $10::text[], $11::bool[], $12::timestamptz[], $13::timestamptz[], $14::timestamptz[], $15::text[], $16::bigint[], $17::text[],
  $18::bigint[])
  as t (order_id, sale_id, buyer_id, bucket, lines, units, amount_minor, currency, status, reason,
  refund_due, placed_at, accepted_at, pay_by, entry, version, trace_id, position)
on conflict (order_id) do update set
  sale_id = excluded.sale_id, buyer_id = excluded.buyer_id, bucket = excluded.bucket, lines = excluded.lines,
  units = excluded.units, amount_minor = excluded.amount_minor, currency = excluded.currency, status = excluded.status,
  reason = excluded.reason, refund_due = excluded.refund_due, placed_at = excluded.placed_at,
  accepted_at = excluded.accepted_at, pay_by = excluded.pay_by, entry = excluded.entry, version = excluded.version,
  trace_id = excluded.trace_id, position = excluded.position
where order_view.version < excluded.version`
)

// orderFacts are what happened to each order of a batch, by order, in order.
type orderFacts map[string][]Fact

func foldOrderView(_ Share, facts []Fact) (Rows, error) {
	byOrder := orderFacts{}
	for _, f := range facts {
		if f.Record.OrderID == "" {
			return nil, fmt.Errorf("the event at position %d is about an order, but names none", f.Record.Position)
		}
		byOrder[f.Record.OrderID] = append(byOrder[f.Record.OrderID], f)
	}
	return byOrder, nil
}

func (o orderFacts) changedOrders() []string { return slices.Collect(maps.Keys(o)) }

// Write folds the facts onto the rows that stand and stores the outcome.
func (o orderFacts) Write(ctx context.Context, tx pgx.Tx) error {
	rows, err := o.standing(ctx, tx)
	if err != nil {
		return err
	}
	var table orderTable
	for _, id := range slices.Sorted(maps.Keys(o)) {
		row, changed, err := rows[id].fold(o[id])
		if err != nil {
			return &unfit{err}
		}
		if !changed {
			continue
		}
		if err := table.add(row); err != nil {
			return err
		}
	}
	return table.write(ctx, tx)
}

// standing reads the rows of orders whose first event is not in the batch.
func (o orderFacts) standing(ctx context.Context, tx pgx.Tx) (map[string]orderRow, error) {
	var ids []string
	for id, facts := range o {
		if facts[0].Record.Version > 1 {
			ids = append(ids, id)
		}
	}
	standing := make(map[string]orderRow, len(ids))
	if len(ids) == 0 {
		return standing, nil
	}
	rows, err := tx.Query(ctx, selectOrdersForFold, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d rows of order_view: %w", len(ids), err)
	}
	found, err := pgx.CollectRows(rows, scanOrder)
	if err != nil {
		return nil, fmt.Errorf("read %d rows of order_view: %w", len(ids), err)
	}
	for _, r := range found {
		standing[r.ID] = r
	}
	return standing, nil
}

// fold brings a row forward by what it does not contain yet. It refuses to
// jump over an event of the order.
func (r orderRow) fold(facts []Fact) (orderRow, bool, error) {
	changed := false
	for _, f := range facts {
		switch {
		case f.Record.Version <= r.Version:
			continue
		case f.Record.Version > r.Version+1:
			return r, false, fmt.Errorf("fold order %s: version %d at position %d comes after version %d",
				f.Record.OrderID, f.Record.Version, f.Record.Position, r.Version)
		}
		r.Order = r.FoldOrder(f.Event)
		if f.Record.Version == 1 {
			r.PlacedAt, r.TraceID = f.Record.RecordedAt, traceOf(f.Record)
		}
		r.position = f.Record.Position
		changed = true
	}
	if changed && r.ID != facts[0].Record.OrderID {
		return r, false, fmt.Errorf("fold order %s: its events say that it is order %q", facts[0].Record.OrderID, r.ID)
	}
	return r, changed, nil
}

// orderTable is rows by column, as unnest takes them.
type orderTable struct {
	id, sale, buyer, lines, currency, status, reason, entry, trace []string
	bucket                                                         []int32
	units, amount, version, position                               []int64
	refund                                                         []bool
	placed                                                         []time.Time
	accepted, payBy                                                []*time.Time
}

func (t *orderTable) add(r orderRow) error {
	lines, err := encodeLines(r.Lines)
	if err != nil {
		return err
	}
	t.id, t.sale, t.buyer = append(t.id, r.ID), append(t.sale, r.SaleID), append(t.buyer, r.BuyerID)
	t.bucket, t.lines, t.units = append(t.bucket, int32(r.Bucket)), append(t.lines, lines), append(t.units, unitsOf(r.Lines))
	t.amount, t.currency = append(t.amount, r.Amount.Minor), append(t.currency, r.Amount.Currency)
	t.status, t.reason = append(t.status, string(r.Status)), append(t.reason, string(r.Reason))
	t.refund, t.placed = append(t.refund, r.RefundDue), append(t.placed, r.PlacedAt)
	t.accepted, t.payBy = append(t.accepted, orNull(r.AcceptedAt)), append(t.payBy, orNull(r.PayBy))
	t.entry, t.version = append(t.entry, r.Entry), append(t.version, r.Version)
	t.trace, t.position = append(t.trace, r.TraceID), append(t.position, r.position)
	return nil
}

func (t *orderTable) write(ctx context.Context, tx pgx.Tx) error {
	if len(t.id) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, upsertOrders, t.id, t.sale, t.buyer, t.bucket, t.lines, t.units, t.amount, t.currency, t.status,
		t.reason, t.refund, t.placed, t.accepted, t.payBy, t.entry, t.version, t.trace, t.position)
	if err != nil {
		return fmt.Errorf("write %d rows of order_view: %w", len(t.id), err)
	}
	return nil
}
