package cli

import (
	"context"
	"net/http"
	"net/url"

	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/api"
	"seckill/commands"
	"seckill/domain"
)

// newSwitchboard makes the board; new sales begin with what is on everywhere.
func (a *app) newSwitchboard() *commands.Switchboard {
	board := commands.NewSwitchboard(a.env, a.sales, a.sink, a.operator)
	a.operator.Standing = board.Standing
	return board
}

// noncorePaused tells whether what nobody's order waits for stands still.
func (a *app) noncorePaused() bool { return a.switches.On(domain.PauseNoncore) }

func switchNames(switches []commands.SwitchState) []string {
	names := make([]string, len(switches))
	for i, s := range switches {
		names[i] = string(s.Name)
	}
	return names
}

type switchCmd struct {
	List switchListCmd `cmd:"" help:"List every switch, who turned it and why."`
	On   switchOnCmd   `cmd:"" help:"Turn a switch on, for one sale or everywhere."`
	Off  switchOffCmd  `cmd:"" help:"Turn a switch off."`
}

type switchListCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run lists every switch.
func (s *switchListCmd) Run(c console) error {
	return c.withAPI(func(ctx context.Context, in inside) error {
		var list api.SwitchList
		if err := in.ask(ctx, http.MethodGet, "/api/v1/admin/switches", nil, &list); err != nil {
			return err
		}
		return c.printSwitches(list.Switches, list, s.JSON)
	})
}

type switchOnCmd struct{ flipping }
type switchOffCmd struct{ flipping }

// Run turns the switch on.
func (s *switchOnCmd) Run(c console) error { return s.flip(c, true) }

// Run turns the switch off.
func (s *switchOffCmd) Run(c console) error { return s.flip(c, false) }

type flipping struct {
	Name   string `arg:"" enum:"skip_purchase_limit,skip_eligibility,force_ended,pause_purchases,pause_noncore" help:"The switch: ${enum}."`
	Sale   string `placeholder:"ID" help:"For this sale alone. Default: every sale."`
	Reason string `required:"" placeholder:"TEXT" help:"Why, for the log."`
	JSON   bool   `name:"json" help:"Print JSON."`
}

func (f *flipping) flip(c console, on bool) error {
	return c.withAPI(func(ctx context.Context, in inside) error {
		if err := in.checkLog(ctx); err != nil {
			return err
		}
		var done api.SwitchView
		body := api.SwitchBody{On: on, Sale: api.Only(f.Sale), Reason: f.Reason}
		if err := in.ask(ctx, http.MethodPut, "/api/v1/admin/switches/"+url.PathEscape(f.Name), body, &done); err != nil {
			return wrongSale(err)
		}
		if done.Reason != f.Reason {
			c.say("Nothing changed: it stood so already.")
		}
		return c.printSwitches([]api.SwitchView{done}, done, f.JSON)
	})
}

func (c console) printSwitches(list []api.SwitchView, whole any, asJSON bool) error {
	if asJSON {
		return c.json(whole)
	}
	t := newTable("switch", "for", "is", "since", "by", "why")
	for _, s := range list {
		where, is, since := "every sale", "off", ""
		if s.Sale != "" {
			where = s.Sale
		}
		if s.On {
			is = "on"
		}
		if s.At != nil {
			since = local(*s.At)
		}
		t.AppendRow(table.Row{s.Name, where, is, since, s.By, s.Reason})
	}
	return c.print(t)
}
