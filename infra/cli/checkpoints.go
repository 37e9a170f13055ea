package cli

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jedib0t/go-pretty/v6/table"

	"seckill/eventstore/pgstore"
	"seckill/infra/pg"
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
}

type checkpointLine struct {
	Projection string `json:"projection"`
	Version    int    `json:"version"`
	Shard      int    `json:"shard"`
	Position   int64  `json:"position"`
	Behind     int64  `json:"behind"`
	AppliedAt  string `json:"applied_at,omitempty"`
}

// Run tells where each projection stands.
func (k *checkpointsCmd) Run(c console) error {
	return c.withDatabase(func(ctx context.Context, pool *pgxpool.Pool) error {
		list, err := readCheckpoints(ctx, pool, c)
		if err != nil {
			return err
		}
		if k.JSON {
			return c.json(list)
		}
		t := newTable("projection", "shard", "position", "behind", "applied")
		numbers(t, 2, 3, 4)
		t.AppendRow(table.Row{"relay", "", list.Relay, list.Head - list.Relay, ""})
		for _, p := range list.Projections {
			t.AppendRow(table.Row{p.Projection, p.Shard, p.Position, p.Behind, p.AppliedAt})
		}
		t.AppendFooter(table.Row{"head of the log", "", list.Head})
		return c.print(t)
	})
}

func readCheckpoints(ctx context.Context, pool *pgxpool.Pool, c console) (checkpointList, error) {
	list := checkpointList{Projections: []checkpointLine{}}
	id, err := pg.LoadIdentity(ctx, pool)
	if err != nil {
		return list, err
	}
	store, err := pgstore.New(pool, c.settings.Namespace, pgstore.Options{Logger: warnings(c)})
	if err != nil {
		return list, err
	}
	defer store.Close(context.WithoutCancel(ctx)) // nothing was submitted
	progress := projections.Progress{
		DB: pool, Source: projections.Source{Store: int16(id.Store), Log: store}, Projections: projections.All(),
	}
	stats, err := progress.Stats(ctx)
	if err != nil {
		return list, err
	}
	list.Head, list.Relay = stats.Head.Number, stats.Relay.At.Number
	for _, s := range stats.Shards {
		line := checkpointLine{Projection: s.Projection, Version: s.Version, Shard: s.Shard, Position: s.At.Number, Behind: s.Behind}
		if !s.AppliedAt.IsZero() {
			line.AppliedAt = s.AppliedAt.Format(time.RFC3339Nano)
		}
		list.Projections = append(list.Projections, line)
	}
	return list, nil
}
