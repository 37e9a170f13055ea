package cli

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/infra/plan"
)

type planCmd struct {
	Participants int64   `required:"" placeholder:"N" help:"How many people come to buy, each once."`
	Share        string  `required:"" placeholder:"P" help:"The part of them who press within the peak: 0.8, or 80%."`
	Seconds      float64 `required:"" placeholder:"S" help:"How long the peak lasts, in seconds."`
	Headroom     string  `required:"" placeholder:"H" help:"What the peak is multiplied by: 1.5 keeps half as much again free."`
	Stock        int64   `required:"" placeholder:"N" help:"Units on sale."`
	JSON         bool    `name:"json" help:"Print JSON."`
}

// Run prints what the sale needs. It asks no store.
func (p *planCmd) Run(c console) error {
	share, err := plan.ParseShare(p.Share)
	if err != nil {
		return usage("--share: %w", err)
	}
	headroom, err := plan.ParseHeadroom(p.Headroom)
	if err != nil {
		return usage("--headroom: %w", err)
	}
	wish := plan.Wish{Participants: p.Participants, Share: share, Seconds: p.Seconds, Headroom: headroom, Stock: p.Stock}
	if err := wish.Validate(); err != nil {
		return usage("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	made := plan.Make(wish, plan.Measured())
	if p.JSON {
		return c.json(made)
	}
	return c.printPlan(made)
}

func (c console) printPlan(p plan.Plan) error {
	t := newTable("what", "how much", "")
	for _, row := range p.Rows() {
		t.AppendRow(table.Row{row.What, row.Much, row.Why})
	}
	numbers(t, 2)
	if err := c.print(t); err != nil {
		return err
	}
	costs := newTable("unit cost", "", "", "measured by")
	for _, cost := range p.Costs {
		costs.AppendRow(table.Row{cost.Name, plan.Number(cost.Value), cost.Unit, cost.Command})
	}
	numbers(costs, 2)
	var text strings.Builder
	fmt.Fprintf(&text, "\nStrategy %s. %s\n", p.Strategy, strings.Join(p.Reasons, " "))
	for _, warning := range p.Warnings {
		fmt.Fprintf(&text, "Warning: %s\n", warning)
	}
	fmt.Fprintf(&text, "\nSet on each API node:%s\n\nComputed from what single things cost on two cores that carried everything at once;\nmeasure yours by the commands beside them:\n", settingsText(p.Set))
	if _, err := fmt.Fprint(c.out, text.String()); err != nil {
		return err
	}
	return c.print(costs)
}

func settingsText(s plan.Set) string {
	return fmt.Sprintf(" SECKILL_LIMIT_ENDPOINT=%d SECKILL_ADMISSION_CAP=%d SECKILL_ADMISSION_QUEUE=%d SECKILL_LIMIT_PURCHASES=%d",
		s.LimitEndpoint, s.AdmissionCap, s.AdmissionQueue, s.LimitPurchases)
}
