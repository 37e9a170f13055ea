package commands

import (
	"context"
	"errors"
	"fmt"

	"seckill/domain"
	"seckill/eventstore"
)

// ErrOvertaken: another recovery is ahead. What it does holds.
var ErrOvertaken = errors.New("another recovery of this lane is ahead")

// recoverLane is the one procedure that opens a lane: (1) the log raises the
// epoch, and from here on older batches fail; (2) the gate closes and takes the
// epoch, and what is missing becomes a closed stub; (3) the journal is read from
// its cut; (4) what is undecided is recorded, each page checking that the epoch
// is still ours; (5) the streams are applied to their heads; (6) the lane opens
// if both epochs are still ours. It gives that epoch. The caller holds the lane's
// lock.
func (k *Keeper) recoverLane(ctx context.Context, lane int, seen LaneState, w recoveryWish) (int64, error) {
	if seen.Foreign != "" {
		return 0, errForeign(seen.Foreign)
	}
	epoch, err := k.raiseEpoch(ctx, lane, seen)
	if err != nil {
		return 0, err
	}
	return epoch, k.recoverUnder(ctx, lane, epoch, w)
}

// recoveryWish is what a recovery does beyond what is needed.
type recoveryWish struct {
	// fresh tells whether the record and the stock hashes of a sale start again from
	// version 0 although they look well. Nil: of none.
	fresh func(sale string) bool
	// applied is told how many events went into the gate, page by page. Nil: nobody.
	applied func(events int)
}

func (w recoveryWish) again(b saleBucket) bool { return w.fresh != nil && w.fresh(b.place.Sale) }

// recoverUnder is everything of a recovery after the epoch was raised.
func (k *Keeper) recoverUnder(ctx context.Context, lane int, epoch int64, w recoveryWish) error {
	k.env.step("recovery.after-epoch")
	state, err := k.gate.CloseLane(ctx, lane, epoch)
	if err != nil {
		return fmt.Errorf("close: %w", err)
	}
	if state.Epoch != epoch || state.Open {
		return fmt.Errorf("gate has epoch %d, ours is %d: %w", state.Epoch, epoch, ErrOvertaken)
	}
	k.env.step("recovery.after-close")
	all, err := k.contents(ctx)
	if err != nil {
		return err
	}
	for _, b := range all[lane] {
		if err := k.stub(ctx, b, nil, epoch); err != nil {
			return err
		}
		if !w.again(b) {
			continue
		}
		if err := k.startAgain(ctx, b, epoch); err != nil {
			return err
		}
	}
	d := &drain{Keeper: k, lane: lane, epoch: epoch}
	if err := d.all(ctx, state.Cut); err != nil {
		return err
	}
	k.env.step("recovery.after-drain")
	head, err := k.log.Head(ctx)
	if err != nil {
		return fmt.Errorf("read the head of the log: %w", err)
	}
	for _, b := range all[lane] {
		if err := k.rebuild(ctx, b, epoch, w); err != nil {
			return err
		}
	}
	if err := k.clearLane(ctx, lane, state.Server); err != nil {
		return err
	}
	if err := k.stillHas(ctx, head); err != nil {
		return err
	}
	k.env.step("recovery.before-open")
	if err := d.stands(ctx); err != nil {
		return err
	}
	return k.open(ctx, lane, epoch, state.Server)
}

// raiseEpoch sets the lane's epoch in the log to one more than anybody has seen.
func (k *Keeper) raiseEpoch(ctx context.Context, lane int, seen LaneState) (int64, error) {
	var epoch int64
	_, err := k.log.Submit(ctx, eventstore.Work{
		Needs: eventstore.Needs{Lanes: []int{lane}},
		Decide: func(look eventstore.Look) (*eventstore.Group, error) {
			epoch = max(look.Cursor(lane).Epoch, seen.Epoch, seen.Last.Epoch) + 1
			return &eventstore.Group{Cursors: []eventstore.Cursor{
				{Lane: lane, Epoch: epoch, N: 0, Digest: domain.FirstDigest(lane, epoch)},
			}}, nil
		},
	})
	if err != nil {
		return 0, fmt.Errorf("raise the epoch: %w", err)
	}
	return epoch, nil
}

// stub notes in the log that the gate is about to hold this bucket, and makes
// closed stubs of what is missing, and of what must start again.
func (k *Keeper) stub(ctx context.Context, b saleBucket, reset []string, epoch int64) error {
	if _, err := k.notePreheat(ctx, b.place); err != nil {
		return err
	}
	ok, err := k.gate.Stubs(ctx, b.place, b.skus, reset, epoch)
	if err != nil {
		return fmt.Errorf("stubs of sale %s: %w", b.place.Sale, err)
	}
	if !ok {
		return fmt.Errorf("stubs of sale %s: %w", b.place.Sale, ErrOvertaken)
	}
	return nil
}

// startAgain makes closed stubs of a bucket's record and of all its stock hashes:
// whatever did not come from the log or the journal is gone with them.
func (k *Keeper) startAgain(ctx context.Context, b saleBucket, epoch int64) error {
	ok, err := k.gate.StartAgain(ctx, b.place, b.skus, epoch)
	if err != nil {
		return fmt.Errorf("start sale %s again: %w", b.place.Sale, err)
	}
	if !ok {
		return fmt.Errorf("start sale %s again: %w", b.place.Sale, ErrOvertaken)
	}
	return nil
}

// notePreheat records, before the gate holds a bucket for the first time, that
// it does: a record that is missing later was lost. first tells whether this call
// recorded it.
func (k *Keeper) notePreheat(ctx context.Context, place domain.Place) (first bool, err error) {
	for range changeTries {
		sale, err := k.sales.Fold(ctx, place.Sale)
		if err != nil {
			return false, err
		}
		ev := sale.Preheat(place.Bucket)
		if ev == nil {
			return false, nil
		}
		receipt, err := appendSale(ctx, k.env, k.log, sale, ev, Actor{By: "keeper"})
		if err != nil {
			return false, err
		}
		if receipt.Outcome != eventstore.Conflict {
			return true, nil
		}
	}
	return false, fmt.Errorf("sale %s: note its preheat: %w", place.Sale, errCursorMoved)
}

// rebuildTries bounds how often a stream that keeps moving is followed before
// the recovery gives up and is tried again.
const rebuildTries = 20

// rebuild brings a bucket's record and stock hashes to the heads of their
// streams and opens them, inside the closed lane.
func (k *Keeper) rebuild(ctx context.Context, b saleBucket, epoch int64, w recoveryWish) error {
	if w.applied == nil {
		w.applied = func(int) {}
	}
	for range rebuildTries {
		marks, err := k.bringUp(ctx, b, epoch, w.applied)
		if err != nil {
			return err
		}
		ok, err := k.gate.OpenHashes(ctx, b.place, marks, epoch)
		if err != nil {
			return fmt.Errorf("open sale %s: %w", b.place.Sale, err)
		}
		if ok {
			return nil
		}
		// A hash moved, or went missing, since it was brought up.
		if err := k.stub(ctx, b, nil, epoch); err != nil {
			return err
		}
	}
	return fmt.Errorf("open sale %s: its streams did not hold still", b.place.Sale)
}

func (k *Keeper) bringUp(ctx context.Context, b saleBucket, epoch int64, applied func(int)) (HashMarks, error) {
	// Written also where it stands at the head: that says nothing of its fields.
	mark, err := k.follow.RewriteSale(ctx, k.sales, b.place)
	if errors.Is(err, ErrNotPrefix) {
		if err = k.startAgain(ctx, b, epoch); err == nil {
			mark, err = k.follow.RewriteSale(ctx, k.sales, b.place)
		}
	}
	if err != nil {
		return HashMarks{}, err
	}
	marks := HashMarks{Sale: mark, SKUs: b.skus}
	for _, sku := range b.skus {
		mark, err := k.follow.catchUpStock(ctx, b.place, sku, applied)
		if errors.Is(err, ErrNotPrefix) {
			if err = k.stub(ctx, b, []string{sku}, epoch); err == nil {
				mark, err = k.follow.catchUpStock(ctx, b.place, sku, applied)
			}
		}
		if err != nil {
			return HashMarks{}, err
		}
		marks.Stocks = append(marks.Stocks, mark)
	}
	return marks, nil
}

// open opens the lane, if both epochs are still ours and the gate still runs in
// the process that was brought up.
func (k *Keeper) open(ctx context.Context, lane int, epoch int64, server string) error {
	cursors, err := k.log.Cursors(ctx, []int{lane})
	if err != nil {
		return fmt.Errorf("read cursor: %w", err)
	}
	if cursors[0].Epoch != epoch {
		return fmt.Errorf("the log has epoch %d, ours is %d: %w", cursors[0].Epoch, epoch, ErrOvertaken)
	}
	ok, err := k.gate.OpenLane(ctx, lane, epoch, server)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}
	if !ok {
		return fmt.Errorf("open: the gate changed meanwhile: %w", ErrOvertaken)
	}
	return nil
}
