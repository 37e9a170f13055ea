package cli

import (
	"context"
	"errors"
	"fmt"

	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/projections"
)

// checkPlaces refuses to start where a view or a relay stands at a place that the
// log does not have: the log was put back to an older state than they were. They
// would stop anyway; here it is said before anything runs.
func (a *app) checkPlaces(ctx context.Context) error {
	stats, err := a.progress.Stats(ctx)
	if err != nil {
		return err
	}
	known := map[eventstore.Mark]bool{{}: true}
	has := func(at eventstore.Mark) (bool, error) {
		if ok, asked := known[at]; asked {
			return ok, nil
		}
		record, ok, err := a.sink.At(ctx, at.Number)
		archived := errors.Is(err, pgstore.ErrArchived) // the log went far beyond it
		if err != nil && !archived {
			return false, err
		}
		known[at] = archived || (ok && record.Hash == at.Hash)
		return known[at], nil
	}
	for _, s := range stats.Shards {
		if ok, err := has(s.At); err != nil || !ok {
			return orAhead(err, fmt.Sprintf("The view %s has applied position %d", s.Projection, s.At.Number), stats.Head,
				"restore the newer log, or build the views again from this one, without what it lost: `seckill rebuild --all` (with --accept-log-loss where the loss is not accepted yet)")
		}
	}
	return a.checkRelays(ctx, stats, has)
}

// checkRelays does so for the relays.
func (a *app) checkRelays(ctx context.Context, stats projections.Stats, has func(eventstore.Mark) (bool, error)) error {
	public, err := projections.PublicPlace(a.pool, int16(a.env.Store)).Load(ctx)
	if err != nil {
		return err
	}
	for name, at := range map[string]eventstore.Mark{"relay": stats.Relay.At, "relay-public": public} {
		if ok, err := has(at); err != nil || !ok {
			return orAhead(err, fmt.Sprintf("The %s has published position %d", name, at.Number), stats.Head,
				fmt.Sprintf("restore the newer log, or let it publish this one from the beginning: DELETE FROM %s.checkpoints WHERE projection = '%s'", a.settings.Namespace, name))
		}
	}
	return nil
}

// orAhead is err, or where that is nil the sentence about a place that the log
// does not have.
func orAhead(err error, what string, head eventstore.Mark, way string) error {
	if err != nil {
		return err
	}
	return &told{fmt.Sprintf("%s, but the log ends at %d or has another event there: it was put back to an older state. Either %s (see docs/backup.md).", what, head.Number, way), eventstore.ErrLogChanged}
}
