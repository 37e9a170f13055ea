package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/api"
	"seckill/infra/pg"
	"seckill/projections"
)

type rebuildCmd struct {
	Projection string `arg:"" optional:"" help:"Name of the projection, such as order_view."`
	All        bool   `help:"Every projection, in one pass over the log."`
	Workers    int    `placeholder:"N" help:"How many fold side by side. Default: the number of cores, 4 at most."`
	Archive    string `placeholder:"DIR" help:"Folder of archives: what was taken out of the database is read from there."`
	AcceptLoss bool   `name:"accept-log-loss" help:"Rebuild although views, relays or seals went further than the log does: what it lost goes from the views too."`
	JSON       bool   `name:"json" help:"Print JSON."`
}

// maxWorkers bounds the connections of a rebuild.
const maxWorkers = 64

// rebuilt is what the rebuild command prints. Events were read and verified, up
// to Position; of each view, Events were folded and Rows stand.
type rebuilt struct {
	Events   int64         `json:"events"`
	Position int64         `json:"position"`
	Hash     string        `json:"hash"`
	Seconds  float64       `json:"seconds"`
	OK       bool          `json:"ok"`
	Views    []rebuiltView `json:"views"`
	Fault    *rebuildFault `json:"fault,omitempty"`
}

type rebuiltView struct {
	Projection string             `json:"projection"`
	Version    int                `json:"version"`
	Events     int64              `json:"events"`
	Rows       int64              `json:"rows"`
	Remembered []api.DeadSequence `json:"remembered"`
}

// rebuildFault is where and why a rebuild has stopped. Projection is empty where
// the log itself is at fault.
type rebuildFault struct {
	Position   int64  `json:"position"`
	Projection string `json:"projection"`
	Sequence   string `json:"sequence"`
	Type       string `json:"type"`
	Detail     string `json:"detail"`

	foreign bool // no projector parks it
}

// Run rebuilds. A fault it stops at is exit code 3; nothing has changed then.
func (k *rebuildCmd) Run(c console) error {
	list, err := k.list()
	if err != nil {
		return err
	}
	workers := k.Workers
	if workers == 0 {
		workers = min(runtime.NumCPU(), 4)
	}
	return c.withReadSideOf(workers+readSideConns, func(ctx context.Context, side readSide) error {
		ahead, err := k.checkLog(ctx, c, side)
		if err != nil {
			return err
		}
		if ahead != "" {
			return k.refuse(c, ahead)
		}
		source, done, err := side.archivedSource(ctx, k.Archive)
		if err != nil {
			return err
		}
		defer done()
		report, err := projections.Rebuild(ctx, side.pool, source, list, projections.RebuildOptions{
			Workers: workers, Lead: side.locks.try, Progress: c.rebuildProgress(), Log: warnings(c),
		})
		return k.tell(c, report, err)
	})
}

func (k *rebuildCmd) list() ([]projections.Projection, error) {
	all := projections.All()
	if k.Workers < 0 || k.Workers > maxWorkers {
		return nil, usage("--workers must be 1 to %d", maxWorkers)
	}
	if (k.Projection == "") != k.All {
		return nil, usage("name one projection, or --all")
	}
	if info, err := os.Stat(k.Archive); k.Archive != "" && (err != nil || !info.IsDir()) {
		return nil, usage("--archive names no folder: %s", k.Archive)
	}
	if k.All {
		return all, nil
	}
	var names []string
	for _, p := range all {
		if p.Name == k.Projection {
			return []projections.Projection{p}, nil
		}
		names = append(names, p.Name)
	}
	return nil, usage("there is no projection %q: want one of %s", k.Projection, strings.Join(names, ", "))
}

// tell prints what was done, or where it stopped.
func (k *rebuildCmd) tell(c console, report projections.RebuildReport, err error) error {
	var fault *projections.FaultError
	var proof *projections.ProofError
	switch {
	case errors.As(err, &fault):
		return k.tellFault(c, rebuildFault{
			Position: fault.Position, Projection: fault.Projection, Sequence: fault.Sequence, Type: fault.Type, Detail: fault.Error(),
			foreign: errors.Is(err, projections.ErrForeign),
		})
	case errors.As(err, &proof):
		return k.tellFault(c, rebuildFault{Projection: proof.Projection, Detail: proof.Error()})
	case errors.Is(err, projections.ErrRebuilding):
		return &told{"this is being rebuilt by somebody else right now; `seckill checkpoints` shows how far it is", err}
	case errors.Is(err, projections.ErrLettersChanged):
		return &told{"events were parked, retried or dropped while this was rebuilt, so it was given up; nothing has changed: start it again", err}
	case err != nil:
		return err
	}
	out := newRebuilt(report)
	if k.JSON {
		return c.json(out)
	}
	return c.printRebuilt(out)
}

func (k *rebuildCmd) tellFault(c console, f rebuildFault) error {
	if k.JSON {
		if err := c.json(rebuilt{Views: []rebuiltView{}, Fault: &f}); err != nil {
			return err
		}
		return errFound
	}
	c.say("The rebuild has stopped, and nothing has changed: %s.", strings.TrimSuffix(oneLine(errors.New(f.Detail)), "."))
	if f.foreign {
		c.say("Rebuild with the program that wrote this event, or a newer one; live views go on without it.")
	} else if f.Projection != "" && f.Sequence != "" {
		c.say("A projector that runs parks this sequence; parked and dropped sequences are passed over (`seckill dead-letters list`).")
	}
	return errFound
}

func newRebuilt(report projections.RebuildReport) rebuilt {
	out := rebuilt{Events: report.Events, Position: report.At.Number, Hash: report.At.Hash.String(), Seconds: report.Took.Seconds(), OK: true}
	for _, v := range report.Views {
		view := rebuiltView{Projection: v.Projection, Version: v.Version, Events: v.Events, Rows: v.Rows, Remembered: []api.DeadSequence{}}
		for _, s := range v.Remembered {
			view.Remembered = append(view.Remembered, deadSequence(s))
		}
		out.Views = append(out.Views, view)
	}
	return out
}

func (c console) printRebuilt(out rebuilt) error {
	t := newTable("projection", "version", "events folded", "rows", "still set aside")
	numbers(t, 2, 3, 4, 5)
	for _, v := range out.Views {
		t.AppendRow(table.Row{v.Projection, v.Version, v.Events, v.Rows, len(v.Remembered)})
	}
	if err := c.print(t); err != nil {
		return err
	}
	for _, v := range out.Views {
		for _, s := range v.Remembered {
			if _, err := fmt.Fprintf(c.out, "%s: the sequence %s stays %s from position %d on.\n", v.Projection, s.Sequence, s.State, s.First); err != nil {
				return err
			}
		}
	}
	_, err := fmt.Fprintf(c.out, "Read and verified %d events up to position %d in %.1f s.\n", out.Events, out.Position, out.Seconds)
	return err
}

// rebuildProgress says where a rebuild is: each second over the same line on a
// terminal, and in plain lines every few seconds elsewhere.
func (c console) rebuildProgress() func(projections.RebuildProgress) {
	terminal := isTerminal(c.err)
	var said time.Time
	return func(p projections.RebuildProgress) {
		if !terminal && p.Phase != "done" && time.Since(said) < plainEvery {
			return
		}
		said = time.Now()
		line := fmt.Sprintf("%s: %d of %d events, %.0f/s", doing(p.Phase), p.Position, max(p.Target, p.Position), p.Rate)
		if p.Phase == "fill" && p.Left > 0 {
			line += fmt.Sprintf(", about %s left", p.Left.Round(time.Second))
		}
		if !terminal {
			c.say("%s", line)
			return
		}
		end := "\r"
		if p.Phase == "done" {
			end = "\n"
		}
		fmt.Fprintf(c.err, "\r\x1b[K%s%s", line, end)
	}
}

// plainEvery is how often progress is said where nobody watches a line change.
const plainEvery = 5 * time.Second

// doing says a phase of a rebuild.
func doing(phase string) string {
	switch phase {
	case "index":
		return "making indexes"
	case "compare":
		return "comparing"
	case "swap":
		return "swapping"
	case "done":
		return "done"
	}
	return "reading"
}

// try takes a leader lock if nobody holds it; see projections.RebuildOptions.
func (l Locks) try(ctx context.Context, name string) (context.Context, func(), bool, error) {
	lease, ok, err := pg.NewLeader(l.Pool, l.Namespace, name).TryLock(ctx)
	if err != nil || !ok {
		return nil, nil, false, err
	}
	held, cancel := lease.Context(context.WithoutCancel(ctx))
	return held, func() {
		cancel()
		done, stop := context.WithTimeout(context.WithoutCancel(ctx), releaseBudget)
		defer stop()
		lease.Release(done)
	}, true, nil
}

// held tells whether somebody holds a leader lock.
func (l Locks) held(ctx context.Context, name string) (bool, error) {
	return pg.NewLeader(l.Pool, l.Namespace, name).Held(ctx)
}
