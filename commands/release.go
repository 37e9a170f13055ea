package commands

import (
	"context"
	"fmt"

	"seckill/domain"
	"seckill/eventstore"
)

// Release asks to put Quantity units more of an item on sale.
type Release struct {
	Sale, SKU string
	Quantity  int64
}

// Released is where an item stands, over all buckets, after a release: what was
// ever put on sale, and what is left.
type Released struct{ Released, Available int64 }

// Release puts more units on sale: first in the log, then in the gate, where the
// next buyer finds them. A gate that is away gets them later. A sale that is over
// is a *domain.Problem with code sale_ended.
func (o *Operator) Release(ctx context.Context, r Release, actor Actor) (Released, error) {
	sale, err := o.Sales.Fold(ctx, r.Sale)
	if err != nil {
		return Released{}, err
	}
	if err := o.mayRelease(sale.Sale, r); err != nil {
		return Released{}, err
	}
	var done Released
	receipt, err := o.Log.Submit(context.WithoutCancel(ctx), o.releaseWork(sale, r, actor, &done))
	if err != nil {
		return Released{}, fmt.Errorf("release %d of %s in sale %s: %w", r.Quantity, r.SKU, r.Sale, err)
	}
	if receipt.Outcome == eventstore.Conflict {
		return Released{}, &domain.Problem{Code: domain.CodeVersionConflict}
	}
	o.Env.step("operator.after-release")
	into, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyBudget)
	defer cancel()
	if err := o.Follow.Push(into, receipt.Records); err != nil {
		o.Env.Log.Warn("units released; the gate gets them later", "sale_id", r.Sale, "error", err)
	}
	return done, nil
}

func (o *Operator) mayRelease(sale domain.Sale, r Release) error {
	wrong := func(reason string) error { return domain.Invalid(domain.FieldError{Field: "quantity", Reason: reason}) }
	_, known := sale.Item(r.SKU)
	switch {
	case !known:
		return &domain.Problem{Code: domain.CodeSKUNotFound}
	case r.Quantity < 0:
		return wrong("this version cannot withdraw")
	case r.Quantity == 0:
		return wrong("want at least 1")
	case r.Quantity > domain.MaxQuantity:
		return wrong(fmt.Sprintf("want at most %d", domain.MaxQuantity))
	case sale.Over(o.Env.Now()):
		return &domain.Problem{Code: domain.CodeSaleEnded}
	}
	return nil
}

// releaseWork adds to every bucket its share, if the sale still stands as it was
// folded and the item's units stay within what can be counted.
func (o *Operator) releaseWork(sale FoldedSale, r Release, actor Actor, done *Released) eventstore.Work {
	own := domain.SaleStream(sale.ID)
	streams := make([]string, max(sale.Terms.Buckets, 1))
	for b := range streams {
		streams[b] = domain.StockStream(sale.ID, r.SKU, b)
	}
	return eventstore.Work{
		Needs: eventstore.Needs{Streams: append([]string{own}, streams...), Guards: streams},
		Decide: func(look eventstore.Look) (*eventstore.Group, error) {
			if look.Stream(own).Version != sale.Version {
				return nil, &domain.Problem{Code: domain.CodeVersionConflict}
			}
			*done = Released{Released: r.Quantity, Available: r.Quantity}
			group := &eventstore.Group{}
			for b, quantity := range domain.SplitStock(r.Quantity, len(streams)) {
				guard := look.Guard(streams[b])
				done.Released += guard.Released
				done.Available += guard.Left()
				if quantity == 0 {
					continue
				}
				ev, err := o.Env.newEvent(&domain.StockReleased{SaleID: sale.ID, SKU: r.SKU, Bucket: b, Quantity: quantity, By: actor.By},
					sale.ID, "", Meta{TraceID: actor.TraceID, By: actor.By})
				if err != nil {
					return nil, err
				}
				guard.Stream, guard.Released = streams[b], guard.Released+quantity
				group.Guards = append(group.Guards, guard)
				group.Appends = append(group.Appends, eventstore.Append{Stream: streams[b], Expected: eventstore.AnyVersion, Events: []eventstore.NewEvent{ev}})
			}
			if done.Released > domain.MaxQuantity {
				return nil, domain.Invalid(domain.FieldError{Field: "quantity", Reason: fmt.Sprintf("would pass %d units of this item in all", domain.MaxQuantity)})
			}
			return group, nil
		},
	}
}
