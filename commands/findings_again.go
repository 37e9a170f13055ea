package commands

import (
	"context"
	"fmt"

	"seckill/domain"
)

// few gives as many suspects of a kind as are looked at again in one run, and reports
// that there were more.
func (r *reconciliation) few(suspects []string, what string) []string {
	most := r.opts.Suspects
	if len(suspects) <= most {
		return suspects
	}
	r.report.found(Finding{Kind: FindingMore, Detail: fmt.Sprintf("%d %s look wrong; %d of them were looked at again, and nothing is said of the other %d",
		len(suspects), what, most, len(suspects)-most)})
	return suspects[:most]
}

// placeOf is the bucket that an order was seen in.
func (r *reconciliation) placeOf(o *orderBook) domain.Place {
	return domain.Place{Store: r.Env.Store, Sale: r.sale.ID, Bucket: int(o.bucket)}
}

// recordedLook looks at the gate until everything in it is open and every purchase of
// that moment is recorded.
func (r *reconciliation) recordedLook(ctx context.Context, c cut, look func() (Peeked, error)) error {
	for deadline := r.Env.Now().Add(r.opts.Patience); ; pause(ctx, cutPause) {
		seen, err := look()
		if err != nil {
			return err
		}
		if seen.open() {
			if ok, err := r.awaitRecorded(ctx, c.place.Lane(), seen.Lane); err != nil || ok {
				return err
			}
		}
		if r.Env.Now().After(deadline) || ctx.Err() != nil {
			return ErrNoCut
		}
	}
}

// nameUses notes with the orders that the gate alone knows by which keys and tickets it
// does: they are recorded with them.
func (r *reconciliation) nameUses(ctx context.Context) error {
	for _, c := range r.books.cuts {
		var of []OrderOf
		for _, f := range r.report.Findings {
			if f.Kind == FindingStranded && f.about.place == c.place && f.about.record != nil {
				of = append(of, OrderOf{Order: f.OrderID})
			}
		}
		if len(of) == 0 {
			continue
		}
		uses, err := usesOf(ctx, r.Gate, c.place, of)
		if err != nil {
			return err
		}
		for i := range r.report.Findings {
			if f := &r.report.Findings[i]; f.about.record != nil && f.about.place == c.place {
				f.about.uses = uses[f.OrderID]
			}
		}
	}
	return nil
}
