package cli

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"seckill/api"
	"seckill/infra/obs"
)

// warnings is the logger of commands for people: faults only.
func warnings(c console) *slog.Logger { return obs.NewLogger(c.err, slog.LevelWarn) }

// newTable gives an empty table in our one style.
func newTable(headers ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	if len(headers) > 0 {
		t.AppendHeader(table.Row(headers))
	}
	return t
}

// numbers aligns columns, counted from 1, to the right.
func numbers(t table.Writer, columns ...int) {
	configs := make([]table.ColumnConfig, len(columns))
	for i, n := range columns {
		configs[i] = table.ColumnConfig{Number: n, Align: text.AlignRight, AlignFooter: text.AlignRight}
	}
	t.SetColumnConfigs(configs)
}

// print writes a table to stdout.
func (c console) print(t table.Writer) error {
	_, err := fmt.Fprintln(c.out, t.Render())
	return err
}

func (c console) printSale(sale api.AdminSaleView, asJSON bool) error {
	if asJSON {
		return c.json(sale)
	}
	if sale.Database != "" {
		c.say("It lives on database %s.", sale.Database)
	}
	view := sale.SaleView
	view.Items = make([]api.ItemView, len(sale.Items)) // JSON fills the outer ones
	for i, item := range sale.Items {
		view.Items[i] = item.ItemView
	}
	return c.printSales([]api.SaleView{view})
}

func (c console) printSales(sales []api.SaleView) error {
	if len(sales) == 0 {
		_, err := fmt.Fprintln(c.out, "There is no sale yet: make one with `seckill sale create`.")
		return err
	}
	t := newTable("sale", "title", "state", "opens", "closes", "limit", "items")
	for _, s := range sales {
		items := ""
		for i, item := range s.Items {
			if i > 0 {
				items += "\n"
			}
			items += fmt.Sprintf("%s %s %s", item.SKU, item.Price, item.Currency)
			if item.SoldOut {
				items += " (sold out)"
			}
		}
		t.AppendRow(table.Row{s.ID, s.Title, s.State, local(s.OpensAt), local(s.ClosesAt), s.LimitPerBuyer, items})
	}
	return c.print(t)
}

// local says a time in the zone of the reader's machine.
func local(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 -07:00") }
