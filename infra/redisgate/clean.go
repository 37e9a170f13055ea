package redisgate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/commands"
	"seckill/domain"
)

// RemoveSale takes a bucket of a sale away: see commands.Cleaner.
func (g *Gate) RemoveSale(ctx context.Context, place domain.Place, skus []string) (int, error) {
	known, err := g.knownItems(ctx, place)
	if err != nil {
		return 0, err
	}
	all := slices.Clone(skus)
	for _, sku := range known {
		if !slices.Contains(all, sku) {
			all = append(all, sku)
		}
	}
	keys := append([]string{g.keys.sale(place)}, g.keys.stocks(place, all)...)
	reply, _, err := g.run(ctx, call{script: g.scripts.removeSale, batch: 1, keys: keys})
	if err != nil {
		return 0, err
	}
	return int(number(reply)), nil
}

// knownItems gives the items that a sale's record has prices of.
func (g *Gate) knownItems(ctx context.Context, place domain.Place) ([]string, error) {
	text, err := g.at(place.Lane()).rest.HGet(ctx, g.keys.sale(place), "terms").Result()
	if errors.Is(err, redis.Nil) {
		return nil, nil
	}
	if err != nil {
		return nil, nothing(fmt.Errorf("read what sale %s sells: %w", place.Sale, err))
	}
	var terms domain.Terms
	if err := json.Unmarshal([]byte(text), &terms); err != nil {
		return nil, nothing(fmt.Errorf("read what sale %s sells: %w", place.Sale, err))
	}
	skus := make([]string, 0, len(terms.Prices))
	for sku := range terms.Prices {
		skus = append(skus, sku)
	}
	return skus, nil
}

// KeepSale sets after what time a bucket of a sale is forgotten: see commands.Cleaner.
func (g *Gate) KeepSale(ctx context.Context, place domain.Place, skus []string, keep time.Duration) error {
	keys := append([]string{g.keys.sale(place)}, g.keys.stocks(place, skus)...)
	_, err := g.runFlag(ctx, call{script: g.scripts.keepSale, batch: 1, keys: keys, args: []any{keep.Milliseconds()}})
	return err
}

// CutJournal cuts a lane's journal: see commands.Cleaner.
func (g *Gate) CutJournal(ctx context.Context, lane int, upTo domain.EntryID) (commands.JournalCut, error) {
	l, err := g.runList(ctx, call{
		script: g.scripts.cutJournal, batch: 1, keys: []string{g.keys.lane(lane), g.keys.journal(lane)},
		args: []any{g.opt.ProcessToken, streamID(upTo.Epoch, upTo.N), streamID(upTo.Epoch, upTo.N+1)},
	}, 2)
	if err != nil {
		return commands.JournalCut{}, err
	}
	return commands.JournalCut{ID: entryID(l[0]), Digest: text(l[1])}, nil
}
