package cli

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/api"
	"seckill/commands"
	"seckill/eventstore/pgstore"
)

type cleanupCmd struct {
	Sale string `required:"" placeholder:"ID" help:"The sale that is over."`
	Note string `placeholder:"TEXT" help:"Why, for the log."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run goes through the checklist. What could not be finished is a failure: run it
// again.
func (k *cleanupCmd) Run(c console) error {
	return c.withAPI(func(ctx context.Context, in inside) error {
		if err := in.checkLog(ctx); err != nil {
			return err
		}
		var done api.CleanupView
		if err := in.ask(ctx, http.MethodPost, "/api/v1/admin/sales/"+url.PathEscape(k.Sale)+"/cleanup", api.NoteBody{Note: k.Note}, &done); err != nil {
			return err
		}
		if err := c.printCleanup(done, k.JSON); err != nil {
			return err
		}
		for _, item := range done.Items {
			if !item.Done {
				return &told{"the sale is cleaned up, but not everything of it is gone yet: run this again", nil}
			}
		}
		return nil
	})
}

func (c console) printCleanup(done api.CleanupView, asJSON bool) error {
	if asJSON {
		return c.json(done)
	}
	t := newTable("item", "done", "found")
	for _, item := range done.Items {
		ticked := "yes"
		if !item.Done {
			ticked = "NO"
		}
		t.AppendRow(table.Row{item.Name, ticked, item.Detail})
	}
	return c.print(t)
}

// LogParts tells in which parts of a log a sale has records; see commands.LogParts.
type LogParts struct{ Store *pgstore.Store }

// PartsOf lists them in order.
func (l LogParts) PartsOf(ctx context.Context, sale string) ([]commands.LogPart, error) {
	all, err := l.Store.PartitionsOf(ctx, sale)
	if err != nil {
		return nil, err
	}
	parts := make([]commands.LogPart, len(all))
	for i, p := range all {
		parts[i] = commands.LogPart{First: p.First, Last: p.Last, State: stateOf(p)}
	}
	return parts, nil
}

// newCleanup makes the checklist of this application.
func (a *app) newCleanup() *commands.Cleanup {
	list := commands.NewCleanup(commands.CleanupDeps{
		Env: a.env, Sales: a.sales, Log: a.sink, Keeper: a.keeper, Gate: a.gate, Close: a.operator.Close,
		Drift: DriftOf(a.reconciler), Parts: LogParts{a.sink},
	})
	list.Before(commands.TallyItem{Env: a.env, Log: a.sink})
	list.Before(commands.StatementItem{Keeper: statementFiles{stater: a.closer, dir: a.settings.StatementDir}})
	return list
}

// cleanupLead is the leader lock of cleaning up what ended long ago.
const cleanupLead = "cleanup"

// cleanUpOld cleans up what ended long ago, whenever this process leads that,
// until ctx ends.
func (a *app) cleanUpOld(ctx context.Context) error {
	for ctx.Err() == nil {
		auto := &commands.AutoCleanup{Env: a.env, Sales: a.sales, After: a.settings.CleanupAfter, Clean: a.cleanup.Clean}
		if err := a.locks().lead(ctx, cleanupLead, auto.Run); err != nil && ctx.Err() == nil {
			a.log.Warn("ended sales not cleaned up; tried again", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(recorderBackoff):
		}
	}
	return nil
}

// DriftOf gives what a reconciliation of a sale finds.
func DriftOf(r *commands.Reconciler) func(ctx context.Context, sale string) ([]commands.Finding, error) {
	return func(ctx context.Context, sale string) ([]commands.Finding, error) {
		report, err := r.Reconcile(ctx, sale)
		var found []commands.Finding
		for _, s := range report.Sales {
			found = append(found, s.Findings...)
		}
		return found, err
	}
}
