package commands

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/eventstore"
)

// became is what the log has under an idempotency key of releases. The zero value:
// nothing.
type became struct {
	quantity int64 // as it was asked for: below 0 for units taken off sale
	refused  bool  // the log had not the units: they are on sale again
}

// became finds out what became of a release or withdrawal under its key, whichever of
// the two it was. What only a journal has yet is not found.
func (o *Operator) became(ctx context.Context, sale domain.Sale, r Release) (b became, err error) {
	if r.Key == "" {
		return b, nil
	}
	for _, stream := range (added{sale: FoldedSale{Sale: sale}, sku: r.SKU}).streams() {
		for _, kind := range []domain.Event{&domain.StockReleased{}, &domain.StockWithdrawn{}, &domain.StockRefused{}} {
			if err := o.findKey(ctx, eventstore.Filter{Stream: stream, Type: kind.EventType()}, r, &b); err != nil {
				return became{}, fmt.Errorf("look for a release of %s in sale %s: %w", r.SKU, sale.ID, err)
			}
		}
	}
	return b, nil
}

// findKey adds what one kind of event in one stream tells of a key.
func (o *Operator) findKey(ctx context.Context, f eventstore.Filter, r Release, b *became) error {
	ids := []uuid.UUID{releaseID(f.Stream, r.name()), withdrawalID(f.Stream, r.name())}
	for after := int64(0); ; {
		records, err := o.Log.Find(ctx, f, after, followPage)
		if err != nil {
			return err
		}
		for i := range records {
			after = records[i].Position
			if records[i].ID != ids[0] && records[i].ID != ids[1] {
				continue
			}
			ev, err := decode(&records[i])
			if err != nil {
				return err
			}
			switch e := ev.(type) {
			case *domain.StockReleased:
				b.quantity += e.Quantity
			case *domain.StockWithdrawn:
				b.quantity -= e.Quantity
			case *domain.StockRefused:
				b.quantity, b.refused = b.quantity-e.Quantity, true
			}
		}
		if len(records) < followPage {
			return nil
		}
	}
}

// releaseID is the id of the event that puts units on sale under a key.
func releaseID(stream, name string) uuid.UUID {
	return uuid.NewSHA1(trancheSpace, []byte(stream+"/release/"+name))
}

// takeTurn waits until nobody else works on a release under the key of r: no longer than a
// withdrawal takes. It keeps answers apart, and is no fence: whoever overtakes a process
// that lost the lock meets the same ids in gate and log.
func (o *Operator) takeTurn(ctx context.Context, r Release) (free func(), err error) {
	if r.Key == "" || o.Turns == nil {
		return func() {}, nil
	}
	wait, cancel := context.WithTimeout(ctx, withdrawBudget)
	defer cancel()
	_, free, err = o.Turns.Lock(wait, "release "+r.name())
	if err != nil {
		o.Env.Log.Warn("release not begun: its key is taken, or PostgreSQL does not say", "sale_id", r.Sale, "error", err)
		return nil, &domain.Problem{Code: domain.CodeBusy}
	}
	return free, nil
}

// afterEnd answers a release that was asked for again once its sale is over.
func (o *Operator) afterEnd(ctx context.Context, sale FoldedSale, r Release, b became) (Released, error) {
	if b.refused {
		return Released{}, &domain.Problem{Code: domain.CodeBelowReserved}
	}
	return o.standing(ctx, &sale.Sale, r.SKU)
}
