package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/commands"
)

type reconcileCmd struct {
	Sale string `placeholder:"ID" help:"Only this sale."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run reports; it changes nothing. Findings are exit code 3.
func (r *reconcileCmd) Run(c console) error {
	return c.withApp(func(ctx context.Context, a *app) error {
		report, err := a.reconciler.Reconcile(ctx, r.Sale)
		if errors.Is(err, commands.ErrNoCut) && !a.served(ctx) {
			return &told{notServed + ", and the gate is closed or behind the log, so there is nothing exact to compare: start `seckill serve` first", err}
		}
		if errors.Is(err, commands.ErrNoCut) {
			return &told{"the gate is closed or behind the log, so there is nothing exact to compare: is a recorder running (`seckill serve`)?", err}
		}
		if err != nil {
			return err
		}
		c.mentionServing(ctx, a)
		if r.JSON {
			err = c.json(report)
		} else {
			err = c.printReport(report)
		}
		if err == nil && report.Drift() > 0 {
			return errFound
		}
		return err
	})
}

func (c console) printReport(report commands.ReconcileReport) error {
	if len(report.Sales) == 0 {
		_, err := fmt.Fprintln(c.out, "There is no sale yet, so there is nothing to compare.")
		return err
	}
	t := newTable("sale", "item", "released", "reserved", "returned", "left in the gate", "in flight", "drift")
	numbers(t, 3, 4, 5, 6, 7, 8)
	for _, s := range report.Sales {
		for _, i := range s.Items {
			t.AppendRow(table.Row{s.Sale, i.SKU, i.Released, i.Reserved, i.Returned, i.Available, i.InFlight, s.Drift})
		}
	}
	if err := c.print(t); err != nil {
		return err
	}
	return c.printFindings(report)
}

func (c console) printFindings(report commands.ReconcileReport) error {
	if report.Drift() == 0 {
		_, err := fmt.Fprintln(c.out, "Gate, log and views agree.")
		return err
	}
	t := newTable("sale", "finding", "order", "buyer", "detail", "repair")
	for _, s := range report.Sales {
		for _, f := range s.Findings {
			t.AppendRow(table.Row{s.Sale, f.Kind, f.OrderID, f.BuyerID, f.Detail, f.Repair})
		}
	}
	return c.print(t)
}
