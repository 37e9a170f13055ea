package redisgate

import (
	"context"

	"seckill/commands"
	"seckill/domain"
)

// NewSale makes stubs of a sale that the gate does not hold: see
// commands.Preheater. Repeating it with the same token is harmless.
func (g *Gate) NewSale(ctx context.Context, place domain.Place, skus []string, epoch int64, token string) (commands.PreheatStart, error) {
	return g.startPreheat(ctx, g.hashCall(g.scripts.newSale, place, skus, []any{g.opt.ProcessToken, epoch, token}))
}

// ResetStock makes one stock hash a stub again: see commands.Preheater.
func (g *Gate) ResetStock(ctx context.Context, place domain.Place, sku string, epoch int64, token string) (commands.PreheatStart, error) {
	return g.startPreheat(ctx, g.hashCall(g.scripts.reset, place, []string{sku}, []any{g.opt.ProcessToken, epoch, token}))
}

func (g *Gate) startPreheat(ctx context.Context, c call) (commands.PreheatStart, error) {
	l, err := g.runList(ctx, c, 3)
	if err != nil {
		return commands.PreheatStart{}, err
	}
	return commands.PreheatStart{OK: number(l[0]) == 1, Epoch: number(l[1]), N: number(l[2])}, nil
}

// OpenPreheated opens the stubs of a preheat: see commands.Preheater.
func (g *Gate) OpenPreheated(ctx context.Context, place domain.Place, marks commands.HashMarks, epoch int64, token string) (bool, error) {
	args := append([]any{g.opt.ProcessToken, epoch, token}, markArgs(marks)...)
	return g.runFlag(ctx, g.hashCall(g.scripts.openPreheated, place, marks.SKUs, args))
}
