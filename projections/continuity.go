package projections

import (
	"context"
	"errors"
	"fmt"

	"seckill/eventstore"
)

// errGap: a batch begins behind the checkpoint. The store fills it.
var errGap = errors.New("records are missing before this batch")

// continues tells whether b can be applied at a checkpoint: errGap when records
// are missing between, or when b overlaps it without saying what stands there, since
// only the store knows then that it is the same log; ErrLogChanged when b is of
// another log.
func continues(b eventstore.Batch, at eventstore.Mark) error {
	if b.Prev.Number > at.Number {
		return errGap
	}
	same, seen := true, b.Last.Number < at.Number // all of it is covered
	switch at.Number {
	case b.Prev.Number:
		same, seen = b.Prev.Hash == at.Hash, true
	case b.Last.Number:
		same, seen = b.Last.Hash == at.Hash, true
	}
	for i := range b.Records {
		if b.Records[i].Position == at.Number {
			same, seen = same && b.Records[i].Hash == at.Hash, true
		}
	}
	if !seen {
		return errGap
	}
	if !same {
		return fmt.Errorf("apply records at position %d, hash %s: %w", at.Number, at.Hash, eventstore.ErrLogChanged)
	}
	return nil
}

// checkHead makes sure that the log has not gone back behind the checkpoint.
func (r *Runner) checkHead(ctx context.Context) error {
	head, err := r.p.source.Log.Head(ctx)
	if err != nil {
		return fmt.Errorf("read the head of the log: %w", err)
	}
	return behind(r.at, head)
}

// behind gives ErrLogChanged where the log ends before a place that was applied.
func behind(at, head eventstore.Mark) error {
	if at.Number < head.Number || at == head {
		return nil
	}
	return fmt.Errorf("the log ends at position %d, hash %s, but position %d, hash %s was applied: %w",
		head.Number, head.Hash, at.Number, at.Hash, eventstore.ErrLogChanged)
}
