package commands

import (
	"context"
	"time"

	"seckill/domain"
)

// several tells whether a sale is dealt over more than one bucket, so that its home
// bucket alone cannot say that it is sold out.
func several(sale *domain.Sale) bool { return sale.Terms.Buckets > 1 }

// bringing is the wait of one purchase for units of other buckets. Its zero value has
// not begun.
type bringing struct{ until time.Time }

// bring waits until the home bucket has units again. The time for it begins with the
// first call.
func (b *bringing) bring(ctx context.Context, p *Purchaser, sale *domain.Sale, r *Reservation) Brought {
	if p.opts.Buckets == nil {
		return UnitsAway
	}
	if b.until.IsZero() {
		b.until = time.Now().Add(p.opts.BringBudget)
	}
	ctx, cancel := context.WithDeadline(ctx, b.until)
	defer cancel()
	return p.opts.Buckets.Bring(ctx, sale, r.Place.Bucket, r.Lines)
}
