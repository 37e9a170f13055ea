package projections

import (
	"context"
	"fmt"

	"seckill/eventstore"
)

// AlarmParked is the kind of alarm raised when a sequence is set aside.
const AlarmParked = "dead_letter"

// apply brings the shard to the end of b. A batch that failed too often for its
// events' sake is taken apart, until the events that cannot be applied are alone
// and parked; what a store causes is never held against an event.
func (r *Runner) apply(ctx context.Context, b eventstore.Batch) error {
	var err error
	if r.tries < r.p.options.Tries {
		err = r.attempt(ctx, b)
	} else {
		err = r.isolate(ctx, b)
	}
	switch {
	case err == nil:
		r.tries = 0
	case isUnfit(err):
		r.tries++
	}
	return err
}

// isolate applies b in ever smaller parts, each with its own transaction, and
// parks the records that fail alone. What it has done stays done when it fails.
func (r *Runner) isolate(ctx context.Context, b eventstore.Batch) error {
	err := r.attempt(ctx, b)
	if err == nil || !isUnfit(err) {
		return err
	}
	if b = b.After(r.at); len(b.Records) > 1 {
		first, second := halves(b)
		if err := r.isolate(ctx, first); err != nil {
			return err
		}
		return r.isolate(ctx, second)
	}
	if len(b.Records) == 0 {
		return err
	}
	return r.park(ctx, b, err)
}

// park sets the one record of b aside, with all that will follow of its
// sequence, and moves the checkpoint behind it.
func (r *Runner) park(ctx context.Context, b eventstore.Batch, cause error) error {
	for {
		if err := r.learn(ctx); err != nil {
			return err
		}
		if r.at.Number >= b.Last.Number {
			return nil // somebody else has passed it
		}
		if r.at != b.Prev {
			return fmt.Errorf("park the event at position %d: the checkpoint is at %d: %w", b.Records[0].Position, r.at.Number, errGap)
		}
		if n := r.parked.waiting(); n >= r.p.options.MaxParked {
			return fmt.Errorf("%d sequences are parked already, so this is no fault of single events: %w", n, cause)
		}
		l := letter{record: &b.Records[0], state: StateParked, reason: cause.Error(), tries: r.tries + 1}
		done, err := r.commit(ctx, change{late: []letter{l}, newly: true, last: b.Last})
		if err != nil {
			return err
		}
		if done {
			r.known = false // the next look brings the sequence with it
			r.state.moved(r.at, 0)
			r.parkedOne(l)
			return nil
		}
	}
}

func (r *Runner) parkedOne(l letter) {
	r.p.options.Log.Error("an event cannot be applied; it is parked with what follows of its sequence, all others go on",
		"alarm", AlarmParked, "error", l.reason, "projection", r.projection.Name, "shard", r.row.shard, "store", r.row.store,
		"position", l.record.Position, "sequence", l.record.SequenceKey(), "type", l.record.Type, "tries", l.tries)
	r.p.options.Alarm(AlarmParked)
	r.p.hub.committed(nil)
}
