package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/infra/plan"
)

type planCmd struct {
	Participants  int64         `required:"" placeholder:"N" help:"How many people come to buy, each once."`
	Share         string        `required:"" placeholder:"P" help:"The part of them who press within the peak: 0.8, or 80%."`
	Seconds       float64       `required:"" placeholder:"S" help:"How long the peak lasts, in seconds."`
	Headroom      string        `required:"" placeholder:"H" help:"What the peak is multiplied by: 1.5 keeps half as much again free."`
	Stock         int64         `required:"" placeholder:"N" help:"Units on sale."`
	PaymentWindow time.Duration `default:"15m" placeholder:"TIME" help:"How long a winner has to pay before the units go back on sale. Default: ${default}."`
	NoMeasure     bool          `help:"Where there is no measurement of this machine, take the built-in unit costs in its place."`
	BuiltIn       bool          `help:"Take the built-in unit costs, measured or not."`
	JSON          bool          `name:"json" help:"Print JSON."`
}

// Run prints what the sale needs, from what the last bench unit of this data folder
// measured; where there is none, one is made, and where that cannot be the built-in
// table is taken. The installation's stores are not asked.
func (p *planCmd) Run(c console) error {
	share, err := plan.ParseShare(p.Share)
	if err != nil {
		return usage("--share: %w", err)
	}
	headroom, err := plan.ParseHeadroom(p.Headroom)
	if err != nil {
		return usage("--headroom: %w", err)
	}
	if p.PaymentWindow < time.Second {
		return usage("--payment-window is how long a winner has to pay: want 1s to 720h, not %s", p.PaymentWindow)
	}
	wish := plan.Wish{Participants: p.Participants, Share: share, Seconds: p.Seconds, Headroom: headroom, Stock: p.Stock, PaymentWindow: p.PaymentWindow.Seconds()}
	if err := wish.Validate(); err != nil {
		return usage("%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	costs, from, err := p.costs(c)
	if err != nil {
		return err
	}
	made := plan.Make(wish, costs)
	made.CostsFrom = from
	if p.JSON {
		return c.json(made)
	}
	return c.printPlan(made)
}

// costs gives the unit costs, and where they come from.
func (p *planCmd) costs(c console) (plan.Costs, plan.Source, error) {
	builtIn := plan.Source{Kind: plan.SourceBuiltIn}
	if p.BuiltIn {
		return plan.Measured(), builtIn, nil
	}
	m, ok, err := c.lastUnits()
	if err != nil {
		return plan.Costs{}, builtIn, &told{fmt.Sprintf("The measurement in %s cannot be used (%s): take another with `seckill bench unit`, or the built-in one with --built-in.", c.unitFile(), oneLine(err)), err}
	}
	if ok {
		return m.Costs(), m.Source(), nil
	}
	if p.NoMeasure {
		return plan.Measured(), builtIn, nil
	}
	ctx, done := c.stoppable()
	defer done()
	m, err = c.measureUnits(ctx, false)
	switch {
	case ctx.Err() != nil:
		return plan.Costs{}, builtIn, ctx.Err()
	case err != nil:
		c.say("This machine could not be measured (%s), so the built-in figures are taken.", sentence(err))
		return plan.Measured(), builtIn, nil
	}
	return m.Costs(), m.Source(), nil
}

// costsText says where the unit costs come from.
func costsText(from plan.Source) string {
	if from.Kind == plan.SourceBuiltIn {
		return "The built-in unit costs, of two cores that carried everything at once; `seckill bench unit` measures\nthis machine's, and the commands beside them do one by one:"
	}
	return fmt.Sprintf("Unit costs measured on this machine by `seckill bench unit` at %s\n(%s); what it does not measure is built in:", local(*from.At), from.With)
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
	fmt.Fprintf(&text, "\nSet on each API node:%s\n\n%s\n", settingsText(p.Set), costsText(p.CostsFrom))
	if _, err := fmt.Fprint(c.out, text.String()); err != nil {
		return err
	}
	return c.print(costs)
}

func settingsText(s plan.Set) string {
	return fmt.Sprintf(" SECKILL_LIMIT_ENDPOINT=%d SECKILL_ADMISSION_CAP=%d SECKILL_ADMISSION_QUEUE=%d SECKILL_LIMIT_PURCHASES=%d",
		s.LimitEndpoint, s.AdmissionCap, s.AdmissionQueue, s.LimitPurchases)
}
