package cli

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/api"
	"seckill/commands"
)

type preheatCmd struct {
	Sale   string `required:"" placeholder:"ID" help:"The sale's id."`
	Verify bool   `help:"Compare only, and change nothing."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

// Run makes the gate ready and lists what it holds. Differences are exit code 3.
func (p *preheatCmd) Run(c console) error {
	return c.withAPI(func(ctx context.Context, in inside) error {
		method := http.MethodGet
		if !p.Verify {
			method = http.MethodPost
			if err := in.checkLog(ctx); err != nil {
				return err
			}
		}
		var report api.PreheatView
		if err := in.ask(ctx, method, "/api/v1/admin/sales/"+url.PathEscape(p.Sale)+"/preheat", nil, &report); err != nil {
			return err
		}
		if err := c.printPreheat(report, p.JSON); err != nil {
			return err
		}
		if !report.Verified {
			return errFound
		}
		return nil
	})
}

func (c console) printPreheat(report api.PreheatView, asJSON bool) error {
	if asJSON {
		return c.json(report)
	}
	wants := map[string]string{}
	for _, d := range report.Differences {
		wants[d.Key] = d.Want
	}
	names := make([]string, 0, len(report.Values))
	for name := range report.Values {
		names = append(names, name)
	}
	slices.Sort(names)
	t := newTable("key", "value", "the log says")
	for _, name := range names {
		want, differs := wants[name]
		if !differs {
			want = "the same"
		}
		t.AppendRow(table.Row{name, report.Values[name], want})
	}
	if err := c.print(t); err != nil {
		return err
	}
	c.say("%d values, %d of them not what the log says; %d fields of buyers are not listed.", report.Keys, len(report.Differences), report.OfBuyers)
	return nil
}

func (a *app) newPreheats() *commands.Preheats {
	return &commands.Preheats{Env: a.env, Sales: a.sales, Log: a.sink, Gate: a.gate, Preheat: a.keeper.Preheat, Operator: a.operator, Members: a.knownMembers, Tickets: a.tickets}
}

// preheatLead is the leader lock of preheating sales that are about to open.
const preheatLead = "preheat"

// watchOpenings preheats sales that are about to open whenever this process leads
// that, until ctx ends.
func (a *app) watchOpenings(ctx context.Context) error {
	for ctx.Err() == nil {
		watch := &commands.PreheatWatch{
			Env: a.env, Sales: a.sales, Full: a.preheats.Full, Verify: a.preheats.Verify, Alarm: a.alarm,
			Told: func(d commands.PreheatDone) { a.metrics.Preheated(d.Step, d.Result, d.Differences) },
		}
		err := a.locks().lead(ctx, preheatLead, watch.Run)
		if err != nil && ctx.Err() == nil {
			a.log.Warn("sales not preheated; tried again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(recorderBackoff):
		}
	}
	return nil
}

// strengthLead is the leader lock of watching what the gate's server gives.
const strengthLead = "acknowledgement"

// watchStrength compares what sales ask of the gate's server with what it gives
// whenever this process leads that, until ctx ends.
func (a *app) watchStrength(ctx context.Context) error {
	for ctx.Err() == nil {
		watch := &commands.StrengthWatch{Env: a.env, Sales: a.sales, Gate: a.gate, Operator: a.operator, Alarm: a.alarm}
		err := a.locks().lead(ctx, strengthLead, watch.Run)
		if err != nil && ctx.Err() == nil {
			a.log.Warn("what the gate's server gives is not watched; tried again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(recorderBackoff):
		}
	}
	return nil
}
