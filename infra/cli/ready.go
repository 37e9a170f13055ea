package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"seckill/api"
	"seckill/infra/bus"
	"seckill/infra/pg"
)

// maxStale is for how long the core projections may leave an event unapplied
// before this node says that it is not ready.
const maxStale = 10 * time.Second

// checks are what must hold before this node is ready for some roles. One that
// serves the API says whether buyers are served: what stops a worker beside it stops
// no purchase, and is for the metrics and alarms to tell. A process of workers alone
// names each of them.
func (a *app) checks(r roles, verifier api.Verifier) []api.Check {
	checks := []api.Check{
		{Name: "event_store", Ready: func(ctx context.Context) error {
			_, err := a.sink.Head(ctx)
			return err
		}},
		{Name: "log_tables", Ready: a.guardedTables},
	}
	if r.any(roleAPI, roleRecorder, roleScheduler) {
		checks = append(checks, api.Check{Name: "gate", Ready: a.gate.Check})
	}
	if r.any(roleProjector) {
		checks = append(checks, api.Check{Name: "projections", Ready: a.projected})
	}
	if !r.any(roleAPI) {
		return append(checks, a.working...)
	}
	if keys, ok := verifier.(interface{ Ready(context.Context) error }); ok {
		checks = append(checks, api.Check{Name: "tokens", Ready: keys.Ready})
	}
	return checks
}

// projected tells that the core projections are not stale, whoever folds them.
func (a *app) projected(ctx context.Context) error {
	stats, err := a.progress.Stats(ctx)
	if err != nil {
		return err
	}
	if waits := a.env.Now().Sub(stats.Waiting); !stats.Waiting.IsZero() && waits > maxStale {
		return fmt.Errorf("an event has waited %s for the projections", waits.Round(time.Second))
	}
	return nil
}

// worker names a part among the checks of a process without the api role.
func (a *app) worker(name string, ready func(context.Context) error) {
	a.working = append(a.working, api.Check{Name: name, Ready: ready})
}

// led tells which of some tasks nobody leads, here or elsewhere. For a moment that is
// so whenever one that led dies.
func (a *app) led(tasks []string) func(context.Context) error {
	return func(ctx context.Context) error {
		var nobody []string
		for _, task := range tasks {
			held, err := pg.NewLeader(a.pool, a.settings.Namespace, task).Held(ctx)
			if err != nil {
				return err
			}
			if !held {
				nobody = append(nobody, task)
			}
		}
		if len(nobody) > 0 {
			return fmt.Errorf("nobody leads %s", strings.Join(nobody, ", "))
		}
		return nil
	}
}

// publishes tells why a relay does not get on. One that waits for the lead is well,
// also after its connection broke: while another process leads, what failed here last is
// over, and nothing that this one does would say so.
func (a *app) publishes(relay *bus.Relay, lead string) func(context.Context) error {
	return func(ctx context.Context) error {
		fault := relay.Stats().Fault
		if fault == "" {
			return nil
		}
		if held, err := pg.NewLeader(a.pool, a.settings.Namespace, lead).Held(ctx); err == nil && held {
			return nil
		}
		return errors.New(fault)
	}
}
