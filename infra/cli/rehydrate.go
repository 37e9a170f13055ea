package cli

import (
	"context"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/commands"
)

type rehydrateCmd struct {
	Sale string `placeholder:"ID" help:"Only this sale; default: every sale."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// tellEvery is how often a lane under way is told about.
const tellEvery = time.Second

// Run builds the gate again from the log, also while others serve.
func (r *rehydrateCmd) Run(c console) error {
	return c.withApp(func(ctx context.Context, a *app) error {
		if err := a.checkLog(ctx); err != nil {
			return err
		}
		var told time.Time
		done, err := a.keeper.Rehydrate(ctx, r.Sale, func(p commands.RehydrateProgress) {
			if now := time.Now(); p.Finished || now.Sub(told) >= tellEvery {
				told = now
				c.sayRehydrated(p)
			}
		})
		if err != nil {
			return err
		}
		c.mentionServing(ctx, a)
		if r.JSON {
			return c.json(done)
		}
		return c.printRehydration(done)
	})
}

func (c console) sayRehydrated(p commands.RehydrateProgress) {
	if p.Finished {
		c.say("Lane %d, %d of %d: %d events applied, open.", p.Lane, p.Done, p.All, p.Events)
		return
	}
	c.say("Lane %d, %d of %d: %d events applied …", p.Lane, p.Done, p.All, p.Events)
}

func (c console) printRehydration(done commands.Rehydration) error {
	t := newTable("lane", "epoch", "sales", "events applied", "ms")
	numbers(t, 1, 2, 4, 5)
	for _, l := range done.Lanes {
		t.AppendRow(table.Row{l.Lane, l.Epoch, strings.Join(l.Sales, "\n"), l.Events, l.TookMS})
	}
	t.AppendFooter(table.Row{"", "", "", done.Events, done.TookMS})
	return c.print(t)
}
