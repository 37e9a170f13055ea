package commands

import (
	"context"
	"fmt"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// heldUp tells whether the node that acknowledged an order of a sale, whichever it
// is, may yet offer it to a gate that forgot it: the sale is paused and not over, or
// went on less than settleTime ago. Like settleTime it only delays: what is lost is
// decided by the gate's tombstone and the log.
func (f *Finder) heldUp(ctx context.Context, id string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, findBudget)
	defer cancel()
	sale := domain.Sale{ID: id}
	var resumed time.Time
	err := eachRecord(ctx, f.Log, domain.SaleStream(id), 0, func(r *eventstore.Record) error {
		ev, err := decode(r)
		if err != nil {
			return err
		}
		before := sale.Halted()
		if sale = sale.FoldSale(ev); before && !sale.Halted() {
			resumed = r.RecordedAt
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("look whether sale %s is paused: %w", id, err)
	}
	now := f.Env.Now()
	if sale.Over(now) || sale.Ended() {
		return false, nil
	}
	return sale.Halted() || now.Sub(resumed) < settleTime, nil
}
