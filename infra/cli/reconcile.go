package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/commands"
)

type reconcileCmd struct {
	Sale   string `placeholder:"ID" help:"Only this sale."`
	Repair bool   `help:"Mend what is found; without it, it is only reported what would be done."`
	Note   string `placeholder:"TEXT" help:"Why, for the log."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// Run reports, and with --repair mends. Findings that are left are exit code 3, a sale
// among several that cannot be compared is 1.
func (r *reconcileCmd) Run(c console) error {
	return c.withApp(func(ctx context.Context, a *app) error {
		report, err := r.ask(ctx, a)
		var missed error
		if r.Sale == "" && len(report.Sales) > 0 && len(report.NotCompared) > 0 {
			missed, err = notCompared(report, err), nil
		}
		if errors.Is(err, commands.ErrNoCut) && !a.served(ctx) {
			return &told{notServed + ", and the gate is closed or behind the log, so there is nothing exact to compare: start `seckill serve` first", err}
		}
		if errors.Is(err, commands.ErrNoCut) {
			return &told{"the gate is closed or behind the log, so there is nothing exact to compare: try again in a moment, and see whether a recorder is running (`seckill serve`)", err}
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
		if err == nil && missed != nil {
			return missed
		}
		if err == nil && report.Drift() > 0 {
			return errFound
		}
		return err
	})
}

// notCompared says which sales are missing in a report of the others.
func notCompared(report commands.ReconcileReport, err error) error {
	var names []string
	for _, n := range report.NotCompared {
		names = append(names, n.Sale)
	}
	return &told{fmt.Sprintf("%d of %d sales could not be compared, and nothing is known of their books: %s. Of the first one: %s",
		len(names), len(names)+len(report.Sales), strings.Join(names, ", "), report.NotCompared[0].Why), err}
}

func (r *reconcileCmd) ask(ctx context.Context, a *app) (commands.ReconcileReport, error) {
	if !r.Repair {
		return a.reconciler.Reconcile(ctx, r.Sale)
	}
	if err := a.checkLog(ctx); err != nil {
		return commands.ReconcileReport{}, err
	}
	return a.repairer.Repair(ctx, r.Sale, commands.Actor{By: "operator", Note: r.Note})
}

func (c console) printReport(report commands.ReconcileReport) error {
	if len(report.Sales) == 0 {
		_, err := fmt.Fprintln(c.out, firstOf(leftOut(report), "There is no sale yet, so there is nothing to compare."))
		return err
	}
	t := newTable("sale", "item", "released", "reserved", "returned", "left in the gate", "in flight", "drift")
	numbers(t, 3, 4, 5, 6, 7, 8)
	var notes []string
	for _, s := range report.Sales {
		for _, i := range s.Items {
			row := table.Row{s.Sale, i.SKU, i.Released, i.Reserved, i.Returned, i.Available, i.InFlight, s.Drift}
			if s.Cleaned {
				row[5], row[6] = "-", "-"
			}
			t.AppendRow(row)
		}
		notes = append(notes, s.Note)
	}
	if t.Length() > 0 {
		if err := c.print(t); err != nil {
			return err
		}
	}
	for _, note := range append(notes, leftOut(report)) {
		if note == "" {
			continue
		}
		if _, err := fmt.Fprintln(c.out, note); err != nil {
			return err
		}
	}
	if err := c.printRepairs(report); err != nil {
		return err
	}
	return c.printFindings(report)
}

// leftOut says how many sales were not compared because they are cleaned up, ""
// for none.
func leftOut(report commands.ReconcileReport) string {
	switch report.CleanedUp {
	case 0:
		return ""
	case 1:
		return "1 sale is cleaned up and was left out."
	}
	return fmt.Sprintf("%d sales are cleaned up and were left out.", report.CleanedUp)
}

func (c console) printRepairs(report commands.ReconcileReport) error {
	t := newTable("sale", "finding", "order or item", "repaired", "what stands there now")
	any := false
	for _, s := range report.Sales {
		for _, r := range s.Repairs {
			any = true
			done := "yes"
			if !r.Done {
				done = "NO"
			}
			t.AppendRow(table.Row{s.Sale, r.Kind, firstOf(r.OrderID, r.BuyerID, r.SKU), done, r.Detail})
		}
	}
	if !any {
		return nil
	}
	return c.print(t)
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

func (c console) printFindings(report commands.ReconcileReport) error {
	if report.Drift() == 0 {
		said := "Gate, log and views agree."
		if len(report.NotCompared) > 0 {
			said = "Of the sales that were compared gate, log and views agree."
		}
		if !slices.ContainsFunc(report.Sales, func(s commands.SaleReport) bool { return !s.Cleaned }) {
			said = "Nothing was found."
		}
		_, err := fmt.Fprintln(c.out, said)
		return err
	}
	t := newTable("sale", "finding", "order", "buyer", "detail", "likely cause", "--repair")
	for _, s := range report.Sales {
		for _, f := range s.Findings {
			order := f.OrderID
			if n := len(f.OrderIDs); order == "" && n > 0 {
				order = fmt.Sprintf("%s (1 of %d)", f.OrderIDs[0], n)
			}
			t.AppendRow(table.Row{s.Sale, f.Kind, order, f.BuyerID, f.Detail, f.Cause, f.Repair})
		}
	}
	return c.print(t)
}
