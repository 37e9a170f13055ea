package projections

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/domain"
)

const (
	selectOrder = `select ` + orderColumns + ` from order_view where order_id = $1`

	selectOrdersOfBuyer = `
select ` + orderColumns + ` from order_view
where sale_id = $1 and buyer_id = $2
order by placed_at desc, order_id limit $3`

	selectOrdersOfBuyerAfter = `
select ` + orderColumns + ` from order_view
where sale_id = $1 and buyer_id = $2 and placed_at <= $4 and (placed_at < $4 or order_id > $5)
order by placed_at desc, order_id limit $3`

	selectSummary = `
select shard, currency, placed, rejected, paid, cancelled, expired, units, amount_minor from sale_summary
where sale_id = $1 order by store, shard, currency`
)

// maxPage bounds a page of orders.
const maxPage = 1000

// ErrBadCursor: this cursor was not given by us.
var ErrBadCursor = errors.New("this cursor is none of ours")

// Views answers from the tables. What it says was true at some moment not long
// ago; who needs the last word asks the log.
type Views struct{ db DB }

// NewViews gives the answers kept in a database.
func NewViews(db DB) *Views { return &Views{db: db} }

// Order gives an order; false when the view does not have it (yet).
func (v *Views) Order(ctx context.Context, id string) (OrderAnswer, bool, error) {
	rows, err := v.orders(ctx, selectOrder, id)
	if err != nil || len(rows) == 0 {
		return OrderAnswer{}, false, err
	}
	return rows[0], true, nil
}

// OrderPage is a page of orders; Next is the cursor of the following page, ""
// at the end.
type OrderPage struct {
	Orders []OrderAnswer
	Next   string
}

// OrdersOfBuyer pages through a buyer's orders in a sale, newest first. limit
// is cut to 1 to 1000; cursor is "" or a Next. ErrBadCursor for anything else.
func (v *Views) OrdersOfBuyer(ctx context.Context, sale, buyer string, limit int, cursor string) (OrderPage, error) {
	limit = min(max(limit, 1), maxPage)
	sql, args := selectOrdersOfBuyer, []any{sale, buyer, limit + 1}
	if cursor != "" {
		at, id, err := parseCursor(cursor)
		if err != nil {
			return OrderPage{}, err
		}
		sql, args = selectOrdersOfBuyerAfter, append(args, at, id)
	}
	rows, err := v.orders(ctx, sql, args...)
	if err != nil || len(rows) <= limit {
		return OrderPage{Orders: rows}, err
	}
	rows = rows[:limit]
	last := rows[limit-1]
	return OrderPage{Orders: rows, Next: formatCursor(last.PlacedAt, last.ID)}, nil
}

func (v *Views) orders(ctx context.Context, sql string, args ...any) ([]OrderAnswer, error) {
	rows, err := v.db.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("read order_view: %w", err)
	}
	orders, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (OrderAnswer, error) {
		r, err := scanOrder(row)
		return r.OrderAnswer, err
	})
	if err != nil {
		return nil, fmt.Errorf("read order_view: %w", err)
	}
	return orders, nil
}

// Summary is what happened to the orders of a sale, and what the placed ones
// amount to, by currency.
type Summary struct {
	Counts
	Amounts []domain.Money
}

// Summary adds up the rows of a sale over all shards.
func (v *Views) Summary(ctx context.Context, sale string) (Summary, error) {
	rows, err := summaryRows(ctx, v.db, sale)
	if err != nil {
		return Summary{}, err
	}
	var s Summary
	at := map[string]int{}
	for _, r := range rows {
		s.add(r.Counts)
		if r.Amount.Currency == "" {
			continue
		}
		i, ok := at[r.Amount.Currency]
		if !ok {
			i = len(s.Amounts)
			at[r.Amount.Currency] = i
			s.Amounts = append(s.Amounts, domain.Money{Currency: r.Amount.Currency})
		}
		sum, fits := s.Amounts[i].Plus(r.Amount)
		if !fits {
			return s, fmt.Errorf("add up sale %s: its amounts do not fit into 64 bits", sale)
		}
		s.Amounts[i] = sum
	}
	return s, nil
}

func (c *Counts) add(o Counts) {
	c.Placed += o.Placed
	c.Rejected += o.Rejected
	c.Paid += o.Paid
	c.Cancelled += o.Cancelled
	c.Expired += o.Expired
	c.Units += o.Units
}

// SummaryRow is a row of sale_summary: what one shard has counted. The counts
// of orders that are placed stand with the currency of their amount, all others
// with none.
type SummaryRow struct {
	Shard int
	Counts
	Amount domain.Money
}

func summaryRows(ctx context.Context, q querier, sale string) ([]SummaryRow, error) {
	rows, err := q.Query(ctx, selectSummary, sale)
	if err != nil {
		return nil, fmt.Errorf("read sale_summary: %w", err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (SummaryRow, error) {
		var r SummaryRow
		err := row.Scan(&r.Shard, &r.Amount.Currency, &r.Placed, &r.Rejected, &r.Paid, &r.Cancelled, &r.Expired, &r.Units, &r.Amount.Minor)
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("read sale_summary: %w", err)
	}
	return all, nil
}

// formatCursor names the place behind an order in the list of a buyer.
func formatCursor(placed time.Time, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(placed.UnixMicro(), 10) + " " + id))
}

func parseCursor(cursor string) (placed time.Time, id string, err error) {
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	micro, id, ok := strings.Cut(string(data), " ")
	n, numErr := strconv.ParseInt(micro, 10, 64)
	if err != nil || numErr != nil || !ok || id == "" || len(id) > 2*domain.OrderIDLength || formatCursor(time.UnixMicro(n), id) != cursor {
		return placed, "", ErrBadCursor
	}
	return time.UnixMicro(n).UTC(), id, nil
}
