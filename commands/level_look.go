package commands

import (
	"context"
	"time"

	"seckill/domain"
)

// noneLeft is a proof about a sale: with exactly these levels nothing was on its way
// between its buckets. As long as a later look finds every bucket so, nothing is: what
// leaves a bucket lowers its units, and what enters moves what it has applied.
type noneLeft struct{ levels []BucketLevel }

// Bounds of waiting for the log in a look.
const (
	lookAwait = 60 * time.Millisecond
	lookPoll  = 3 * time.Millisecond
)

// noneLeft tells whether all units of the sale lie in its buckets as levels say, at one
// moment since levels began to be read: none is on its way. It holds where every
// bucket sells; the log has recorded what the journals held then; each bucket has
// applied the head of its stock streams; and a second look finds all units and what is
// applied unchanged. (The lanes' counts may go on, by purchases in other sales: a
// purchase or move of this one would show in the units.)
func (l *Leveller) noneLeft(s *levelSale, sale *domain.Sale, levels []BucketLevel) bool {
	for _, level := range levels {
		if !level.Selling {
			return false
		}
	}
	if s.none != nil && sameLevels(s.none.levels, levels) {
		return true
	}
	s.none = nil
	ctx, cancel := l.step()
	defer cancel()
	if !l.recorded(ctx, sale, levels) || !l.atHeads(ctx, sale, levels) {
		return false
	}
	again, err := l.gate.Levels(ctx, Places(l.env.Store, *sale), sale.SKUs())
	if err != nil || !sameLevels(levels, again) {
		return false
	}
	s.none = &noneLeft{levels}
	return true
}

// recorded waits a moment until the cursor of each lane has reached what its journal
// held.
func (l *Leveller) recorded(ctx context.Context, sale *domain.Sale, levels []BucketLevel) bool {
	ctx, cancel := context.WithTimeout(ctx, lookAwait)
	defer cancel()
	places := Places(l.env.Store, *sale)
	missing := map[int]BucketLevel{}
	for i, level := range levels {
		lane := places[i].Lane()
		if level.N > missing[lane].N || missing[lane].Epoch == 0 {
			missing[lane] = level
		}
	}
	for {
		lanes := make([]int, 0, len(missing))
		for lane := range missing {
			lanes = append(lanes, lane)
		}
		cursors, err := l.log.Cursors(ctx, lanes)
		if err != nil {
			return false
		}
		for i, lane := range lanes {
			switch want := missing[lane]; {
			case cursors[i].Epoch != want.Epoch:
				return false // it recovers, or is about to
			case cursors[i].N >= want.N:
				delete(missing, lane)
			}
		}
		if len(missing) == 0 {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		pause(ctx, lookPoll)
	}
}

// atHeads tells whether each bucket has applied the head of its stock streams, and
// brings up those that have not.
func (l *Leveller) atHeads(ctx context.Context, sale *domain.Sale, levels []BucketLevel) bool {
	skus := sale.SKUs()
	var streams []string
	for b := range levels {
		for _, sku := range skus {
			streams = append(streams, domain.StockStream(sale.ID, sku, b))
		}
	}
	states, err := l.log.States(ctx, streams)
	if err != nil {
		return false
	}
	good := true
	for i, state := range states {
		b, k := i/len(skus), i%len(skus)
		if at := levels[b].Stocks[k].Applied; at.Number != state.Version || (at.Number > 0 && at.Hash != state.Hash) {
			good = false
			l.catchUp(ctx, domain.Place{Store: l.env.Store, Sale: sale.ID, Bucket: b}, skus[k])
		}
	}
	return good
}

// sameLevels tells whether two looks found the same units under the same epochs.
func sameLevels(a, b []BucketLevel) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !b[i].Selling || a[i].Epoch != b[i].Epoch || len(a[i].Stocks) != len(b[i].Stocks) {
			return false
		}
		for j := range a[i].Stocks {
			if a[i].Stocks[j] != b[i].Stocks[j] {
				return false
			}
		}
	}
	return true
}
