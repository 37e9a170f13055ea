package commands

import (
	"context"

	"seckill/domain"
)

// Expire ends an order whose time to pay is over, as the sweeps do; any other
// stays as it is.
func (o *Orders) Expire(ctx context.Context, order string, actor Actor) error {
	ref, err := domain.ParseOrderID(order)
	if err != nil {
		return &domain.Problem{Code: domain.CodeOrderNotFound}
	}
	_, err = o.settle(ctx, change{ref: ref, actor: actor, decide: expiring})
	return err
}
