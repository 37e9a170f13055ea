package commands

import (
	"context"
	"fmt"

	"seckill/domain"
)

// RebuildWish is what a repair adds to building a stock hash again. Both are
// called under the lane's lock.
type RebuildWish struct {
	// Still tells whether the hash is still wrong; otherwise nothing is done.
	Still func(ctx context.Context) (bool, error)
	// Note records the repair. The item sells nothing at that moment, and everything
	// that was sold of it is recorded.
	Note func(ctx context.Context) error
}

// RebuildStock builds a stock hash again from the log, from version 0, in a lane
// that sells: purchases of this item are not_ready for as long as that takes, and
// nothing else is touched. False where it was not needed any more.
func (k *Keeper) RebuildStock(ctx context.Context, place domain.Place, sku string, w RebuildWish) (done bool, err error) {
	err = k.locked(ctx, place.Lane(), func(ctx context.Context) error {
		wrong, err := w.Still(ctx)
		if err != nil || !wrong {
			return err
		}
		done = true
		return k.buildStock(ctx, saleBucket{place, []string{sku}}, sku, w.Note)
	})
	if err != nil {
		return false, fmt.Errorf("build %s of sale %s again: %w", sku, place.Sale, err)
	}
	return done, nil
}

// RecoverLane recovers a lane whether it looks well or not, and so records
// everything that its journal holds.
func (k *Keeper) RecoverLane(ctx context.Context, lane int) error {
	return k.locked(ctx, lane, func(ctx context.Context) error { return k.forceRecovery(ctx, lane) })
}

// RestartSale recovers the lane of a bucket in which the sale's record and all its
// stock hashes start again from version 0: everything in them that neither the log
// nor the journal tells of is gone. Purchases are not_ready for as long as that
// takes.
func (k *Keeper) RestartSale(ctx context.Context, place domain.Place) error {
	return k.locked(ctx, place.Lane(), func(ctx context.Context) error {
		seen, err := k.gate.Lane(ctx, place.Lane())
		if err != nil {
			return fmt.Errorf("look at lane %d: %w", place.Lane(), err)
		}
		_, err = k.recoverNow(ctx, place.Lane(), seen, recoveryWish{fresh: func(sale string) bool { return sale == place.Sale }})
		return err
	})
}
