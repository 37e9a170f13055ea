package projections

import (
	"context"
	"fmt"
	"time"

	"seckill/eventstore"
)

// progressPoll is how often WaitFor looks for what other processes applied.
const progressPoll = 50 * time.Millisecond

// progressRest keeps WaitFor from asking after every single commit.
const progressRest = 5 * time.Millisecond

// Progress tells how far the projections of a store are, whichever process
// applies them.
type Progress struct {
	DB          DB
	Source      Source
	Projections []Projection
	// Shards is the number the projections are folded with; 0 is eventstore.DefaultShards.
	Shards int
	// Projector is this process's, or nil: it makes waiting quicker.
	Projector *Projector
}

// ShardStats is a checkpoint and how many records of the log lie behind it.
type ShardStats struct {
	Checkpoint
	Core   bool
	Behind int64
}

// Stats is where everything stood at one moment.
type Stats struct {
	Head eventstore.Mark
	// Relay is the place of the relay; zero where none ran yet.
	Relay Checkpoint
	// Shards has a line per projection and shard; one that was never prepared
	// stands at zero.
	Shards []ShardStats
	// Waiting is when the oldest record was stored that some shard of a core
	// projection has not applied; zero when there is none. Readiness goes by it.
	Waiting time.Time
}

// Stats reads checkpoints and head.
func (p Progress) Stats(ctx context.Context) (Stats, error) {
	var s Stats
	found, err := checkpointsOf(ctx, p.DB, p.Source.Store)
	if err != nil {
		return s, err
	}
	// The head is read last, so that no checkpoint seems to be ahead of it.
	if s.Head, err = p.Source.Log.Head(ctx); err != nil {
		return s, fmt.Errorf("read the head of the log: %w", err)
	}
	byName := map[checkpoint]Checkpoint{}
	for _, c := range found {
		byName[checkpoint{c.Projection, c.Version, p.Source.Store, c.Shard}] = c
	}
	s.Relay = byName[checkpoint{relayProjection, 1, p.Source.Store, 0}]
	s.Shards = p.shards(byName, s.Head)
	oldest := s.Head.Number
	for _, c := range s.Shards {
		if c.Core {
			oldest = min(oldest, c.At.Number)
		}
	}
	if oldest < s.Head.Number {
		next, err := p.Source.Log.ReadAll(ctx, oldest, 1)
		if err != nil {
			return s, fmt.Errorf("read the log after %d: %w", oldest, err)
		}
		if len(next) > 0 {
			s.Waiting = next[0].RecordedAt
		}
	}
	return s, nil
}

func (p Progress) shards(byName map[checkpoint]Checkpoint, head eventstore.Mark) []ShardStats {
	shards := p.Shards
	setDefault(&shards, eventstore.DefaultShards)
	var out []ShardStats
	for _, projection := range p.Projections {
		for shard := range shards {
			c, ok := byName[checkpoint{projection.Name, projection.Version, p.Source.Store, shard}]
			if !ok {
				c = Checkpoint{Projection: projection.Name, Version: projection.Version, Shard: shard}
			}
			out = append(out, ShardStats{Checkpoint: c, Core: projection.Core, Behind: max(0, head.Number-c.At.Number)})
		}
	}
	return out
}

// WaitFor returns once every shard of every core projection has applied the
// log up to position, or with an error when ctx ends before.
func (p Progress) WaitFor(ctx context.Context, position int64) error {
	if p.Projector != nil {
		p.Projector.Notify()
	}
	for {
		// Taken before looking, so that no commit in between is missed.
		var moved <-chan struct{}
		if p.Projector != nil {
			moved = p.Projector.hub.progress()
		}
		at, err := p.applied(ctx)
		if err != nil {
			return fmt.Errorf("wait until the views have reached position %d: %w", position, err)
		}
		if at >= position {
			return nil
		}
		if err := pause(ctx, moved); err != nil {
			return fmt.Errorf("wait until the views have reached position %d (they are at %d): %w", position, at, err)
		}
	}
}

// applied gives the position that all shards of all core projections have reached.
func (p Progress) applied(ctx context.Context) (int64, error) {
	found, err := checkpointsOf(ctx, p.DB, p.Source.Store)
	if err != nil {
		return 0, err
	}
	byName := map[checkpoint]Checkpoint{}
	for _, c := range found {
		byName[checkpoint{c.Projection, c.Version, p.Source.Store, c.Shard}] = c
	}
	lowest := int64(-1)
	for _, c := range p.shards(byName, eventstore.Mark{}) {
		if c.Core && (lowest < 0 || c.At.Number < lowest) {
			lowest = c.At.Number
		}
	}
	return max(0, lowest), nil
}

// pause waits for a commit of this process or a while, never less than a moment.
func pause(ctx context.Context, moved <-chan struct{}) error {
	timer := time.NewTimer(progressPoll)
	defer timer.Stop()
	select {
	case <-moved:
		sleep(ctx, progressRest)
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}
