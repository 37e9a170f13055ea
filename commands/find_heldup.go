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
// went on, or ended, less than settleTime ago. Like settleTime it only delays: what is lost is
// decided by the gate's tombstone and the log.
func (f *Finder) heldUp(ctx context.Context, id string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, findBudget)
	defer cancel()
	sale := domain.Sale{ID: id}
	var changed time.Time
	err := eachRecord(ctx, f.Log, domain.SaleStream(id), 0, func(r *eventstore.Record) error {
		ev, err := decode(r)
		if err != nil {
			return err
		}
		halted, ended := sale.Halted(), sale.Ended()
		if sale = sale.FoldSale(ev); halted != sale.Halted() || ended != sale.Ended() {
			changed = r.RecordedAt
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("look whether sale %s is paused: %w", id, err)
	}
	now := f.Env.Now()
	lately := now.Sub(changed) < settleTime
	switch {
	case sale.Ended():
		return lately, nil
	case sale.Over(now):
		return lately || now.Sub(sale.Terms.ClosesAt) < settleTime, nil
	}
	return sale.Halted() || lately, nil
}
