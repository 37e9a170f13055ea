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

// pastView is a past as it is printed.
type pastView struct {
	head   pastLine
	sales  []pastSaleLine
	stocks []pastStockLine
	orders []pastOrderLine
}

// newPastView gives the view of a past; the state of a sale is that of a time.
func newPastView(p *commands.Past, at time.Time) pastView {
	v := pastView{head: pastLine{
		Kind: "as_of", Position: p.At.Number, Hash: p.At.Hash.String(), RecordedAt: stamp(p.RecordedAt), Events: p.Events,
	}}
	for _, s := range p.Sales {
		pauses := s.Pauses
		if pauses == nil {
			pauses = []domain.PauseReason{}
		}
		v.sales = append(v.sales, pastSaleLine{"sale", s.ID, s.Version, string(s.StateAt(at)), s.Terms, pauses})
	}
	for _, s := range p.Stocks {
		v.stocks = append(v.stocks, pastStockLine{
			"stock", s.Key.Sale, s.Key.SKU, s.Key.Bucket, s.Version, s.Released, s.Reserved, s.Returned, s.Left(),
		})
	}
	for i := range p.Orders {
		v.orders = append(v.orders, newPastOrder(&p.Orders[i]))
	}
	return v
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
	if err := write(v.head); err != nil {
		return err
	}
	for _, group := range []func() error{each(v.sales, write), each(v.stocks, write), each(v.orders, write)} {
		if err := group(); err != nil {
			return err
		}
	}
	return nil
}

// each gives what writes every line of a list.
func each[T any](list []T, write func(any) error) func() error {
	return func() error {
		for i := range list {
			if err := write(list[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

func (v pastView) sheet(out *bufio.Writer) error {
	row := newSheet(out)
	err := row("kind", "sale_id", "order_id", "buyer_id", "sku", "bucket", "version", "state", "reason", "released", "reserved", "returned",
		"available", "units", "amount", "currency", "refund_due", "placed_at", "pay_by", "title")
	for _, s := range v.sales {
		if err == nil {
			err = row("sale", s.SaleID, "", "", "", "", s.Version, s.State, "", "", "", "", "", "", "", "", "", "", "", s.Title)
		}
	}
	for _, s := range v.stocks {
		if err == nil {
			err = row("stock", s.SaleID, "", "", s.SKU, s.Bucket, s.Version, "", "", s.Released, s.Reserved, s.Returned, s.Available, "", "", "", "", "", "", "")
		}
	}
	for _, o := range v.orders {
		if err == nil {
			err = row("order", o.SaleID, o.OrderID, o.BuyerID, "", "", o.Version, o.Status, o.Reason, "", "", "", "", o.units(), o.Amount, o.Currency,
				o.RefundDue, o.PlacedAt, o.PayBy, "")
		}
	}
	return err
}

func (o *pastOrderLine) units() (n int64) {
	for _, l := range o.Lines {
		n += l.Quantity
	}
	return n
}

func (v pastView) tables(out *bufio.Writer) error {
	if v.head.Position == 0 {
		_, err := fmt.Fprintln(out, "Nothing was recorded by then.")
		return err
	}
	fmt.Fprintf(out, "As of position %d, recorded at %s, hash %s (%d events folded).\n", v.head.Position, v.head.RecordedAt, v.head.Hash, v.head.Events)
	sales := newTable("sale", "title", "state", "version", "opens", "closes", "limit")
	numbers(sales, 4, 7)
	for _, s := range v.sales {
		sales.AppendRow(table.Row{s.SaleID, s.Title, s.State, s.Version, stamp(s.OpensAt), stamp(s.ClosesAt), s.LimitPerBuyer})
	}
	stocks := newTable("sale", "item", "bucket", "released", "reserved", "returned", "available", "version")
	numbers(stocks, 3, 4, 5, 6, 7, 8)
	for _, s := range v.stocks {
		stocks.AppendRow(table.Row{s.SaleID, s.SKU, s.Bucket, s.Released, s.Reserved, s.Returned, s.Available, s.Version})
	}
	orders := newTable("order", "sale", "buyer", "status", "units", "amount", "placed", "version")
	numbers(orders, 5, 6, 8)
	for _, o := range v.orders {
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
