package commands

import (
	"context"
	"maps"
	"slices"
	"time"

	"seckill/domain"
)

// noneLeft is a proof about a sale: with exactly these levels nothing was on its way
// between its buckets. As long as a later look finds every bucket so, nothing is: what
// leaves a bucket lowers its units, and what enters moves what it has applied.
type noneLeft struct {
	levels []BucketLevel
	lanes  []int // of levels
	// awaited is, by lane, what its journal held when levels were read, until the log has
	// recorded it.
	awaited map[int]int64
	proven  bool
}

// Bounds of waiting for the log in a look.
const (
	lookAwait = 30 * time.Millisecond
	lookPoll  = 3 * time.Millisecond
)

// noneLeft tells whether all units of the sale lie in its buckets as levels say, at one
// moment since levels began to be read: none is on its way. It holds where every
// bucket sells; the log has recorded what the journals held in a first look; each bucket
// has applied the head of its stock streams; and a look after that finds all units and
// what is applied unchanged. (The lanes' counts go on, by purchases in other sales:
// a purchase or move of this one would show in the units.) What takes longer than a
// moment goes on with the next look, if that finds the same.
func (l *Leveller) noneLeft(s *levelSale, sale *domain.Sale, levels []BucketLevel) bool {
	for _, level := range levels {
		if !level.Selling {
			s.none = nil
			return false
		}
	}
	if s.none == nil || !sameLevels(s.none.levels, levels) {
		s.none = newNoneLeft(Places(l.env.Store, *sale), levels)
	}
	if s.none.proven {
		return true
	}
	ctx, cancel := l.step()
	defer cancel()
	if !l.recorded(ctx, s.none) || !l.atHeads(ctx, sale, levels) {
		return false
	}
	again, err := l.gate.Levels(ctx, Places(l.env.Store, *sale), sale.SKUs())
	s.none.proven = err == nil && sameLevels(levels, again)
	return s.none.proven
}

func newNoneLeft(places []domain.Place, levels []BucketLevel) *noneLeft {
	n := &noneLeft{levels: levels, awaited: map[int]int64{}}
	for i, level := range levels {
		lane := places[i].Lane()
		n.lanes = append(n.lanes, lane)
		n.awaited[lane] = max(n.awaited[lane], level.N)
	}
	return n
}

// recorded waits a moment until the cursor of each lane has reached what is awaited, and
// tells whether it has. An epoch that moved shows in the levels.
func (l *Leveller) recorded(ctx context.Context, n *noneLeft) bool {
	ctx, cancel := context.WithTimeout(ctx, lookAwait)
	defer cancel()
	epochs := map[int]int64{}
	for i := range n.levels {
		epochs[n.lanes[i]] = n.levels[i].Epoch
	}
	for len(n.awaited) > 0 {
		lanes := slices.Sorted(maps.Keys(n.awaited))
		cursors, err := l.log.Cursors(ctx, lanes)
		if err != nil {
			return false
		}
		for i, lane := range lanes {
			if cursors[i].Epoch == epochs[lane] && cursors[i].N >= n.awaited[lane] {
				delete(n.awaited, lane)
			}
		}
		if len(n.awaited) == 0 {
			break
		}
		if ctx.Err() != nil {
			return false
		}
		pause(ctx, lookPoll)
	}
	return true
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
