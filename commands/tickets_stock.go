package commands

import (
	"context"
	"fmt"
	"sync"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// TicketGuards tells what was put on sale of each stock.
type TicketGuards interface {
	Guards(ctx context.Context, streams []string) ([]eventstore.Guard, error)
	movesLog
}

// releasedFresh is for how long what was released is not asked again: a crowd that
// finds no ticket left costs one question a second.
const releasedFresh = time.Second

// releases knows how many units were put on sale of sales whose tickets ran out.
type releases struct {
	mu     sync.Mutex
	bySale map[string]*shared[int64]
}

func (r *releases) of(sale string) *shared[int64] {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bySale == nil {
		r.bySale = map[string]*shared[int64]{}
	}
	if r.bySale[sale] == nil {
		r.bySale[sale] = &shared[int64]{}
	}
	return r.bySale[sale]
}

// most gives how many buyers may have tickets where units were released beyond the
// stock that the sale was scheduled with: each of them can be sold, too.
func (t *Tickets) most(ctx context.Context, sale domain.Sale) (int64, error) {
	units, err := t.released.of(sale.ID).get(ctx, t.Env.Now, releasedFresh, func(ctx context.Context) (int64, error) {
		var streams []string
		for _, sku := range sale.SKUs() {
			for bucket := range max(sale.Terms.Buckets, 1) {
				streams = append(streams, domain.StockStream(sale.ID, sku, bucket))
			}
		}
		guards, err := t.Guards.Guards(ctx, streams)
		if err != nil {
			return 0, fmt.Errorf("read what was released in sale %s: %w", sale.ID, err)
		}
		moved, err := movedInto(ctx, t.Guards, &sale)
		if err != nil {
			return 0, err
		}
		var units int64
		for _, into := range moved {
			units -= into
		}
		for _, g := range guards {
			units += g.Released
		}
		return units, nil
	})
	return max(sale.Terms.MostTickets(), int64(sale.Terms.Tokens)*units), err
}
