package gatetest

import (
	"context"

	"seckill/commands"
	"seckill/domain"
)

func (o *both) Withdraw(ctx context.Context, w commands.Withdrawal) (commands.WithdrawVerdict, error) {
	a, err1 := o.a.Withdraw(ctx, w)
	b, err2 := o.b.Withdraw(ctx, w)
	return agree(o, "withdraw", a, b, [2]error{err1, err2})
}

func (o *both) Inspect(ctx context.Context, place domain.Place, skus []string) (commands.Inspection, error) {
	a, err1 := o.a.Inspect(ctx, place, skus)
	b, err2 := o.b.Inspect(ctx, place, skus)
	return agree(o, "inspect", a, b, [2]error{err1, err2})
}

func (o *both) Move(ctx context.Context, m commands.Move) (commands.WithdrawVerdict, error) {
	a, err1 := o.a.Move(ctx, m)
	b, err2 := o.b.Move(ctx, m)
	return agree(o, "move", a, b, [2]error{err1, err2})
}

func (o *both) Levels(ctx context.Context, places []domain.Place, skus []string) ([]commands.BucketLevel, error) {
	a, err1 := o.a.Levels(ctx, places, skus)
	b, err2 := o.b.Levels(ctx, places, skus)
	return agree(o, "levels", a, b, [2]error{err1, err2})
}
