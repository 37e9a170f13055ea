package redisgate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"seckill/commands"
	"seckill/domain"
)

// levelCalls bounds the script calls that one look has under way at once.
const levelCalls = 8

// Levels looks at many buckets, one script call a lane: see commands.Levels.
func (g *Gate) Levels(ctx context.Context, places []domain.Place, skus []string) ([]commands.BucketLevel, error) {
	byLane := map[int][]int{} // places of a lane, by their numbers
	for i, place := range places {
		byLane[place.Lane()] = append(byLane[place.Lane()], i)
	}
	lanes := slices.Collect(maps.Keys(byLane))
	levels, faults := make([]commands.BucketLevel, len(places)), make([]error, len(lanes))
	free := make(chan struct{}, levelCalls)
	var calls sync.WaitGroup
	for i, lane := range lanes {
		free <- struct{}{}
		calls.Go(func() {
			defer func() { <-free }()
			faults[i] = g.levelsOf(ctx, lane, byLane[lane], places, skus, levels)
		})
	}
	calls.Wait()
	return levels, notHappened(errors.Join(faults...))
}

// levelsOf looks at the places of one lane, those of the numbers given.
func (g *Gate) levelsOf(ctx context.Context, lane int, which []int, places []domain.Place, skus []string, levels []commands.BucketLevel) error {
	keys := []string{g.keys.lane(lane)}
	for _, i := range which {
		keys = append(append(keys, g.keys.sale(places[i])), g.keys.stocks(places[i], skus)...)
	}
	seen, err := g.runList(ctx, call{sale: true, script: g.scripts.levels, batch: len(which), keys: keys, args: []any{g.opt.ProcessToken, len(skus)}}, 2+len(which))
	if err != nil {
		return err
	}
	for at, i := range which {
		row := list(seen[2+at])
		if len(row) == 0 && len(skus) > 0 {
			continue
		}
		if len(row) != 2*len(skus) {
			return fmt.Errorf("read the answer of script levels: got %d values for %d items", len(row), len(skus))
		}
		b := commands.BucketLevel{Selling: true, Epoch: number(seen[0]), N: number(seen[1]), Stocks: make([]commands.StockLevel, len(skus))}
		for j := range skus {
			b.Stocks[j] = commands.StockLevel{Applied: mark(text(row[2*j])), Available: number(row[2*j+1])}
		}
		levels[i] = b
	}
	return nil
}
