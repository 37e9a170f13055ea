package projections

import (
	"context"

	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
	"seckill/infra/pg"
)

// change is what one transaction of a runner writes.
type change struct {
	rows  Rows            // nil when nothing was folded
	late  []letter        // events that are set aside
	newly bool            // late sets sequences aside that were not before
	last  eventstore.Mark // where the checkpoint goes
}

func (c *change) orders() []string {
	if rows, ok := c.rows.(orderRows); ok {
		return rows.changedOrders()
	}
	return nil
}

// commit writes c and moves the checkpoint in one transaction. Where the
// checkpoint does not stand as r knows it, it writes nothing and gives false.
func (r *Runner) commit(ctx context.Context, c change) (bool, error) {
	release, err := r.p.slot(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	want := standing{at: r.at, letters: r.letters}
	var found standing
	err = pg.InTx(ctx, r.p.db, func(tx pgx.Tx) error {
		if found, err = r.row.lock(ctx, tx); err != nil || found != want {
			return err
		}
		if err := r.row.apply(ctx, tx, c); err != nil {
			return err
		}
		r.p.options.Step(StepBeforeCommit)
		return nil
	})
	r.p.options.Step(StepAfterCommit)
	if err != nil || found != want {
		r.known = false
		return false, err
	}
	r.at = c.last
	return true, nil
}

// apply writes a change in a transaction that holds the checkpoint.
func (c checkpoint) apply(ctx context.Context, tx pgx.Tx, ch change) error {
	if ch.rows != nil {
		if err := ch.rows.Write(ctx, tx); err != nil {
			return err
		}
	}
	if err := c.put(ctx, tx, ch.late); err != nil {
		return err
	}
	if ch.newly {
		if err := c.countChange(ctx, tx); err != nil {
			return err
		}
	}
	return c.move(ctx, tx, ch.last)
}

// skip moves over a stretch in which this projection has nothing to write.
func (r *Runner) skip(ctx context.Context, b eventstore.Batch) (bool, error) {
	release, err := r.p.slot(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	ok, err := r.row.skip(ctx, r.p.db, standing{at: r.at, letters: r.letters}, b.Last)
	if err != nil || !ok {
		r.known = false
		return false, err
	}
	r.at = b.Last
	r.state.moved(r.at, 0)
	r.p.hub.committed(nil)
	return true, nil
}
