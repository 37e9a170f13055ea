package commands

import (
	"context"
	"errors"
	"slices"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// readStock adds up the item that was asked for, or every item where that is not known,
// over the buckets of the sale.
func (e *explanation) readStock(ctx context.Context) error {
	var asked []string
	for _, item := range e.sale.Terms.Items {
		if e.Item == 0 || domain.ItemHash(item.SKU) == e.Item {
			asked = append(asked, item.SKU)
		}
	}
	if e.Item != 0 && len(asked) == 1 {
		e.report.SKU = asked[0]
	}
	for _, sku := range asked {
		sum := ReceiptStock{SKU: sku}
		for bucket := range e.report.Then.Buckets {
			if err := e.addStock(ctx, &sum, sku, bucket); err != nil {
				return err
			}
		}
		sum.Left = sum.Released - sum.Taken + sum.GivenBack
		e.report.Then.Stock = append(e.report.Then.Stock, sum)
	}
	return nil
}

// addStock adds one stock stream, up to the moment.
func (e *explanation) addStock(ctx context.Context, sum *ReceiptStock, sku string, bucket int) error {
	end := e.At.Add(e.doubtOf())
	exact := e.Epoch > 0 && bucket == e.Bucket // the journal says what was accepted before
	err := eachRecord(ctx, e.teller.Log, domain.StockStream(e.Sale, sku, bucket), 0, func(r *eventstore.Record) error {
		if r.RecordedAt.After(end.Add(recordedLate)) {
			return errPastEnd
		}
		ev, err := decode(r)
		if err != nil {
			return err
		}
		in, out, back, entry := unitsOfStock(ev)
		if !r.RecordedAt.After(end) {
			sum.Released += in
			sum.GivenBack += back
			if r.RecordedAt.After(e.At.Add(-landingFor - e.doubtOf())) {
				sum.Unsure += in + back
			}
		} else if back > 0 && entry != "" && !exact {
			out = 0 // an order that was not kept, about then
		}
		switch before, known := e.before(entry); {
		case exact && known:
			if before {
				sum.Taken += out
			}
		case !r.RecordedAt.After(end):
			sum.Taken += out
		default: // recorded soon after: accepted before, or after
			sum.Unsure += out
		}
		return nil
	})
	if errors.Is(err, errPastEnd) {
		err = nil
	}
	return err
}

// recordedLate is for how long after a moment purchases are looked for that were
// accepted before it: recording may have been behind.
const recordedLate = 5 * time.Minute

// before tells whether an entry of the journal was written before the receipt; known is
// false for what is no entry.
func (e *explanation) before(entry string) (before, known bool) {
	id, err := domain.ParseEntryID(entry)
	if err != nil || entry == "" {
		return false, false
	}
	return id.Epoch < e.Epoch || id.Epoch == e.Epoch && id.N < e.Next, true
}

// unitsOfStock gives the units that an event of a stock stream puts on sale, takes, and
// gives back, and the entry by which the gate took them.
func unitsOfStock(ev domain.Event) (in, out, back int64, entry string) {
	switch ev := ev.(type) {
	case *domain.StockReleased:
		return ev.Quantity, 0, 0, ""
	case *domain.StockMovedIn:
		return ev.Quantity, 0, 0, ""
	case *domain.StockReserved:
		return 0, ev.Quantity, 0, ev.Entry
	case *domain.StockWithdrawn:
		return 0, ev.Quantity, 0, ev.Entry
	case *domain.StockMovedOut:
		return 0, ev.Quantity, 0, ev.Entry
	case *domain.StockReturned:
		return 0, 0, ev.Quantity, ""
	case *domain.StockRefused:
		if ev.Entry == "" { // nothing was taken for it
			return 0, 0, 0, ""
		}
		return 0, ev.Quantity, ev.Quantity, ev.Entry
	}
	return 0, 0, 0, ""
}

// readOrders folds the buyer's orders as they were.
func (e *explanation) readOrders(ctx context.Context) error {
	var story Story
	ids, err := e.teller.ofBuyer(ctx, StoryAsk{ID: e.buyer, Sale: e.Sale, Limit: storyMost}, &story)
	if err != nil {
		return err
	}
	for _, note := range story.Unasked {
		e.say("Rejected orders of the buyer may be missing: %s.", note)
	}
	for _, id := range slices.Backward(ids) {
		var order domain.Order
		var then ReceiptOrder
		err := eachRecord(ctx, e.teller.Log, domain.OrderStream(id), 0, func(r *eventstore.Record) error {
			ev, err := decode(r)
			if err != nil {
				return err
			}
			if r.Version > 1 && r.RecordedAt.After(e.At) {
				return errPastEnd
			}
			order = order.FoldOrder(ev)
			then = ReceiptOrder{OrderID: id, Status: string(order.Status), Units: unitsOfOrder(order), AcceptedAt: order.AcceptedAt}
			if then.AcceptedAt.IsZero() {
				then.AcceptedAt = r.RecordedAt
			}
			return nil
		})
		if err != nil && !errors.Is(err, errPastEnd) {
			return err
		}
		if then.OrderID != "" && !then.AcceptedAt.After(e.At) {
			e.report.Then.Orders = append(e.report.Then.Orders, then)
		}
	}
	return nil
}

func unitsOfOrder(o domain.Order) (units int64) {
	for _, l := range o.Lines {
		units += l.Quantity
	}
	return units
}
