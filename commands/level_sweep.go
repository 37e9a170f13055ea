package commands

import (
	"context"
	"time"

	"seckill/domain"
)

// Bounds of a sweep.
const (
	levelEvery = 100 * time.Millisecond
	levelSales = 16 // looked at in one sweep; with more, each has its turn
)

// LevelSales lists sales.
type LevelSales interface {
	List(ctx context.Context) ([]FoldedSale, error)
}

// Sweep levels the buckets of open sales until ctx ends, before anybody has to wait.
// One process does so; several are harmless.
func (l *Leveller) Sweep(ctx context.Context, sales LevelSales) error {
	for turn := 0; ctx.Err() == nil; turn++ {
		all, err := sales.List(ctx)
		if err != nil && ctx.Err() == nil {
			l.env.Log.Warn("buckets not levelled; tried again", "error", err)
		}
		var open []domain.Sale
		for i := range all {
			if s := &all[i]; s.Terms.Buckets > 1 && len(Places(l.env.Store, s.Sale)) > 1 && s.StateAt(l.env.Now()) == domain.SaleStateOpen {
				open = append(open, s.Sale)
			}
		}
		for i := range min(levelSales, len(open)) {
			l.wake(&open[(turn*levelSales+i)%len(open)], nil)
		}
		pause(ctx, levelEvery)
	}
	return nil
}
