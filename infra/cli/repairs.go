package cli

import (
	"context"
	"errors"
	"fmt"

	"seckill/commands"
	"seckill/projections"
)

// newRepairer makes what mends findings in this process.
func (a *app) newRepairer() *commands.Repairer {
	read := ReadRepairs{DB: a.pool, Source: projections.Source{Store: int16(a.env.Store), Log: a.sink}, Locks: a.locks()}
	return &commands.Repairer{
		Reconciler: a.reconciler, Keeper: a.keeper, Follow: a.follower, Journal: a.gate, Locks: a.locks(),
		Rebuild: read.Rebuild, Retry: read.Retry,
		Expire: func(ctx context.Context, order string) error {
			return a.orders.Expire(ctx, order, commands.Actor{By: "repair"})
		},
		Resume: a.operator.Resume,
	}
}

// ReadRepairs mends the views as commands ask for it.
type ReadRepairs struct {
	DB     projections.DB
	Source projections.Source
	Locks  Locks
}

// Rebuild folds a view again from the log, while people read it.
func (r ReadRepairs) Rebuild(ctx context.Context, projection string) error {
	for _, p := range projections.All() {
		if p.Name != projection {
			continue
		}
		_, err := projections.Rebuild(ctx, r.DB, r.Source, []projections.Projection{p}, projections.RebuildOptions{Lead: r.Locks.try})
		return err
	}
	return fmt.Errorf("there is no projection %q", projection)
}

// Retry applies what a view has set aside of a sequence.
func (r ReadRepairs) Retry(ctx context.Context, projection, sequence string) error {
	letters := projections.DeadLetters{DB: r.DB, Source: r.Source, Projections: projections.All()}
	found, err := letters.List(ctx, projection, sequence)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range found {
		if s.State == projections.StateParked {
			_, err := letters.Retry(ctx, s)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
