package memgate

import (
	"context"
	"slices"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// RemoveSale takes a bucket of a sale away: see commands.Cleaner.
func (g *Gate) RemoveSale(_ context.Context, place domain.Place, skus []string) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.laneOf(place)
	removed := 0
	if s := l.sales[place]; s != nil {
		for sku := range s.fold.Judged().Prices {
			skus = append(slices.Clip(skus), sku)
		}
		delete(l.sales, place)
		removed++
	}
	for _, sku := range skus {
		if key := stockKey(place, sku); l.stocks[key] != nil {
			delete(l.stocks, key)
			removed++
		}
	}
	return removed, nil
}

// KeepSale does nothing: what this gate holds ends with its process.
func (g *Gate) KeepSale(context.Context, domain.Place, []string, time.Duration) error { return nil }

// CutJournal cuts a lane's journal: see commands.Cleaner.
func (g *Gate) CutJournal(_ context.Context, lane int, upTo domain.EntryID) (commands.JournalCut, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := &g.lanes[lane]
	at := slices.IndexFunc(l.journal, func(e commands.JournalEntry) bool {
		return e.ID.Epoch == upTo.Epoch && e.ID.N == upTo.N
	})
	if l.exists && at >= 0 {
		l.cut = commands.JournalCut{ID: l.journal[at].ID, Digest: l.journal[at].Digest}
		l.journal = slices.Clone(l.journal[at+1:])
	}
	return l.cut, nil
}
