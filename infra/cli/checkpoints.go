package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/projections"
)

type checkpointsCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// checkpointList is what the checkpoints command prints.
type checkpointList struct {
	Head        int64            `json:"head"`
	Relay       int64            `json:"relay"`
	Projections []checkpointLine `json:"projections"`
	Rebuilds    []rebuildLine    `json:"rebuilds"`
}

// checkpointLine is a shard. BehindSeconds is the age of the oldest event that
// it has not applied; Parked and Dropped count sequences that are set aside.
type checkpointLine struct {
	Projection    string  `json:"projection"`
	Version       int     `json:"version"`
	Shard         int     `json:"shard"`
	Position      int64   `json:"position"`
	Behind        int64   `json:"behind"`
	BehindSeconds float64 `json:"behind_seconds"`
	Parked        int     `json:"parked"`
	Dropped       int     `json:"dropped"`
	AppliedAt     string  `json:"applied_at,omitempty"`
}

// rebuildLine is a rebuild under way, whose lock is held, or one that died without
// a word: then it is not running.
type rebuildLine struct {
	Projection string `json:"projection"`
	Version    int    `json:"version"`
	Position   int64  `json:"position"`
	Target     int64  `json:"target"`
	StartedAt  string `json:"started_at"`
	Running    bool   `json:"running"`
}

// Run tells where each projection stands.
func (k *checkpointsCmd) Run(c console) error {
	return c.withReadSide(func(ctx context.Context, side readSide) error {
		d, err := side.progress().Details(ctx)
		if err != nil {
			return err
		}
		list := newCheckpointList(d, time.Now())
		for i := range list.Rebuilds {
			r := &list.Rebuilds[i]
			if r.Running, err = side.locks.held(ctx, projections.RebuildLock(r.Projection)); err != nil {
				return err
			}
		}
		if k.JSON {
			return c.json(list)
		}
		return c.printCheckpoints(list)
	})
}

func newCheckpointList(d projections.Details, now time.Time) checkpointList {
	list := checkpointList{Head: d.Head.Number, Relay: d.Relay.At.Number, Projections: []checkpointLine{}, Rebuilds: []rebuildLine{}}
	for _, s := range d.Lines {
		line := checkpointLine{
			Projection: s.Projection, Version: s.Version, Shard: s.Shard, Position: s.At.Number, Behind: s.Behind,
			BehindSeconds: since(now, s.Waiting).Seconds(), Parked: s.Parked, Dropped: s.Dropped,
		}
		if !s.AppliedAt.IsZero() {
			line.AppliedAt = s.AppliedAt.Format(time.RFC3339Nano)
		}
		list.Projections = append(list.Projections, line)
	}
	for _, r := range d.Rebuilds {
		list.Rebuilds = append(list.Rebuilds, rebuildLine{
			Projection: r.Projection, Version: r.Version, Position: r.Position, Target: r.Target,
			StartedAt: r.StartedAt.UTC().Format(time.RFC3339Nano),
		})
	}
	return list
}

func (c console) printCheckpoints(list checkpointList) error {
	t := newTable("projection", "version", "shard", "position", "behind", "seconds", "parked", "dropped", "applied")
	numbers(t, 2, 3, 4, 5, 6, 7, 8)
	t.AppendRow(table.Row{"relay", "", "", list.Relay, list.Head - list.Relay, "", "", "", ""})
	for _, p := range list.Projections {
		t.AppendRow(table.Row{p.Projection, p.Version, p.Shard, p.Position, p.Behind, fmt.Sprintf("%.1f", p.BehindSeconds), p.Parked, p.Dropped, p.AppliedAt})
	}
	t.AppendFooter(table.Row{"head of the log", "", "", list.Head})
	if err := c.print(t); err != nil {
		return err
	}
	for _, r := range list.Rebuilds {
		line := "%s version %d is being rebuilt: at position %d of %d, begun %s.\n"
		if !r.Running {
			line = "%s version %d: a rebuild that died at position %d of %d, begun %s; nothing has changed, start it again.\n"
		}
		if _, err := fmt.Fprintf(c.out, line, r.Projection, r.Version, r.Position, r.Target, r.StartedAt); err != nil {
			return err
		}
	}
	return nil
}
