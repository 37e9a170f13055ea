package projections

import (
	"context"
	"fmt"
	"sync"
	"time"

	"seckill/eventstore"
)

// places tells whether the log has a place, by asking the store. A broker keeps
// batches for longer than a log may live: after a restore of an older dump, or a
// promoted standby that lost commits, it still delivers what no longer happened.
type places struct {
	log Log
	now func() time.Time

	mu    sync.Mutex
	since time.Time
	known map[int64]eventstore.Hash
}

// Bounds of what places remembers: for long enough that the batches of a page,
// which end at the same place for all projections, ask once, and for much less
// than it takes to put a database back.
const (
	placesFor  = time.Second
	placesMost = 4096
)

func newPlaces(log Log) *places {
	return &places{log: log, now: time.Now, known: map[int64]eventstore.Hash{}}
}

// holds tells whether the log has this place, by number and hash.
func (p *places) holds(ctx context.Context, m eventstore.Mark) (bool, error) {
	p.mu.Lock()
	if now := p.now(); now.Sub(p.since) > placesFor || len(p.known) >= placesMost {
		p.since = now
		clear(p.known)
	}
	hash, ok := p.known[m.Number]
	p.mu.Unlock()
	if ok {
		return hash == m.Hash, nil
	}
	found, err := p.log.ReadAll(ctx, m.Number-1, 1)
	if err != nil {
		return false, fmt.Errorf("look for position %d in the log: %w", m.Number, err)
	}
	if len(found) == 0 || found[0].Position != m.Number {
		return false, nil
	}
	p.mu.Lock()
	p.known[m.Number] = found[0].Hash
	p.mu.Unlock()
	return found[0].Hash == m.Hash, nil
}

// doubtful tells whether a batch cannot be taken as it is: it ends at a place
// that the log does not have, or nobody can say so now. The store is read instead.
func (r *Runner) doubtful(ctx context.Context, b eventstore.Batch) bool {
	if !r.p.options.Doubt {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, r.p.options.Deadline)
	defer cancel()
	ok, err := r.p.places.holds(ctx, b.Last)
	return err != nil || !ok
}
