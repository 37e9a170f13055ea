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
// withdrawals and moves out count down. A refusal, a write-off and a repair change
// nothing.
func stockLog() Projection {
	return Projection{Name: "stock_log", Version: 1, Core: true, Reads: "stock.", Fold: foldStockLog,
		Tables: []string{"stock_log"}, Proof: stockProof()}
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
		c, ok := stockChange(f.Event)
		if !ok {
			return nil, fmt.Errorf("the event at position %d (%s) has no place in stock_log: %w",
				f.Record.Position, f.Record.Type, domain.ErrUnknownEvent)
		}
		t.add(f, c)
	}
	return t, nil
}

// stockEffect is how an event changes what is left of an item.
type stockEffect struct {
	sale, sku string
	quantity  int64
}

// stockChange tells how an event changes a stock; false for an event that has
// no place in the stock log.
func stockChange(e domain.Event) (stockEffect, bool) {
	switch e := e.(type) {
	case *domain.StockReleased:
		return stockEffect{e.SaleID, e.SKU, e.Quantity}, true
	case *domain.StockMovedIn:
		return stockEffect{e.SaleID, e.SKU, e.Quantity}, true
	case *domain.StockReturned:
		return stockEffect{e.SaleID, e.SKU, e.Quantity}, true
	case *domain.StockReserved:
		return stockEffect{e.SaleID, e.SKU, -e.Quantity}, true
	case *domain.StockWithdrawn:
		return stockEffect{e.SaleID, e.SKU, -e.Quantity}, true
	case *domain.StockMovedOut:
		return stockEffect{e.SaleID, e.SKU, -e.Quantity}, true
	case *domain.StockRefused, *domain.StockWrittenOff, *domain.StockAdjusted:
		return stockEffect{}, true
	}
	return stockEffect{}, false
}

func (t *stockTable) add(f Fact, c stockEffect) {
	if c.quantity == 0 {
		return
	}
	t.position, t.quantity = append(t.position, f.Record.Position), append(t.quantity, c.quantity)
	t.sale, t.sku, t.order = append(t.sale, c.sale), append(t.sku, c.sku), append(t.order, f.Record.OrderID)
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
