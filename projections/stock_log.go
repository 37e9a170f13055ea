package projections

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/domain"
)

// stockLog keeps one row per event that changed a stock, with the quantity as
// it changed what is left: releases, returns and moves in count up, orders,
// withdrawals and moves out count down. A refusal changes nothing.
func stockLog() Projection {
	return Projection{Name: "stock_log", Version: 1, Core: true, Reads: "stock.", Fold: foldStockLog}
}

const insertStockLog = `
insert into stock_log (store, position, sale_id, sku, quantity, order_id, at)
select $1, position, sale_id, sku, quantity, order_id, at
from unnest($2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::timestamptz[])
  as t (position, sale_id, sku, quantity, order_id, at)
on conflict (store, position) do nothing`

// stockTable is rows by column, as unnest takes them.
type stockTable struct {
	store              int16
	position, quantity []int64
	sale, sku, order   []string
	at                 []time.Time
}

func foldStockLog(s Share, facts []Fact) (Rows, error) {
	t := &stockTable{store: s.Store}
	for _, f := range facts {
		switch e := f.Event.(type) {
		case *domain.StockReleased:
			t.add(f, e.SaleID, e.SKU, e.Quantity)
		case *domain.StockMovedIn:
			t.add(f, e.SaleID, e.SKU, e.Quantity)
		case *domain.StockReturned:
			t.add(f, e.SaleID, e.SKU, e.Quantity)
		case *domain.StockReserved:
			t.add(f, e.SaleID, e.SKU, -e.Quantity)
		case *domain.StockWithdrawn:
			t.add(f, e.SaleID, e.SKU, -e.Quantity)
		case *domain.StockMovedOut:
			t.add(f, e.SaleID, e.SKU, -e.Quantity)
		case *domain.StockRefused:
		default:
			return nil, fmt.Errorf("the event at position %d (%s) has no place in stock_log: %w",
				f.Record.Position, f.Record.Type, domain.ErrUnknownEvent)
		}
	}
	return t, nil
}

func (t *stockTable) add(f Fact, sale, sku string, quantity int64) {
	if quantity == 0 {
		return
	}
	t.position, t.quantity = append(t.position, f.Record.Position), append(t.quantity, quantity)
	t.sale, t.sku, t.order = append(t.sale, sale), append(t.sku, sku), append(t.order, f.Record.OrderID)
	t.at = append(t.at, f.Record.RecordedAt)
}

// Write stores the rows; a row that stands already is the same row.
func (t *stockTable) Write(ctx context.Context, tx pgx.Tx) error {
	if len(t.position) == 0 {
		return nil
	}
	_, err := tx.Exec(ctx, insertStockLog, t.store, t.position, t.sale, t.sku, t.quantity, t.order, t.at)
	if err != nil {
		return fmt.Errorf("write %d rows of stock_log: %w", len(t.position), err)
	}
	return nil
}
