package commands

import (
	"context"
	"fmt"

	"seckill/domain"
)

// SaleFold folds a sale: *Sales.
type SaleFold interface {
	Fold(ctx context.Context, id string) (FoldedSale, error)
}

// SalesIn lists the sales that have a record at some positions.
type SalesIn interface {
	SalesIn(ctx context.Context, first, last int64) ([]string, error)
}

// StillNeededError says which sale keeps a part of the log from being detached.
type StillNeededError struct {
	Sale  string
	State domain.SaleState
}

func (e *StillNeededError) Error() string {
	return fmt.Sprintf("The sale %s has records there and is %s: a gate that loses its memory is built again from them, so that only what was cleaned up can be detached.", e.Sale, e.State)
}

// CheckArchivable gives a *StillNeededError when a record at these positions is of
// a sale that was not cleaned up: its gate, its views and its owners still ask for
// it. Of a sale whose first records went with an older part only the end is looked
// at.
func CheckArchivable(ctx context.Context, env *Env, log SalesIn, sales SaleFold, first, last int64) error {
	ids, err := log.SalesIn(ctx, first, last)
	if err != nil {
		return err
	}
	for _, id := range ids {
		sale, err := sales.Fold(ctx, id)
		if err != nil {
			return fmt.Errorf("look at sale %s: %w", id, err)
		}
		if !sale.Cleaned {
			return &StillNeededError{Sale: id, State: sale.StateAt(env.Now())}
		}
	}
	return nil
}
