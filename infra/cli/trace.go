package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore/pgstore"
	"seckill/infra/pg"
	"seckill/infra/redisgate"
	"seckill/projections"
)

// traceCmd tells the story of purchases. It writes nothing, and works while the gate is
// away.
type traceCmd struct {
	ID    string  `arg:"" help:"An order, the trace id of a purchase, or a buyer."`
	As    *string `enum:"order,buyer,trace" placeholder:"order|buyer|trace" help:"What it is. Default: what it looks like."`
	Sale  string  `placeholder:"ID" help:"With a buyer: only this sale. Default: all."`
	Limit int     `default:"20" placeholder:"N" help:"With a buyer: how many purchases are told, the newest first, up to 100. Default: ${default}."`
	JSON  bool    `name:"json" help:"Print JSON."`
}

// Validate refuses what cannot be asked; 0 is how the core names its default.
func (t *traceCmd) Validate() error {
	if t.Limit < 1 {
		return errors.New("--limit must be 1 or more")
	}
	return nil
}

// Run prints the story.
func (t *traceCmd) Run(c console) error {
	ask := commands.StoryAsk{ID: t.ID, Sale: t.Sale, Limit: t.Limit}
	if t.As != nil {
		ask.As = *t.As
	}
	return c.withTeller(func(ctx context.Context, teller *commands.Teller) error {
		story, err := teller.Tell(ctx, ask)
		var p *domain.Problem
		if errors.As(err, &p) && p.Code == domain.CodeOrderNotFound {
			return &told{"There is no order with this id in gate or log.", err}
		}
		if err != nil {
			return err
		}
		if t.JSON {
			return c.json(story)
		}
		return c.printStory(story)
	})
}

// openGateBudget bounds opening the gate for a look, and starting or joining a private
// one before.
const openGateBudget = 5 * time.Second

// withTeller opens the stores to read them and does f. A gate that is away is left out.
func (c console) withTeller(f func(ctx context.Context, teller *commands.Teller) error) error {
	return c.withPool(openToRead, func(ctx context.Context, pool *pgxpool.Pool) error {
		teller, err := c.teller(ctx, pool)
		if err != nil {
			return err
		}
		shut, err := c.lookAtGate(ctx, teller)
		if err != nil {
			return err
		}
		return joinClose(f(ctx, teller), shut())
	})
}

// teller makes a teller over an opened log, without a gate.
func (c console) teller(ctx context.Context, pool *pgxpool.Pool) (*commands.Teller, error) {
	id, err := pg.LoadIdentity(ctx, pool)
	if err != nil {
		return nil, err
	}
	log := pgstore.NewReads(pool)
	env := &commands.Env{
		Store: uint8(id.Store), Keys: OrderKeys(id), Now: time.Now, Random: rand.Reader, NewID: uuid.New, Log: warnings(c),
	}
	progress := projections.Progress{
		DB: pool, Source: projections.Source{Store: int16(id.Store), Log: log}, Projections: projections.All(),
	}
	return &commands.Teller{
		Env: env, Sales: commands.NewSales(log, env.Now, commands.SalesOptions{}), Log: log, Views: storyViews{progress},
	}, nil
}

// lookAtGate gives a teller the gate, or why there is none. Without an error, call shut in
// the end.
func (c console) lookAtGate(ctx context.Context, teller *commands.Teller) (shut func() error, err error) {
	elsewhere, err := lanesElsewhere(c.settings)
	if err != nil {
		return nil, err
	}
	within, cancel := context.WithTimeout(ctx, openGateBudget)
	defer cancel()
	a, away := c.addresses(within, needGate)
	if away != nil {
		teller.GateAway = away
		return func() error { return nil }, ctx.Err()
	}
	gate, away := redisgate.Open(within, string(a.redis), redisgate.Options{
		Namespace: c.settings.Namespace, Store: teller.Env.Store, ProcessToken: a.token, Elsewhere: elsewhere,
	})
	if away != nil {
		teller.GateAway = explainRedis(a.redis, away)
		return func() error { return a.stop(ctx) }, nil
	}
	teller.Gate = gate
	return func() error { return joinClose(gate.Close(), a.stop(ctx)) }, nil
}

func (c console) printStory(s commands.Story) error {
	for _, note := range s.Unasked {
		c.say("Not asked: %s", note)
	}
	if len(s.Purchases) == 0 {
		_, err := fmt.Fprintln(c.out, nothingOf(s))
		return err
	}
	for i, p := range s.Purchases {
		if i > 0 {
			fmt.Fprintln(c.out)
		}
		if err := c.printPurchase(p); err != nil {
			return err
		}
	}
	if s.More > 0 {
		c.say("%d older purchases are not shown: see --limit and --sale.", s.More)
	}
	return nil
}

// nothingOf says that there is no purchase.
func nothingOf(s commands.Story) string {
	if s.As == commands.StoryOfTrace {
		return "No purchase has this trace id. One that was refused leaves nothing in the log: its receipt says what it was told (`seckill receipt`)."
	}
	return fmt.Sprintf("Nobody called %q has a purchase in the sales that were looked through (%d). If it is meant as an order or a trace id, it is not whole. Refused ones leave nothing in the log: a receipt says what they were told (`seckill receipt`).", s.ID, s.Sales)
}

func (c console) printPurchase(p commands.PurchaseStory) error {
	status := p.Status
	if p.Reason != "" {
		status += " (" + p.Reason + ")"
	}
	lines := make([]string, len(p.Lines))
	for i, l := range p.Lines {
		lines[i] = fmt.Sprintf("%d × %s", l.Quantity, l.SKU)
	}
	fmt.Fprintf(c.out, "Order %s of %s in sale %s: %s\n", p.OrderID, orDash(p.BuyerID), p.SaleID, status)
	fmt.Fprintf(c.out, "  bought %s  %s %s\n", orDash(strings.Join(lines, ", ")), p.Amount, p.Currency)
	fmt.Fprintf(c.out, "  trace %s  entry %s  lane %d  bucket %d  node %s\n", orDash(p.TraceID), orDash(p.Entry), p.Lane, p.Bucket, orDash(p.Node))
	steps := newTable("time", "after", "clock", "position", "what", "by")
	numbers(steps, 2, 4)
	for i, s := range p.Steps {
		after, position := "", ""
		if i > 0 {
			after = (time.Duration(s.AfterUS) * time.Microsecond).String()
		}
		if s.Position > 0 {
			position = strconv.FormatInt(s.Position, 10)
		}
		steps.AppendRow(table.Row{stamp(s.At), after, s.Clock, position, s.Says, s.By})
	}
	fmt.Fprintln(c.out, steps.Render())
	now := newTable("where", "has it", "says", "as of")
	now.AppendRow(table.Row{"gate", "", gateSays(p.Gate), ""})
	now.AppendRow(table.Row{"log", yesNo(p.Log.Version > 0), p.Log.Status, fmt.Sprintf("version %d, position %d", p.Log.Version, p.Log.Position)})
	for _, v := range p.Views {
		asOf := "position " + strconv.FormatInt(v.Position, 10)
		if v.AppliedAt != nil {
			asOf += ", reached " + stamp(*v.AppliedAt)
		}
		now.AppendRow(table.Row{v.Name, yesNo(v.Has), v.Status, asOf})
	}
	_, err := fmt.Fprintln(c.out, now.Render())
	for _, doubt := range p.Doubts {
		fmt.Fprintln(c.out, "  ! "+doubt) // errors come with the line before
	}
	return err
}

func gateSays(g commands.StoryGateIs) string {
	says := g.State
	if g.Epoch > 0 {
		says += fmt.Sprintf(", lane in epoch %d", g.Epoch)
	}
	if g.Journal {
		says += ", entry in the journal"
	}
	return says
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
