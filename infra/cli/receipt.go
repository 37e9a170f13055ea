package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/commands"
)

// receiptCmd explains a receipt. It reads the log and writes nothing.
type receiptCmd struct {
	Receipt string `arg:"" help:"The receipt, as the refusal had it."`
	Buyer   string `placeholder:"ID" help:"Who shows it: then it is compared with this buyer, and their orders are told."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run prints what the receipt says and what the log says of its moment. It finds
// something where the signature is wrong, the buyer is another one, or the log contradicts.
func (r *receiptCmd) Run(c console) error {
	return c.withTeller(func(ctx context.Context, teller *commands.Teller) error {
		report, err := teller.Explain(ctx, strings.TrimSpace(r.Receipt), r.Buyer)
		if err != nil {
			return err
		}
		print := c.printReceipt
		if r.JSON {
			print = func(report commands.ReceiptReport) error { return c.json(report) }
		}
		if err := print(report); err != nil {
			return err
		}
		if !report.Valid || report.Judgement == commands.ReceiptContradicted || report.Buyer != nil && !*report.Buyer {
			return errFound
		}
		return nil
	})
}

func (c console) printReceipt(r commands.ReceiptReport) error {
	if r.Valid {
		fmt.Fprintf(c.out, "%s in sale %s at %s%s%s\n", r.Code, r.SaleID, stamp(r.At), boundSays(r), askedSays(r))
	}
	if then := r.Then; then != nil {
		fmt.Fprintf(c.out, "Then: %q was %s, open from %s to %s, %d per buyer; the log stood at position %d\n",
			then.Title, then.State, stamp(then.OpensAt), stamp(then.ClosesAt), then.Limit, then.Position)
		if len(then.Stock) > 0 {
			t := newTable("item", "on sale", "taken", "given back", "left", "of them unsure")
			numbers(t, 2, 3, 4, 5, 6)
			for _, s := range then.Stock {
				t.AppendRow(table.Row{s.SKU, s.Released, s.Taken, s.GivenBack, s.Left, s.Unsure})
			}
			fmt.Fprintln(c.out, t.Render())
		}
		if len(then.Orders) > 0 {
			t := newTable("order of the buyer", "was", "units", "accepted")
			for _, o := range then.Orders {
				t.AppendRow(table.Row{o.OrderID, o.Status, o.Units, stamp(o.AcceptedAt)})
			}
			fmt.Fprintln(c.out, t.Render())
		}
	}
	for _, says := range r.Says {
		fmt.Fprintln(c.out, says)
	}
	_, err := fmt.Fprintln(c.out, "Judgement: "+strings.ReplaceAll(r.Judgement, "_", " "))
	return err
}

func boundSays(r commands.ReceiptReport) string {
	switch {
	case r.BoundMS == nil:
		return " (by the node's own clock)"
	case *r.BoundMS > 0:
		return fmt.Sprintf(" (± %d ms)", *r.BoundMS)
	}
	return ""
}

func askedSays(r commands.ReceiptReport) string {
	says := ""
	if r.Quantity > 0 {
		says = fmt.Sprintf("; asked for %d", r.Quantity)
		if r.SKU != "" {
			says += " of " + r.SKU
		}
	}
	if r.Left != nil {
		says += fmt.Sprintf("; %d left", *r.Left)
	}
	if r.Next != "" && r.Bucket != nil {
		says += fmt.Sprintf("; before journal entry %s of bucket %d", r.Next, *r.Bucket)
	}
	return says
}
