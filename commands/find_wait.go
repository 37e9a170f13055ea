package commands

import (
	"context"
	"time"

	"seckill/domain"
)

// OrderChanges tells of changes of an order that this process hears of.
type OrderChanges interface {
	// Watch gives a channel that is closed at the next change of the order, recorded or
	// applied to the read model: watch first and look then, and no change is missed.
	// Call stop when done. ok is false where too many are watched, and the channel
	// never closes then.
	Watch(order string) (changed <-chan struct{}, stop func(), ok bool)
}

// A waiting poll looks for itself after pollLeast, then after twice as long, up to
// pollMost: a node that neither records nor projects hears of no change. One that could
// not be watched is looked at after pollUnwatched at the latest.
const (
	pollLeast     = 100 * time.Millisecond
	pollMost      = time.Second
	pollUnwatched = 250 * time.Millisecond
)

// Wait gives the order as soon as its version is above after and it is not
// queued, or as it is at its next change or when the time is over.
func (f *Finder) Wait(ctx context.Context, buyer, id string, after int64, wait time.Duration) (OrderAnswer, error) {
	deadline := f.Env.Now().Add(wait)
	if after <= 0 {
		if answer, ok := f.soon(ctx, buyer, id, min(wait, pollLeast)); ok && answer.Version > after {
			return answer, nil
		}
	}
	for pause := pollLeast; ; pause = min(2*pause, pollMost) {
		changed, stop, ok := f.Changes.Watch(id)
		answer, err := f.Find(ctx, buyer, id)
		left := deadline.Sub(f.Env.Now())
		news := answer.Status != domain.OrderStatusQueued && answer.Version > after
		if err != nil || news || left <= 0 || ctx.Err() != nil {
			stop()
			return answer, err
		}
		if !ok {
			left = min(left, pollUnwatched)
		}
		changedWithin(ctx, changed, min(left, pause))
		stop()
	}
}

// soon gives an order that the log has decided, or decides within a moment. Neither gate
// nor journal is asked what a queued one is of: most polls come right after the
// purchase, and what they wait for is about to happen. ok is false for whatever Find is
// to judge.
func (f *Finder) soon(ctx context.Context, buyer, id string, moment time.Duration) (OrderAnswer, bool) {
	ref, err := domain.ParseOrderID(id)
	if err != nil || !ref.Owned(f.Env.Keys, buyer) {
		return OrderAnswer{}, false
	}
	changed, stop, watched := f.Changes.Watch(ref.ID)
	defer stop()
	look, cancel := f.lookBudget(ctx, ref.ID)
	answer, ok, err := f.decided(look, ref.ID)
	cancel()
	if ok || err != nil || !watched || !changedWithin(ctx, changed, moment) {
		return answer, ok && err == nil
	}
	look, cancel = f.lookBudget(ctx, ref.ID)
	defer cancel()
	answer, ok, err = f.decided(look, ref.ID)
	return answer, ok && err == nil
}

// changedWithin waits for a change, for the end of ctx, or as long as it is told to.
func changedWithin(ctx context.Context, changed <-chan struct{}, most time.Duration) bool {
	over := time.NewTimer(most)
	defer over.Stop()
	select {
	case <-changed:
		return true
	case <-ctx.Done():
	case <-over.C:
	}
	return false
}
