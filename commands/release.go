package commands

import (
	"context"
	"fmt"

	"github.com/google/uuid"

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
	a := added{sale: sale, sku: r.SKU, quantity: r.Quantity, actor: actor}
	receipt, err := o.Log.Submit(context.WithoutCancel(ctx), o.releaseWork(a, &done))
	if err != nil {
		return Released{}, fmt.Errorf("release %d of %s in sale %s: %w", r.Quantity, r.SKU, r.Sale, err)
	}
	if receipt.Outcome == eventstore.Conflict {
		return Released{}, &domain.Problem{Code: domain.CodeVersionConflict}
	}
	o.Env.step("operator.after-release")
	a.push(ctx, o.Env, o.Follow, receipt.Records)
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

// releaseWork adds the units, if the sale still stands as it was folded and the
// item's units, with those that its plan still brings, stay within what can be
// counted.
func (o *Operator) releaseWork(a added, done *Released) eventstore.Work {
	own := domain.SaleStream(a.sale.ID)
	return eventstore.Work{
		Needs: a.needs(),
		Decide: func(look eventstore.Look) (*eventstore.Group, error) {
			if look.Stream(own).Version != a.sale.Version {
				return nil, &domain.Problem{Code: domain.CodeVersionConflict}
			}
			group, after, err := a.group(o.Env, look)
			if err != nil {
				return nil, err
			}
			if after.Released+a.sale.LaterUnits(a.sku, look.Now()) > domain.MaxQuantity {
				return nil, domain.Invalid(domain.FieldError{Field: "quantity", Reason: fmt.Sprintf("would pass %d units of this item in all", domain.MaxQuantity)})
			}
			*done = after
			return group, nil
		},
	}
}

// added is units of an item that are put on sale, dealt over all buckets of its sale.
type added struct {
	sale     FoldedSale
	sku      string
	quantity int64
	tranche  int // of the item's plan, from 1; 0: of none
	actor    Actor
	// id gives the id of the event in a stock stream, where saying the same again is to
	// store nothing. Nil: each time is another one.
	id func(stream string) uuid.UUID
}

func (a added) streams() []string {
	streams := make([]string, max(a.sale.Terms.Buckets, 1))
	for b := range streams {
		streams[b] = domain.StockStream(a.sale.ID, a.sku, b)
	}
	return streams
}

func (a added) needs() eventstore.Needs {
	streams := a.streams()
	return eventstore.Needs{Streams: append([]string{domain.SaleStream(a.sale.ID)}, streams...), Guards: streams}
}

// group gives what is to be stored, and where the item stands then.
func (a added) group(env *Env, look eventstore.Look) (*eventstore.Group, Released, error) {
	streams := a.streams()
	after := Released{Released: a.quantity, Available: a.quantity}
	group := &eventstore.Group{}
	for b, quantity := range domain.SplitStock(a.quantity, len(streams)) {
		guard := look.Guard(streams[b])
		after.Released += guard.Released
		after.Available += guard.Left()
		if quantity == 0 {
			continue
		}
		ev, err := env.newEvent(&domain.StockReleased{SaleID: a.sale.ID, SKU: a.sku, Bucket: b, Quantity: quantity, Tranche: a.tranche, By: a.actor.By},
			a.sale.ID, "", Meta{TraceID: a.actor.TraceID, By: a.actor.By})
		if err != nil {
			return nil, after, err
		}
		if a.id != nil {
			ev.ID = a.id(streams[b])
		}
		guard.Stream, guard.Released = streams[b], guard.Released+quantity
		group.Guards = append(group.Guards, guard)
		group.Appends = append(group.Appends, eventstore.Append{Stream: streams[b], Expected: eventstore.AnyVersion, Events: []eventstore.NewEvent{ev}})
	}
	return group, after, nil
}

// push brings what was stored into the gate. What stays behind the lane keeper
// brings up.
func (a added) push(ctx context.Context, env *Env, follow *Follower, records []eventstore.Record) {
	into, cancel := context.WithTimeout(context.WithoutCancel(ctx), applyBudget)
	defer cancel()
	if err := follow.Push(into, records); err != nil {
		env.Log.Warn("units released; the gate gets them later", "sale_id", a.sale.ID, "error", err)
	}
}
