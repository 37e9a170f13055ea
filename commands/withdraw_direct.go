package commands

import (
	"context"
	"errors"
	"fmt"

	"seckill/domain"
	"seckill/eventstore"
)

// withdrawDirect takes units of a sale without a gate off sale: one work of the log.
// Asking again under the same id takes nothing more.
func (o *Operator) withdrawDirect(ctx context.Context, w Withdrawal) (Released, error) {
	stream, own := domain.StockStream(w.Place.Sale, w.SKU, w.Place.Bucket), domain.SaleStream(w.Place.Sale)
	record := withdrawn{JournalWithdrawal: JournalWithdrawal{
		ID: w.ID, Sale: w.Place.Sale, Bucket: w.Place.Bucket, SKU: w.SKU, Quantity: w.Quantity, By: w.By, TraceID: w.TraceID,
	}}
	receipt, err := o.Log.Submit(ctx, eventstore.Work{
		Needs: eventstore.Needs{Streams: []string{stream, own}, Guards: []string{stream}},
		Decide: func(look eventstore.Look) (*eventstore.Group, error) {
			if look.Stream(own).Type == cleanedType() {
				return nil, &domain.Problem{Code: domain.CodeSaleEnded, Note: noteCleaned}
			}
			if look.Guard(stream).Left() < w.Quantity {
				return nil, nil
			}
			return record.decide(o.Env, look)
		},
	})
	if err == nil && receipt.Outcome == eventstore.Nothing { // fewer are left, unless it took them
		receipt.Records, err = o.withdrawnBefore(ctx, stream, w.ID)
		if err == nil && len(receipt.Records) == 0 {
			err = &domain.Problem{Code: domain.CodeBelowReserved}
		}
	}
	switch {
	case errors.As(err, new(*domain.Problem)):
		return Released{}, err
	case err != nil:
		return Released{}, fmt.Errorf("withdraw %d of %s in sale %s: %w", w.Quantity, w.SKU, w.Place.Sale, err)
	case receipt.Outcome == eventstore.Conflict || len(receipt.Records) == 0:
		return Released{}, &domain.Problem{Code: domain.CodeBusy}
	}
	ev, err := decode(&receipt.Records[0])
	if err != nil {
		return Released{}, err
	}
	if e, ok := ev.(*domain.StockWithdrawn); !ok || e.Quantity != w.Quantity {
		return Released{}, &domain.Problem{Code: domain.CodeIdempotencyMismatch}
	}
	return o.standing(ctx, &domain.Sale{ID: w.Place.Sale}, w.SKU) // of one bucket
}

// withdrawnBefore finds the withdrawal of an id in a stock stream, none where there is
// none.
func (o *Operator) withdrawnBefore(ctx context.Context, stream, id string) ([]eventstore.Record, error) {
	var after int64
	for {
		page, err := o.Log.Find(ctx, eventstore.Filter{Stream: stream, Type: (&domain.StockWithdrawn{}).EventType()}, after, streamPage)
		if err != nil {
			return nil, fmt.Errorf("look for withdrawal %s: %w", id, err)
		}
		for i := range page {
			ev, err := decode(&page[i])
			if err != nil {
				return nil, err
			}
			if ev.(*domain.StockWithdrawn).WithdrawID == id {
				return page[i : i+1], nil
			}
			after = page[i].Position
		}
		if len(page) < streamPage {
			return nil, nil
		}
	}
}
