package projections

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
	"seckill/infra/pg"
)

const (
	// A swap waits for the readers of the moment, and new ones wait behind it: not
	// long, and then again. Longer than deadlock_timeout, so that autovacuum yields.
	swapTimeouts = `
select set_config('lock_timeout', '1500ms', true), set_config('synchronous_commit', 'on', true)`

	lockCheckpoints = `
select position, hash from checkpoints where projection = any($1) and store = $2
order by projection, version, shard for update`

	otherVersions = `
delete from checkpoints where projection = $1 and store = $2 and (version <> $3 or shard >= $4)`

	placeCheckpoints = `
insert into checkpoints (projection, version, store, shard, position, hash, applied_at, letters)
select $1, $2, $3, shard, $5, $6, clock_timestamp(), 1 from generate_series(0, $4::int - 1) as shard
on conflict (projection, version, store, shard) do update
set position = excluded.position, hash = excluded.hash, applied_at = excluded.applied_at, letters = checkpoints.letters + 1`

	// Letters of another version, or of another number of shards, come along.
	moveLetters = `
update dead_letters d set version = $4, shard = $5
where projection = $1 and store = $2 and sequence = $3 and (version <> $4 or shard <> $5) and not exists (
  select from dead_letters o where o.projection = $1 and o.store = $2 and o.sequence = $3 and o.version = $4 and o.shard = $5
    and o.position = d.position)`

	otherLetters = `
delete from dead_letters where projection = $1 and store = $2 and sequence = $3 and (version <> $4 or shard <> $5)`

	rememberLetters = `
select projection, version, shard, sequence, min(state), min(position), max(position), count(*),
  (array_agg(reason order by position))[1], min(parked_at), (array_agg(note order by position))[1]
from dead_letters where projection = any($1) and store = $2
group by projection, version, shard, sequence order by projection, version, min(position), sequence`
)

// Bounds of the last step.
const (
	// maxHeldBack is how many records are folded while the checkpoints are held;
	// where more are left, it is caught up first.
	maxHeldBack = 2000
	swapTries   = 100
	swapPause   = 100 * time.Millisecond
)

// errBehind: too much is left to hold the checkpoints for it.
var errBehind = errors.New("the log has run ahead")

// remembered are the sequences of a projection that are set aside.
type remembered struct {
	set  parkedSet
	list []DeadSequence
}

// remember reads what is set aside, of whichever version of the projections.
func (r *rebuild) remember(ctx context.Context, q querier) (map[string]remembered, error) {
	rows, err := q.Query(ctx, rememberLetters, r.projectionNames(), r.source.Store)
	if err != nil {
		return nil, fmt.Errorf("read the dead letters: %w", err)
	}
	all, err := pgx.CollectRows(rows, scanSequence)
	if err != nil {
		return nil, fmt.Errorf("read the dead letters: %w", err)
	}
	aside := map[string]remembered{}
	for _, s := range all {
		a := aside[s.Projection]
		if a.set == nil {
			a.set = parkedSet{}
		}
		if have, ok := a.set[s.Sequence]; !ok || s.First < have.first {
			a.set[s.Sequence] = parkedSequence{first: s.First, state: s.State}
		}
		a.list = append(a.list, s)
		aside[s.Projection] = a
	}
	return aside, nil
}

func (r *rebuild) projectionNames() []string {
	var names []string
	for _, p := range r.list {
		names = append(names, p.Name)
	}
	return names
}

// prove compares the sums of the tables with those of the quiet fold.
func (r *rebuild) prove(ctx context.Context) error {
	for i, p := range r.list {
		err := pg.InTx(ctx, r.db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, longStatements); err != nil {
				return err
			}
			have, err := p.Proof.find(pg.Patient(ctx), shadowTx{Tx: tx, shadows: r.shadows})
			if err != nil {
				return err
			}
			r.tally.rows[i] = have[0]
			return p.Proof.compare(p.Name, p.Proof.settled(r.tally.sums[i]), have)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// swap puts the tables in place. Readers that are in the way are waited for a
// little, again and again.
func (r *rebuild) swap(ctx context.Context) error {
	var err error
	for range swapTries {
		var at eventstore.Mark
		var rest tally
		err = pg.InTx(ctx, r.db, func(tx pgx.Tx) (err error) {
			at, rest, err = r.swapOnce(ctx, tx)
			return err
		})
		switch {
		case err == nil:
			r.at = at
			r.tally.merge(rest)
			return nil
		case errors.Is(err, errBehind):
			if err := r.fill(ctx); err != nil {
				return err
			}
			continue
		case !isContended(err):
			return err
		}
		sleep(ctx, swapPause)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return fmt.Errorf("swap the tables: somebody reads them all the time: %w", err)
}

// isContended: lock not available, deadlock.
func isContended(err error) bool {
	state := pg.SQLState(err)
	return state == "55P03" || state == "40P01"
}

// swapOnce holds the checkpoints, folds what is left, and swaps. It gives where
// the views stand then, and what was folded for that.
func (r *rebuild) swapOnce(ctx context.Context, tx pgx.Tx) (at eventstore.Mark, rest tally, err error) {
	if _, err := tx.Exec(ctx, swapTimeouts); err != nil {
		return at, rest, fmt.Errorf("begin to swap: %w", err)
	}
	live, err := r.hold(ctx, tx)
	if err != nil {
		return at, rest, err
	}
	aside, err := r.remember(ctx, tx)
	if err != nil {
		return at, rest, err
	}
	for _, p := range r.list {
		if !maps.Equal(aside[p.Name].set, r.aside[p.Name].set) {
			return at, rest, ErrLettersChanged
		}
	}
	if at, rest, err = r.rest(ctx, tx, live); err != nil {
		return at, rest, err
	}
	if err := r.shadows.swap(ctx, tx); err != nil {
		return at, rest, err
	}
	for i := range r.list {
		passed := append(slices.Clone(r.tally.passed[i]), rest.passed[i]...)
		if err := r.place(ctx, tx, &r.list[i], at, passed); err != nil {
			return at, rest, err
		}
	}
	return at, rest, nil
}

// hold locks the checkpoints, and gives the furthest. A checkpoint that the log
// does not have (it was put back to an older state than its views) is no more than
// what a rebuild throws away; it is logged, and the log counts.
func (r *rebuild) hold(ctx context.Context, tx pgx.Tx) (live int64, err error) {
	rows, err := tx.Query(ctx, lockCheckpoints, r.projectionNames(), r.source.Store)
	if err != nil {
		return 0, fmt.Errorf("hold the checkpoints: %w", err)
	}
	var position int64
	var hash []byte
	_, err = pgx.ForEachRow(rows, []any{&position, &hash}, func() error {
		live = max(live, position)
		if position == r.at.Number && position > 0 && eventstore.Hash(hash) != r.at.Hash {
			r.options.Log.Warn("a view had applied another event than the log has; it is built again", "position", position)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("hold the checkpoints: %w", err)
	}
	if live <= r.at.Number {
		return live, nil
	}
	head, err := r.source.Log.Head(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the head of the log: %w", err)
	}
	if live > head.Number {
		r.options.Log.Warn("a view had applied more than the log has; it is built again", "position", live, "head", head.Number)
	}
	return min(live, head.Number), nil
}

// rest folds what live shards have applied beyond the tables, so that no reader
// sees a view go back.
func (r *rebuild) rest(ctx context.Context, tx pgx.Tx, live int64) (eventstore.Mark, tally, error) {
	t := newTally(r.list)
	at := r.at
	if live-at.Number > maxHeldBack {
		return at, t, errBehind
	}
	if live <= at.Number {
		return at, t, nil
	}
	page, err := r.source.Log.ReadAll(ctx, at.Number, int(live-at.Number))
	if err != nil {
		return at, t, fmt.Errorf("read the log after %d: %w", at.Number, err)
	}
	shards := make([][]eventstore.Record, r.options.Shards)
	for i := range page {
		if err := eventstore.CheckNext(at, &page[i]); err != nil {
			return at, t, &FaultError{Position: at.Number + 1, Cause: err}
		}
		at = page[i].Head()
		shard := page[i].Shard(r.options.Shards)
		shards[shard] = append(shards[shard], page[i])
	}
	if at.Number < live {
		return at, t, fmt.Errorf("the log ends at %d, but %d was applied: %w", at.Number, live, eventstore.ErrLogChanged)
	}
	for shard, records := range shards {
		if err := r.fold(ctx, shadowTx{Tx: tx, shadows: r.shadows}, job{shard, records}, &t); err != nil {
			return at, t, err
		}
	}
	return at, t, nil
}

// place sets the checkpoints of p, and the letters of what was passed over.
func (r *rebuild) place(ctx context.Context, tx pgx.Tx, p *Projection, at eventstore.Mark, passed []letter) error {
	shards := r.options.Shards
	if _, err := tx.Exec(ctx, otherVersions, p.Name, r.source.Store, p.Version, shards); err != nil {
		return fmt.Errorf("take away the checkpoints of other versions: %w", err)
	}
	if _, err := tx.Exec(ctx, placeCheckpoints, p.Name, p.Version, r.source.Store, shards, at.Number, at.Hash[:]); err != nil {
		return fmt.Errorf("set the checkpoints: %w", err)
	}
	for key := range r.aside[p.Name].set {
		for _, sql := range [...]string{moveLetters, otherLetters} {
			if _, err := tx.Exec(ctx, sql, p.Name, r.source.Store, key, p.Version, eventstore.ShardOf(key, shards)); err != nil {
				return fmt.Errorf("move the dead letters of %s: %w", key, err)
			}
		}
	}
	byShard := map[int][]letter{}
	for _, l := range passed {
		shard := l.record.Shard(shards)
		byShard[shard] = append(byShard[shard], l)
	}
	for shard, letters := range byShard {
		row := checkpoint{projection: p.Name, version: p.Version, store: r.source.Store, shard: shard}
		if err := row.put(ctx, tx, letters); err != nil {
			return err
		}
	}
	return nil
}
