package projections

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/domain"
)

// OrderAnswer is an order as the view knows it. PlacedAt is when the first
// event of the order was recorded; TraceID is the trace of the purchase.
type OrderAnswer struct {
	domain.Order
	PlacedAt time.Time
	TraceID  string
}

// orderRow is a row of order_view.
type orderRow struct {
	OrderAnswer
	position int64
}

// lineForm is a line in the column lines. A rejected order's lines have neither
// price nor currency.
type lineForm struct {
	SKU        string `json:"sku"`
	Quantity   int64  `json:"quantity"`
	PriceMinor int64  `json:"price_minor"`
	Currency   string `json:"currency"`
}

const orderColumns = `order_id, sale_id, buyer_id, bucket, lines, amount_minor, currency, status, reason,
 refund_due, placed_at, accepted_at, pay_by, entry, version, trace_id, position`

// scanOrder reads a row of orderColumns.
func scanOrder(row pgx.CollectableRow) (orderRow, error) {
	r, lines, err := scanColumns(row)
	if err == nil {
		r.Lines, err = decodeLines(lines)
	}
	return r, err
}

// scanColumns reads a row of orderColumns and more columns after them. It gives the
// lines as they stand.
func scanColumns(row pgx.CollectableRow, more ...any) (orderRow, []byte, error) {
	var (
		r                 orderRow
		lines             []byte
		accepted, payable *time.Time
	)
	err := row.Scan(append([]any{&r.ID, &r.SaleID, &r.BuyerID, &r.Bucket, &lines, &r.Amount.Minor, &r.Amount.Currency, &r.Status, &r.Reason,
		&r.RefundDue, &r.PlacedAt, &accepted, &payable, &r.Entry, &r.Version, &r.TraceID, &r.position}, more...)...)
	r.PlacedAt, r.AcceptedAt, r.PayBy = r.PlacedAt.UTC(), orZero(accepted), orZero(payable)
	return r, lines, err
}

func encodeLines(lines []domain.OrderLine) (string, error) {
	forms := make([]lineForm, len(lines))
	for i, l := range lines {
		forms[i] = lineForm{SKU: l.SKU, Quantity: l.Quantity, PriceMinor: l.Price.Minor, Currency: l.Price.Currency}
	}
	data, err := json.Marshal(forms)
	if err != nil {
		return "", fmt.Errorf("encode lines: %w", err)
	}
	return string(data), nil
}

func decodeLines(data []byte) ([]domain.OrderLine, error) {
	var forms []lineForm
	if err := json.Unmarshal(data, &forms); err != nil {
		return nil, fmt.Errorf("read lines: %w", err)
	}
	lines := make([]domain.OrderLine, len(forms))
	for i, f := range forms {
		lines[i] = domain.OrderLine{SKU: f.SKU, Quantity: f.Quantity, Price: domain.Money{Minor: f.PriceMinor, Currency: f.Currency}}
	}
	return lines, nil
}

func unitsOf(lines []domain.OrderLine) int64 {
	var units int64
	for _, l := range lines {
		units += l.Quantity
	}
	return units
}

func orZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
