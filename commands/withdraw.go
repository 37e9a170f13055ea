package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// Bounds of a withdrawal: of all of it, and between two looks whether it is recorded.
const (
	withdrawBudget = 5 * time.Second
	withdrawPause  = 10 * time.Millisecond
)

// withdraw takes units off sale: the gate takes them out and writes so into its
// journal, in one step, and what the recorder makes of it is waited for. Fewer units
// left are below_reserved. Where it cannot be found out in time what became of it,
// the problem is busy: the same again under the same key finds it out and takes
// nothing more. All units of a withdrawal leave one bucket, the first: where that has too
// few, those of others are brought to it before.
func (o *Operator) withdraw(ctx context.Context, sale FoldedSale, r Release, actor Actor) (Released, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawBudget)
	defer cancel()
	w := Withdrawal{ID: r.name(), Place: domain.Place{Store: o.Env.Store, Sale: sale.ID, Direct: sale.Gateless()}, SKU: r.SKU, Quantity: -r.Quantity, By: actor.By, TraceID: actor.TraceID}
	if r.Key == "" {
		w.ID = o.Env.NewID().String()
	}
	if w.Place.Direct {
		return o.withdrawDirect(ctx, w)
	}
	for {
		v, err := o.Gate.Withdraw(ctx, w)
		switch {
		case err != nil && IsUnknown(err) && ctx.Err() == nil: // asking again takes nothing more
			pause(ctx, withdrawPause)
			continue
		case err != nil:
			return Released{}, fmt.Errorf("withdraw %d of %s in sale %s: %w", w.Quantity, w.SKU, sale.ID, err)
		case v.Outcome == WithdrawNotReady:
			return Released{}, &domain.Problem{Code: domain.CodeNotReady}
		case v.Outcome == WithdrawShort && several(&sale.Sale):
			if err := o.gather(ctx, &sale.Sale, w); err != nil {
				return Released{}, err
			}
			continue
		case v.Outcome != WithdrawTaken:
			return Released{}, &domain.Problem{Code: domain.CodeBelowReserved}
		case v.Quantity != w.Quantity:
			return Released{}, &domain.Problem{Code: domain.CodeIdempotencyMismatch}
		}
		o.Env.step("operator.after-withdrawal")
		done, recorded, err := o.withdrawn(ctx, &sale.Sale, w, v)
		if err != nil || recorded {
			return done, err
		}
		// The lane was built again meanwhile: what it knows of the withdrawal is asked.
	}
}

// gather brings units of other buckets to that of a withdrawal. Fewer in all, by the
// log's account or a look at all buckets, are below_reserved.
func (o *Operator) gather(ctx context.Context, sale *domain.Sale, w Withdrawal) error {
	busy := &domain.Problem{Code: domain.CodeBusy}
	now, err := o.standing(ctx, sale, w.SKU)
	switch {
	case ctx.Err() != nil || errors.Is(err, eventstore.ErrUnavailable) || o.Buckets == nil:
		return busy
	case err != nil:
		return err
	case now.Available < w.Quantity:
		return &domain.Problem{Code: domain.CodeBelowReserved}
	}
	switch o.Buckets.Bring(ctx, sale, w.Place.Bucket, []domain.Line{{SKU: w.SKU, Quantity: w.Quantity}}) {
	case UnitsNone:
		return &domain.Problem{Code: domain.CodeBelowReserved}
	case UnitsAway:
		return busy
	}
	return nil
}

// withdrawn waits until the log has what the gate had written, and answers by both.
// recorded is false where the lane's epoch ended before.
func (o *Operator) withdrawn(ctx context.Context, sale *domain.Sale, w Withdrawal, v WithdrawVerdict) (done Released, recorded bool, err error) {
	for {
		cursors, err := o.Log.Cursors(ctx, []int{w.Place.Lane()})
		switch {
		case ctx.Err() != nil || errors.Is(err, eventstore.ErrUnavailable):
			return done, false, &domain.Problem{Code: domain.CodeBusy}
		case err != nil:
			return done, false, fmt.Errorf("read the cursor of lane %d: %w", w.Place.Lane(), err)
		case cursors[0].Epoch > v.Epoch:
			return done, false, nil
		case cursors[0].Epoch == v.Epoch && cursors[0].N >= v.N:
			return o.settleWithdrawal(ctx, sale, w)
		}
		pause(ctx, withdrawPause)
	}
}

// settleWithdrawal answers a withdrawal that was recorded: the log may have refused
// it, then the gate has its units back.
func (o *Operator) settleWithdrawal(ctx context.Context, sale *domain.Sale, w Withdrawal) (done Released, recorded bool, err error) {
	if _, err := o.Follow.CatchUpStock(ctx, w.Place, w.SKU); err != nil {
		return done, false, o.askAgain(w, err)
	}
	v, err := o.Gate.Withdraw(ctx, w)
	switch {
	case err != nil:
		return done, false, o.askAgain(w, err)
	case v.Outcome == WithdrawRefused:
		return done, false, &domain.Problem{Code: domain.CodeBelowReserved}
	case v.Outcome != WithdrawTaken:
		return done, false, nil
	}
	if done, err = o.standing(ctx, sale, w.SKU); err != nil {
		return done, false, o.askAgain(w, err)
	}
	if !several(sale) {
		done.Available = v.Available
	}
	return done, true, nil
}

// askAgain tells that a withdrawal is recorded, one way or the other, and that a store
// that is away keeps us from saying which.
func (o *Operator) askAgain(w Withdrawal, err error) error {
	o.Env.Log.Warn("withdrawal recorded; what became of it could not be read", "withdrawal", w.ID, "sale_id", w.Place.Sale, "error", err)
	return &domain.Problem{Code: domain.CodeBusy}
}
