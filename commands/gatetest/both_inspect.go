package gatetest

import (
	"context"

	"seckill/commands"
	"seckill/domain"
)

func (o *both) Inspect(ctx context.Context, place domain.Place, skus []string) (commands.Inspection, error) {
	a, err1 := o.a.Inspect(ctx, place, skus)
	b, err2 := o.b.Inspect(ctx, place, skus)
	return agree(o, "inspect", a, b, [2]error{err1, err2})
}
