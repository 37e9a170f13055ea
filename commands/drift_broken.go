package commands

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"seckill/domain"
)

// BrokenLanes are lanes that were recovered because their journal had lost or changed
// an entry, until somebody has looked at their sales. It is safe for concurrent use.
type BrokenLanes struct {
	wake chan struct{}

	mu    sync.Mutex
	lanes map[int]bool
}

// NewBrokenLanes makes an empty set.
func NewBrokenLanes() *BrokenLanes {
	return &BrokenLanes{wake: make(chan struct{}, 1), lanes: map[int]bool{}}
}

// Add notes a lane; it does not block.
func (b *BrokenLanes) Add(lane int) {
	b.mu.Lock()
	b.lanes[lane] = true
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default: // whoever wakes takes them all
	}
}

// take waits for lanes and takes them all; none when ctx ended.
func (b *BrokenLanes) take(ctx context.Context) map[int]bool {
	select {
	case <-ctx.Done():
		return nil
	case <-b.wake:
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := maps.Clone(b.lanes)
	clear(b.lanes)
	return taken
}

// Pauses before sales that could not be compared are looked at again: at first their
// gate may just be opening.
const (
	brokenAgain     = time.Second
	brokenAgainMost = 30 * time.Second
)

// RunBroken looks at once at the sales of lanes whose journal broke, until ctx ends:
// their buyers were told yes, and only a comparison finds whose entry is gone. Every
// process that keeps lanes does it, whoever leads the rounds: a second one that looks
// settles nothing twice. It is another DriftWatch than the one that runs rounds.
func (w *DriftWatch) RunBroken(ctx context.Context, broken *BrokenLanes) error {
	for again := brokenAgain; ctx.Err() == nil; {
		lanes := broken.take(ctx)
		if w.lookAtLanes(ctx, lanes) {
			again = brokenAgain
			continue
		}
		for lane := range lanes {
			broken.Add(lane)
		}
		w.rest(ctx, again)
		again = min(2*again, brokenAgainMost)
	}
	return nil
}

// lookAtLanes looks at every sale of some lanes; false where one could not be compared.
func (w *DriftWatch) lookAtLanes(ctx context.Context, lanes map[int]bool) bool {
	if len(lanes) == 0 {
		return true
	}
	sales, err := w.Sales.List(ctx)
	if err != nil {
		w.Env.Log.Warn("sales of a broken journal not compared; tried again", "error", err)
		return false
	}
	round := DriftRound{Findings: map[string]int{}}
	for _, sale := range sales {
		lives := slices.ContainsFunc(Places(w.Env.Store, sale.Sale), func(p domain.Place) bool { return lanes[p.Lane()] })
		if ctx.Err() == nil && !sale.Cleaned && lives {
			w.look(ctx, sale, &round)
		}
	}
	w.Env.Log.Info("books compared after a broken journal", "lanes", slices.Sorted(maps.Keys(lanes)), "sales", round.Sales, "not_compared", round.Closed, "findings", round.sum())
	return round.Closed == 0
}
