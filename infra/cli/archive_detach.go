package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"seckill/commands"
	"seckill/eventstore/pgstore"
	"seckill/projections"
)

type archiveDetachCmd struct {
	First int64  `arg:"" help:"First position of the part."`
	Dir   string `placeholder:"DIR" help:"Where its file is, if it was moved."`
	Seals string `placeholder:"DIR" help:"Folder of exported seals and trusted keys. Default: that of the settings."`
}

// Run checks the file again, announces, waits and detaches.
func (d *archiveDetachCmd) Run(c console) error {
	return c.withArchives(d.Dir, d.Seals, func(ctx context.Context, a archives) error {
		parts, err := a.store.Partitions(ctx)
		if err != nil {
			return err
		}
		for _, p := range parts {
			if p.First == d.First {
				return d.detach(ctx, c, a, p)
			}
		}
		return usage("no part of the log begins at position %d: see `seckill archive list`", d.First)
	})
}

// detachPatience is longer than readers may remember that the log was whole.
const detachPatience = 5200 * time.Millisecond

func (d *archiveDetachCmd) detach(ctx context.Context, c console, a archives, p pgstore.Partition) error {
	if p.File != "" && p.Detached.IsZero() {
		if err := d.check(ctx, a, p); err != nil {
			return err
		}
	}
	if err := a.store.AnnounceDetach(ctx, p.First); err != nil {
		return err
	}
	c.say("Readers are being told that positions %d to %d go; %s more.", p.First, p.Last, detachPatience.Round(time.Second))
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(detachPatience):
	}
	name, err := a.store.Detach(ctx, p.First)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "Positions %d to %d are out of the log; they are in %s. The table %s.%s is kept until its owner drops it.\n", p.First, p.Last, p.File, c.settings.Namespace, name)
	return err
}

// checkRead is whether everything that follows the log has read the part: what
// has not could go on only by a rebuild from the archive.
func checkRead(ctx context.Context, read projections.Progress, p pgstore.Partition) error {
	stats, err := read.Stats(ctx)
	if err != nil {
		return err
	}
	followers := []projections.Checkpoint{stats.Relay}
	for _, s := range stats.Shards {
		followers = append(followers, s.Checkpoint)
	}
	for _, f := range followers {
		if !f.AppliedAt.IsZero() && f.At.Number < p.Last {
			return fmt.Errorf("%s has read the log up to position %d only, and the part ends at %d: let `seckill serve` run until `seckill checkpoints` tells that all have read it", f.Projection, f.At.Number, p.Last)
		}
	}
	return nil
}

// check is whether the file still is what was exported, under exported seals, and
// no sale needs the records any more.
func (d *archiveDetachCmd) check(ctx context.Context, a archives, p pgstore.Partition) error {
	w, err := openWitness(a.folder)
	if err != nil {
		return err
	}
	file := p.File
	if d.Dir != "" {
		file = filepath.Join(d.Dir, filepath.Base(file))
	}
	s, err := readBack(file, p.Digest)
	if err != nil {
		return err
	}
	if err := w.sealed(p, s.Seals); err != nil {
		return err
	}
	if err := checkRead(ctx, a.read, p); err != nil {
		return err
	}
	env := &commands.Env{Now: time.Now}
	if err := commands.CheckSwitches(ctx, a.store, p.First, p.Last); err != nil {
		return err
	}
	sales := commands.NewSales(a.store, time.Now, commands.SalesOptions{})
	return commands.CheckArchivable(ctx, env, a.store, sales, p.First, p.Last)
}
