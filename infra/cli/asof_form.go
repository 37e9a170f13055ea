package cli

import (
	"bufio"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/commands"
	"seckill/domain"
)

// The lines of --as-of --json. Kind says what a line is about; the names of the
// other fields are those of the API.
type (
	pastLine struct {
		Kind       string `json:"kind"`
		Position   int64  `json:"position"`
		Hash       string `json:"hash"`
		RecordedAt string `json:"recorded_at,omitempty"`
		Events     int64  `json:"events"`
	}
	pastSaleLine struct {
		Kind    string `json:"kind"`
		SaleID  string `json:"sale_id"`
		Version int64  `json:"version"`
		State   string `json:"state"`
		domain.SaleTerms
		Pauses []domain.PauseReason `json:"pauses"`
	}
	pastStockLine struct {
		Kind      string `json:"kind"`
		SaleID    string `json:"sale_id"`
		SKU       string `json:"sku"`
		Bucket    int    `json:"bucket"`
		Version   int64  `json:"version"`
		Released  int64  `json:"released"`
		Reserved  int64  `json:"reserved"`
		Returned  int64  `json:"returned"`
		Available int64  `json:"available"`
	}
	pastOrderLine struct {
		Kind         string         `json:"kind"`
		OrderID      string         `json:"order_id"`
		SaleID       string         `json:"sale_id"`
		BuyerID      string         `json:"buyer_id"`
		Version      int64          `json:"version"`
		Status       string         `json:"status"`
		Reason       string         `json:"reason"`
		RefundDue    bool           `json:"refund_due"`
		Lines        []pastItemLine `json:"lines"`
		Amount       string         `json:"amount"`
		Currency     string         `json:"currency"`
		PlacedAt     string         `json:"placed_at"`
		PayBy        string         `json:"pay_by,omitempty"`
		TermsVersion int64          `json:"terms_version"`
		TraceID      string         `json:"trace_id"`
	}
	pastItemLine struct {
		SKU      string `json:"sku"`
		Quantity int64  `json:"quantity"`
		Price    string `json:"price"`
	}
)

// pastView is a past as it is printed; the state of a sale is that of a time.
type pastView struct {
	*commands.Past
	at time.Time
}

func (v pastView) head() pastLine {
	return pastLine{Kind: "as_of", Position: v.At.Number, Hash: v.At.Hash.String(), RecordedAt: stamp(v.RecordedAt), Events: v.Events}
}

func (v pastView) sale(s *commands.PastSale) pastSaleLine {
	pauses := s.Pauses
	if pauses == nil {
		pauses = []domain.PauseReason{}
	}
	return pastSaleLine{"sale", s.ID, s.Version, string(s.StateAt(v.at)), s.Terms, pauses}
}

func newPastStock(s *commands.PastStock) pastStockLine {
	return pastStockLine{"stock", s.Key.Sale, s.Key.SKU, s.Key.Bucket, s.Version, s.Released, s.Reserved, s.Returned, s.Left()}
}

func newPastOrder(o *commands.PastOrder) pastOrderLine {
	line := pastOrderLine{
		Kind: "order", OrderID: o.ID, SaleID: o.SaleID, BuyerID: o.BuyerID, Version: o.Version, Status: string(o.Status), Reason: string(o.Reason),
		RefundDue: o.RefundDue, Lines: make([]pastItemLine, len(o.Lines)), PlacedAt: stamp(o.PlacedAt), PayBy: stamp(o.PayBy),
		TermsVersion: o.TermsVersion, TraceID: o.TraceID,
	}
	line.Amount, line.Currency = amountOf(o.Amount), o.Amount.Currency
	for i, l := range o.Lines {
		line.Lines[i] = pastItemLine{l.SKU, l.Quantity, amountOf(l.Price)}
	}
	return line
}

// amountOf gives an amount as text, "" where there is none.
func amountOf(m domain.Money) string {
	if m.Currency == "" {
		return ""
	}
	return m.Amount()
}

// stamp writes a time in UTC with its microseconds, "" for none.
func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(recordedForm)
}

func (v pastView) lines(out *bufio.Writer) error {
	write := newLines(out)
	err := write(v.head())
	each(v.Sales, &err, func(s *commands.PastSale) error { return write(v.sale(s)) })
	each(v.Stocks, &err, func(s *commands.PastStock) error { return write(newPastStock(s)) })
	each(v.Orders, &err, func(o *commands.PastOrder) error { return write(newPastOrder(o)) })
	return err
}

// each does f with everything of a list until there is an error.
func each[T any](list []*T, err *error, f func(*T) error) {
	for i := 0; *err == nil && i < len(list); i++ {
		*err = f(list[i])
	}
}

func (v pastView) sheet(out *bufio.Writer) error {
	row := newSheet(out)
	err := row("kind", "sale_id", "order_id", "buyer_id", "sku", "bucket", "version", "state", "reason", "released", "reserved", "returned",
		"available", "units", "amount", "currency", "refund_due", "placed_at", "pay_by", "title")
	each(v.Sales, &err, func(sale *commands.PastSale) error {
		s := v.sale(sale)
		return row("sale", s.SaleID, "", "", "", "", s.Version, s.State, "", "", "", "", "", "", "", "", "", "", "", s.Title)
	})
	each(v.Stocks, &err, func(stock *commands.PastStock) error {
		s := newPastStock(stock)
		return row("stock", s.SaleID, "", "", s.SKU, s.Bucket, s.Version, "", "", s.Released, s.Reserved, s.Returned, s.Available, "", "", "", "", "", "", "")
	})
	each(v.Orders, &err, func(order *commands.PastOrder) error {
		o := newPastOrder(order)
		return row("order", o.SaleID, o.OrderID, o.BuyerID, "", "", o.Version, o.Status, o.Reason, "", "", "", "", o.units(), o.Amount, o.Currency,
			o.RefundDue, o.PlacedAt, o.PayBy, "")
	})
	return err
}

func (o *pastOrderLine) units() (n int64) {
	for _, l := range o.Lines {
		n += l.Quantity
	}
	return n
}

func (v pastView) tables(out *bufio.Writer) error {
	if v.At.Number == 0 {
		_, err := fmt.Fprintln(out, "Nothing was recorded by then.")
		return err
	}
	head := v.head()
	fmt.Fprintf(out, "As of position %d, recorded at %s, hash %s (%d events folded).\n", head.Position, head.RecordedAt, head.Hash, head.Events)
	sales := newTable("sale", "title", "state", "version", "opens", "closes", "limit")
	numbers(sales, 4, 7)
	for _, s := range v.Sales {
		sales.AppendRow(table.Row{s.ID, s.Terms.Title, s.StateAt(v.at), s.Version, stamp(s.Terms.OpensAt), stamp(s.Terms.ClosesAt), s.Terms.LimitPerBuyer})
	}
	stocks := newTable("sale", "item", "bucket", "released", "reserved", "returned", "available", "version")
	numbers(stocks, 3, 4, 5, 6, 7, 8)
	for _, s := range v.Stocks {
		stocks.AppendRow(table.Row{s.Key.Sale, s.Key.SKU, s.Key.Bucket, s.Released, s.Reserved, s.Returned, s.Left(), s.Version})
	}
	orders := newTable("order", "sale", "buyer", "status", "units", "amount", "placed", "version")
	numbers(orders, 5, 6, 8)
	for _, order := range v.Orders {
		o := newPastOrder(order)
		status := o.Status
		if o.Reason != "" {
			status += " (" + o.Reason + ")"
		}
		orders.AppendRow(table.Row{o.OrderID, o.SaleID, o.BuyerID, status, o.units(), o.Amount + " " + o.Currency, o.PlacedAt, o.Version})
	}
	for _, t := range []table.Writer{sales, stocks, orders} {
		if t.Length() > 0 {
			fmt.Fprintln(out, t.Render()) // errors come back with the flush
		}
	}
	return nil
}
