package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/infra/plan"
	"seckill/infra/preflight"
)

type preflightCmd struct {
	Sale      string   `required:"" placeholder:"ID" help:"The sale's id."`
	Buyers    int64    `placeholder:"N" help:"How many people come to buy. Default: as many as there are units."`
	Processes int      `placeholder:"N" help:"How many processes will serve. Default: as many as are connected to PostgreSQL now."`
	URLs      []string `name:"url" placeholder:"URL" help:"A node that answers buyers, to be asked whether it is ready; once for each. Default: one that serves at --http-addr on this machine."`
	Page      string   `placeholder:"URL" help:"Where buyers find the page of the sale, such as at the CDN, to compare its version."`
	JSON      bool     `name:"json" help:"Print JSON."`
}

// Validate refuses what cannot be meant.
func (p *preflightCmd) Validate() error {
	if p.Buyers < 0 || p.Buyers > plan.MostParticipants {
		return fmt.Errorf("--buyers must be 1 to %d, or left out", int64(plan.MostParticipants))
	}
	if p.Processes < 0 {
		return errors.New("--processes must be 1 or more, or left out")
	}
	for _, text := range append(slices.Clone(p.URLs), p.Page) {
		if u, err := url.Parse(text); text != "" && (err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "") {
			return fmt.Errorf("--url and --page must be addresses such as http://127.0.0.1:8080, but one is %q", text)
		}
	}
	return nil
}

// Run looks at everything. A no-go is exit code 3.
func (p *preflightCmd) Run(c console) error {
	ctx, done := c.stoppable()
	defer done()
	site := &preflight.Site{
		Settings: c.settings, Costs: c.unitCosts(), Now: time.Now, Buyers: p.Buyers, Processes: p.Processes, SaleID: p.Sale,
		Private: c.settings.NeedsPrivatePostgres() && c.settings.NeedsPrivateRedis(), PageURL: p.Page,
	}
	for _, node := range p.URLs {
		site.Nodes = append(site.Nodes, strings.TrimRight(node, "/"))
	}
	if near, err := nearby(c.settings.HTTPAddr); err == nil { // else it has no port to ask at
		site.Near = near
	}
	report, err := p.look(ctx, c, site)
	if err != nil {
		return err
	}
	if err := c.tellPreflight(report, p.JSON); err != nil {
		return err
	}
	if !report.Go {
		return errFound
	}
	return nil
}

// look opens what can be opened and looks. That something cannot be opened is a no-go
// among the others, not the end of it.
func (p *preflightCmd) look(ctx context.Context, c console, site *preflight.Site) (r preflight.Report, err error) {
	a, away := c.openApp(ctx, warnings(c))
	var rows []preflight.Row
	if away == nil {
		defer func() { err = joinClose(err, a.close(ctx)) }()
		if err := a.seen(ctx, site); err != nil {
			return r, err
		}
	} else {
		if ctx.Err() != nil {
			return r, away
		}
		rows = append(rows, preflight.Row{Check: "stores.open", State: preflight.NoGo, Seen: sentence(away), Want: "all stores can be worked with", Do: "what it says; the rest is looked at as far as it can be"})
		close := c.seenWithout(ctx, site)
		defer close()
	}
	closeRedis, err := c.seenRedis(ctx, site, a)
	defer closeRedis()
	if err != nil {
		rows = append(rows, preflight.Row{Check: "redis.address", State: preflight.NoGo, Seen: oneLine(err), Want: "an address of the gate's Redis"})
	}
	r = preflight.Run(ctx, site)
	r.Add(rows...)
	return r, ctx.Err()
}

// unitCosts gives what single things cost: as measured on this machine, else built in.
func (c console) unitCosts() plan.Costs {
	m, ok, err := c.lastUnits()
	if err != nil || !ok {
		return plan.Measured() // `seckill plan` says what is wrong with a measurement
	}
	return m.Costs()
}

// tellPreflight prints the rows, what is wrong first.
func (c console) tellPreflight(r preflight.Report, asJSON bool) error {
	if asJSON {
		return c.json(r)
	}
	t := newTable("check", "", "seen", "wanted", "do")
	t.SetTitle(fmt.Sprintf("Sale %s · %s orders expected", r.Sale, grouped(r.Winners)))
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 3, WidthMax: 50}, {Number: 4, WidthMax: 40}, {Number: 5, WidthMax: 50}})
	order := []preflight.State{preflight.NoGo, preflight.Warning, preflight.NotKnown, preflight.OK}
	count := map[preflight.State]int{}
	for _, state := range order {
		for _, row := range r.Rows {
			if row.State == state {
				count[state]++
				t.AppendRow(table.Row{row.Check, row.State, row.Seen, row.Want, row.Do})
			}
		}
	}
	if err := c.print(t); err != nil {
		return err
	}
	verdict := "GO"
	if !r.Go {
		verdict = "NO-GO"
	}
	_, err := fmt.Fprintf(c.out, "%s: %d no-go, %d warnings, %d not known, %d ok.\n", verdict, count[preflight.NoGo], count[preflight.Warning], count[preflight.NotKnown], count[preflight.OK])
	return err
}
