package projections

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	countLetters = `
select projection, version, shard, count(distinct sequence) filter (where state = 'parked'),
  count(distinct sequence) filter (where state = 'dropped'), min(parked_at) filter (where state = 'parked')
from dead_letters where store = $1 group by projection, version, shard`

	listRebuilds = `
select projection, version, position, target, started_at, seen_at from rebuilds where store = $1 order by projection`
)

// ShardDetails is a checkpoint with what is waiting for it and set aside in it.
type ShardDetails struct {
	ShardStats
	// Waiting is when the oldest record was stored that the shard has not applied;
	// zero when there is none.
	Waiting time.Time
	// Parked and Dropped count sequences that are set aside.
	Parked, Dropped int
}

// ProjectionDetails sum up the shards of a projection.
type ProjectionDetails struct {
	Projection string
	Version    int
	// Newest is when the newest record was stored that some shard has applied; zero
	// when there is none.
	Newest time.Time
	// Parked counts sequences, OldestParked is when the oldest letter was parked.
	Parked       int
	OldestParked time.Time
}

// RebuildDetails is a rebuild under way. One whose RebuildLock nobody holds has
// ended without saying so; the next one takes its place.
type RebuildDetails struct {
	Projection       string
	Version          int
	Position, Target int64
	StartedAt        time.Time
	SeenAt           time.Time
}

// Details are Stats, with more that is asked of the store for it.
type Details struct {
	Stats
	Lines       []ShardDetails
	Projections []ProjectionDetails
	Rebuilds    []RebuildDetails
}

// letterCount is what is set aside of a shard.
type letterCount struct {
	parked, dropped int
	oldest          time.Time
}

// Details reads where everything stands, and what is waiting, set aside and
// being rebuilt.
func (p Progress) Details(ctx context.Context) (Details, error) {
	stats, err := p.Stats(ctx)
	if err != nil {
		return Details{}, err
	}
	d := Details{Stats: stats}
	counts, err := p.countLetters(ctx)
	if err != nil {
		return d, err
	}
	times := recordTimes{log: p.Source.Log, known: map[int64]time.Time{}}
	for _, s := range stats.Shards {
		c := counts[checkpoint{s.Projection, s.Version, p.Source.Store, s.Shard}]
		line := ShardDetails{ShardStats: s, Parked: c.parked, Dropped: c.dropped}
		if s.At.Number < stats.Head.Number {
			if line.Waiting, err = times.at(ctx, s.At.Number+1); err != nil {
				return d, err
			}
		}
		d.Lines = append(d.Lines, line)
	}
	for _, projection := range p.Projections {
		sum, err := summarize(ctx, projection, d.Lines, counts, times)
		if err != nil {
			return d, err
		}
		d.Projections = append(d.Projections, sum)
	}
	d.Rebuilds, err = p.rebuilds(ctx)
	return d, err
}

func summarize(ctx context.Context, p Projection, lines []ShardDetails, counts map[checkpoint]letterCount, times recordTimes) (ProjectionDetails, error) {
	sum := ProjectionDetails{Projection: p.Name, Version: p.Version}
	for c, n := range counts {
		if c.projection != p.Name || c.version != p.Version {
			continue
		}
		sum.Parked += n.parked
		if !n.oldest.IsZero() && (sum.OldestParked.IsZero() || n.oldest.Before(sum.OldestParked)) {
			sum.OldestParked = n.oldest
		}
	}
	var newest int64
	for _, l := range lines {
		if l.Projection == p.Name {
			newest = max(newest, l.At.Number)
		}
	}
	var err error
	if newest > 0 {
		sum.Newest, err = times.at(ctx, newest)
	}
	return sum, err
}

func (p Progress) countLetters(ctx context.Context) (map[checkpoint]letterCount, error) {
	rows, err := p.DB.Query(ctx, countLetters, p.Source.Store)
	if err != nil {
		return nil, fmt.Errorf("count the dead letters: %w", err)
	}
	counts := map[checkpoint]letterCount{}
	c := checkpoint{store: p.Source.Store}
	var n letterCount
	var oldest *time.Time
	_, err = pgx.ForEachRow(rows, []any{&c.projection, &c.version, &c.shard, &n.parked, &n.dropped, &oldest}, func() error {
		n.oldest = orZero(oldest)
		counts[c] = n
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count the dead letters: %w", err)
	}
	return counts, nil
}

func (p Progress) rebuilds(ctx context.Context) ([]RebuildDetails, error) {
	rows, err := p.DB.Query(ctx, listRebuilds, p.Source.Store)
	if err != nil {
		return nil, fmt.Errorf("list rebuilds: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[RebuildDetails])
	if err != nil {
		return nil, fmt.Errorf("list rebuilds: %w", err)
	}
	return all, nil
}

// recordTimes looks up when records were stored, each once.
type recordTimes struct {
	log   Log
	known map[int64]time.Time
}

// at gives the zero time where the log has no such record.
func (r recordTimes) at(ctx context.Context, position int64) (time.Time, error) {
	if t, ok := r.known[position]; ok {
		return t, nil
	}
	found, err := r.log.ReadAll(ctx, position-1, 1)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the log at %d: %w", position, err)
	}
	var t time.Time
	if len(found) > 0 {
		t = found[0].RecordedAt
	}
	r.known[position] = t
	return t, nil
}
