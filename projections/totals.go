package projections

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
)

const (
	// Before the snapshot is taken: a rebuild that swapped a table after it would
	// show rows that the snapshot does not.
	holdViews = `lock table order_view, stock_log, sale_summary in access share mode`

	selectOrderTotals = `
select ` + orderColumns + `, units from order_view
where sale_id = $1 and order_id > $2 order by order_id limit $3`

	selectStockTotals = `
select sku, sum(quantity)::bigint, count(*), coalesce(-sum(quantity) filter (where order_id <> ''), 0)::bigint
from stock_log where sale_id = $1 and store = $2 group by sku order by sku`

	// Through a cursor: a sale may have more rows than one statement may take time for.
	declareStockRows = `
declare stock_rows no scroll cursor for select position, sku, quantity, order_id, at from stock_log where sale_id = $1 and store = $2`
	fetchStockRows = `fetch 5000 from stock_rows`
	closeStockRows = `close stock_rows`
)

// Totals reads the views as they stood at one moment, with the checkpoints of
// that moment. A view is exactly the fold of the log's records of each shard up
// to that shard's checkpoint (At), but for sequences that are set aside
// (DeadLetters); whoever folds those must get the same.
type Totals struct {
	tx    pgx.Tx
	store int16
	at    map[checkpoint]eventstore.Mark
}

// Totals lets read look at the views of a store at one moment. It must be done
// within seconds: the database ends transactions that take longer.
func (v *Views) Totals(ctx context.Context, store int16, read func(*Totals) error) error {
	tx, err := v.db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return fmt.Errorf("begin reading the views: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = tx.Rollback(ctx) // nothing was written; a broken connection goes away by itself
	}()
	if _, err := tx.Exec(ctx, holdViews); err != nil {
		return fmt.Errorf("hold the views: %w", err)
	}
	found, err := checkpointsOf(ctx, tx, store)
	if err != nil {
		return err
	}
	t := &Totals{tx: tx, store: store, at: map[checkpoint]eventstore.Mark{}}
	for _, c := range found {
		t.at[checkpoint{c.Projection, c.Version, store, c.Shard}] = c.At
	}
	return read(t)
}

// ErrNotPrepared: a projection has no checkpoints yet.
var ErrNotPrepared = errors.New("the projection was never prepared")

// At gives how far each shard of a projection has applied the log.
// ErrNotPrepared when none of it was ever applied.
func (t *Totals) At(p Projection) ([]eventstore.Mark, error) {
	var marks []eventstore.Mark
	for {
		m, ok := t.at[checkpoint{p.Name, p.Version, t.store, len(marks)}]
		if !ok {
			break
		}
		marks = append(marks, m)
	}
	if len(marks) == 0 {
		return nil, fmt.Errorf("look at %s: %w", p.Name, ErrNotPrepared)
	}
	return marks, nil
}

// OrderTotal is a row of order_view. Its shard is that of its id. Lines are nil
// where somebody wrote what no fold writes.
type OrderTotal struct {
	OrderAnswer
	Units    int64
	Position int64
}

func scanTotal(row pgx.CollectableRow) (OrderTotal, error) {
	var units int64
	r, lines, err := scanColumns(row, &units)
	if err != nil {
		return OrderTotal{}, err
	}
	if r.Lines, err = decodeLines(lines); err != nil {
		r.Lines = nil // it is for who compares to say that these are wrong
	}
	return OrderTotal{OrderAnswer: r.OrderAnswer, Units: units, Position: r.position}, nil
}

// Orders pages through the orders of a sale by id: up to max after an id, ""
// for the first page.
func (t *Totals) Orders(ctx context.Context, sale, after string, max int) ([]OrderTotal, error) {
	rows, err := t.tx.Query(ctx, selectOrderTotals, sale, after, max)
	if err != nil {
		return nil, fmt.Errorf("read order_view: %w", err)
	}
	all, err := pgx.CollectRows(rows, scanTotal)
	if err != nil {
		return nil, fmt.Errorf("read order_view: %w", err)
	}
	return all, nil
}

// StockTotal is what stock_log says about an item: the sum of all changes
// (which is what is left), how many there were, and the units that orders hold.
type StockTotal struct {
	SKU     string
	Left    int64
	Rows    int64
	Ordered int64
}

// Stock adds up the stock log of a sale by item.
func (t *Totals) Stock(ctx context.Context, sale string) ([]StockTotal, error) {
	rows, err := t.tx.Query(ctx, selectStockTotals, sale, t.store)
	if err != nil {
		return nil, fmt.Errorf("add up stock_log: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[StockTotal])
	if err != nil {
		return nil, fmt.Errorf("add up stock_log: %w", err)
	}
	return all, nil
}

// StockRow is a row of stock_log.
type StockRow struct {
	Position int64
	SKU      string
	Quantity int64
	OrderID  string
	At       time.Time
}

// EachStock gives every row of the stock log of a sale, in no order.
func (t *Totals) EachStock(ctx context.Context, sale string, each func(StockRow)) error {
	if _, err := t.tx.Exec(ctx, declareStockRows, sale, t.store); err != nil {
		return fmt.Errorf("read stock_log: %w", err)
	}
	for {
		rows, err := t.tx.Query(ctx, fetchStockRows, pgx.QueryExecModeDescribeExec)
		if err != nil {
			return fmt.Errorf("read stock_log: %w", err)
		}
		var r StockRow
		got, err := pgx.ForEachRow(rows, []any{&r.Position, &r.SKU, &r.Quantity, &r.OrderID, &r.At}, func() error {
			each(r)
			return nil
		})
		if err != nil {
			return fmt.Errorf("read stock_log: %w", err)
		}
		if got.RowsAffected() == 0 {
			break
		}
	}
	if _, err := t.tx.Exec(ctx, closeStockRows); err != nil {
		return fmt.Errorf("read stock_log: %w", err)
	}
	return nil
}

// Summary gives the rows of a sale's summary, by shard.
func (t *Totals) Summary(ctx context.Context, sale string) ([]SummaryRow, error) {
	return summaryRows(ctx, t.tx, sale)
}
