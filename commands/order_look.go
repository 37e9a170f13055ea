package commands

import (
	"context"

	"seckill/domain"
)

// Look gives an order whoever's it is, as the log has it, or as the gate has it
// while the log has not decided. Errors: *domain.Problem order_not_found;
// in_progress where nobody can say now.
func (o *Orders) Look(ctx context.Context, order string) (OrderAnswer, error) {
	ref, err := domain.ParseOrderID(order)
	if err != nil {
		return OrderAnswer{}, &domain.Problem{Code: domain.CodeOrderNotFound}
	}
	l, err := o.read(ctx, ref.ID)
	if err != nil || l.Version > 0 {
		return l.OrderAnswer, err
	}
	buyer, err := o.buyerOf(ctx, ref)
	if err != nil {
		return OrderAnswer{}, err
	}
	return o.Finder.Find(ctx, buyer, ref.ID)
}
