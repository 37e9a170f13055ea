package commands

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/eventstore"
)

// Release asks to put Quantity units more of an item on sale, or, below 0, to take so
// many off sale.
type Release struct {
	Sale, SKU string
	Quantity  int64
	// Key is the idempotency key: the same again under the same key changes nothing
	// more, and another quantity under it, on either side of 0, is idempotency_mismatch.
	// "" for none.
	Key string
}

// Released is where an item stands, over all buckets, after a release: what was
// ever put on sale, withdrawals not taken off, and what is left.
type Released struct{ Released, Available int64 }

// Release puts more units on sale: first in the log, then in the gate, where the
// next buyer finds them. A gate that is away gets them later. Units that are taken off
// sale leave the gate first: see withdraw. A sale that is over is a *domain.Problem
// with code sale_ended, but what its log has under the key of r is answered. Of requests
// under one key, of whichever process, one is worked on at a time: the next one finds
// what the first did, or the problem is busy.
func (o *Operator) Release(ctx context.Context, r Release, actor Actor) (Released, error) {
	free, err := o.takeTurn(ctx, r)
	if err != nil {
		return Released{}, err
	}
	defer free()
	sale, err := o.Sales.Fold(ctx, r.Sale)
	if err != nil {
		return Released{}, err
	}
	if err := o.mayRelease(sale.Sale, r); err != nil {
		return Released{}, err
	}
	if sale.Cleaned { // what its log said of keys may be archived
		return Released{}, &domain.Problem{Code: domain.CodeSaleEnded}
	}
	before, err := o.became(ctx, sale.Sale, r)
	switch {
	case err != nil:
		return Released{}, err
	case before.quantity != 0 && before.quantity != r.Quantity:
		return Released{}, &domain.Problem{Code: domain.CodeIdempotencyMismatch}
	case !sale.Over(o.Env.Now()):
	case before.quantity != 0:
		return o.afterEnd(ctx, sale, r, before)
	default:
		return Released{}, &domain.Problem{Code: domain.CodeSaleEnded}
	}
	if r.Quantity < 0 {
		return o.withdraw(ctx, sale, r, actor)
	}
	return o.add(ctx, sale, r, actor)
}

// add puts units on sale, in the log and then in the gate.
func (o *Operator) add(ctx context.Context, sale FoldedSale, r Release, actor Actor) (Released, error) {
	var done Released
	moved, err := movedInto(ctx, o.Log, &sale.Sale)
	if err != nil {
		return Released{}, err
	}
	a := added{sale: sale, sku: r.SKU, quantity: r.Quantity, actor: actor, moved: moved[r.SKU]}
	if r.Key != "" {
		a.id = func(stream string) uuid.UUID { return releaseID(stream, r.name()) }
	}
	receipt, err := o.Log.Submit(context.WithoutCancel(ctx), o.releaseWork(a, &done))
	if err != nil {
		return Released{}, fmt.Errorf("release %d of %s in sale %s: %w", r.Quantity, r.SKU, r.Sale, err)
	}
	if receipt.Outcome == eventstore.Conflict {
		return Released{}, &domain.Problem{Code: domain.CodeVersionConflict}
	}
	o.Env.step("operator.after-release")
	a.push(ctx, o.Env, o.Follow, receipt.Records)
	if receipt.Outcome == eventstore.AlreadyThere {
		return o.releasedBefore(ctx, a, receipt.Records)
	}
	if several(&sale.Sale) { // units moved meanwhile
		if now, err := o.standing(ctx, &sale.Sale, r.SKU); err == nil {
			return now, nil
		}
	}
	return done, nil
}

// name gives the name of the key, fit for ids.
func (r Release) name() string {
	sum := sha256.Sum256([]byte(r.Sale + "\n" + r.SKU + "\n" + r.Key))
	return hex.EncodeToString(sum[:16])
}

// releasedBefore answers a release that was asked for before under its key.
func (o *Operator) releasedBefore(ctx context.Context, a added, records []eventstore.Record) (Released, error) {
	var units int64
	for i := range records {
		ev, err := decode(&records[i])
		if err != nil {
			return Released{}, err
		}
		if e, ok := ev.(*domain.StockReleased); ok {
			units += e.Quantity
		}
	}
	if units != a.quantity {
		return Released{}, &domain.Problem{Code: domain.CodeIdempotencyMismatch}
	}
	return o.standing(ctx, &a.sale.Sale, a.sku)
}

// standing gives where an item stands by the log's own account. Between buckets that
// are levelled meanwhile it is read again: the accounts count what moved into a bucket
// as released.
func (o *Operator) standing(ctx context.Context, sale *domain.Sale, sku string) (now Released, err error) {
	streams := added{sale: FoldedSale{Sale: *sale}, sku: sku}.streams()
	before, err := movedInto(ctx, o.Log, sale)
	for range changeTries {
		if err != nil {
			return Released{}, err
		}
		guards, err := o.Log.Guards(ctx, streams)
		if err != nil {
			return Released{}, fmt.Errorf("read the account of %s: %w", streams[0], err)
		}
		now = Released{Released: -before[sku]}
		for _, g := range guards {
			now.Released += g.Released
			now.Available += g.Left()
		}
		after, err := movedInto(ctx, o.Log, sale)
		if err != nil {
			return Released{}, err
		}
		if after[sku] == before[sku] {
			return now, nil
		}
		now.Released -= after[sku] - before[sku] // the nearest that can be told of what goes on
		before = after
	}
	return now, nil
}

func (o *Operator) mayRelease(sale domain.Sale, r Release) error {
	wrong := func(reason string) error { return domain.Invalid(domain.FieldError{Field: "quantity", Reason: reason}) }
	_, known := sale.Item(r.SKU)
	switch {
	case !known:
		return &domain.Problem{Code: domain.CodeSKUNotFound}
	case r.Quantity == 0:
		return wrong("want at least 1, or at most -1")
	case r.Quantity > domain.MaxQuantity:
		return wrong(fmt.Sprintf("want at most %d", domain.MaxQuantity))
	case r.Quantity < -domain.MaxQuantity:
		return wrong(fmt.Sprintf("want at least -%d", domain.MaxQuantity))
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
	// moved is what moves brought into its buckets, which their accounts count as
	// released.
	moved int64
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
	after := Released{Released: a.quantity - a.moved, Available: a.quantity}
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
