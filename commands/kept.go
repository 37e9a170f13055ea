package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// KeptStore is what Kept asks the log.
type KeptStore interface {
	eventstore.Directory
	eventstore.Ledger
}

// Kept holds what this node acknowledged until the log's cursor has passed it.
// After an epoch change, and for purchases whose outcome could not be seen, it
// asks the log which orders are decided and offers the others to the gate again
// under the same order id; an offered order that the gate refuses is resolved as
// lost. One that it does not take because its sale is paused is kept until the pause
// ends. What it holds ends with the process; then a poll of the buyer finds out.
type Kept struct {
	env  *Env
	gate Gate
	log  KeptStore
	lost *Lost

	// Promises keeps an acknowledged order that the gate, which forgot it, has no units
	// for, as far as its sale's overdraft goes. Nil: such an order is lost.
	Promises *Promises
	// Sales tells when a sale that is paused is over, so that nothing of it is kept any
	// longer. Nil: every pause is waited for.
	Sales *Sales
	// Buckets brings units to an order whose home bucket ran short. Nil: nobody does.
	Buckets *Leveller

	mu    sync.Mutex
	lanes map[int]map[string]keptPurchase
	size  int
	// held are, by lane, the orders that a pause of their sale holds back, as the last
	// look at the gate found them.
	held map[int]map[buyerOfSale]keptPurchase
}

type keptPurchase struct {
	reservation Reservation
	entry       domain.EntryID // zero: outcome unknown
	since       time.Time
}

// keptPause is how often Kept compares with the log.
const keptPause = 200 * time.Millisecond

// NewKept makes an empty Kept; Run drives it.
func NewKept(env *Env, gate Gate, log KeptStore, lost *Lost) *Kept {
	return &Kept{env: env, gate: gate, log: log, lost: lost, lanes: map[int]map[string]keptPurchase{}, held: map[int]map[buyerOfSale]keptPurchase{}}
}

// Keep remembers an accepted purchase and the entry that holds it.
func (k *Kept) Keep(r Reservation, entry domain.EntryID) { k.put(r, entry) }

// KeepUnknown remembers a purchase whose outcome could not be seen.
func (k *Kept) KeepUnknown(r Reservation) { k.put(r, domain.EntryID{}) }

// Size is how many purchases are held.
func (k *Kept) Size() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.size
}

// waiting is how many purchases are held, and since when the oldest is. It looks
// at each of them.
func (k *Kept) waiting() (n int, oldest time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, lane := range k.lanes {
		for _, p := range lane {
			if oldest.IsZero() || p.since.Before(oldest) {
				oldest = p.since
			}
		}
	}
	return k.size, oldest
}

// Holds tells whether an order was acknowledged here and not seen decided.
func (k *Kept) Holds(order string) bool {
	ref, err := domain.ParseOrderID(order)
	if err != nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.lanes[ref.Lane][order]
	return ok
}

func (k *Kept) put(r Reservation, entry domain.EntryID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	lane := r.Place.Lane()
	m, ok := k.lanes[lane]
	if !ok {
		m = map[string]keptPurchase{}
		k.lanes[lane] = m
	}
	p := keptPurchase{r, entry, k.env.Now()}
	if old, known := m[r.Order]; known {
		p.since = old.since
	} else {
		k.size++
	}
	m[r.Order] = p
}

func (k *Kept) drop(lane int, orders ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, order := range orders {
		if _, ok := k.lanes[lane][order]; ok {
			delete(k.lanes[lane], order)
			k.size--
		}
	}
	if len(k.lanes[lane]) == 0 {
		delete(k.lanes, lane)
	}
}

// Run compares with the log until ctx ends.
func (k *Kept) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := k.settle(ctx, k.waitedFor()); err != nil && ctx.Err() == nil {
			k.env.Log.Warn("acknowledged purchases not compared with the log", "error", err)
		}
		pause(ctx, keptPause)
	}
	return nil
}

// waitedFor lists the lanes of which something is held.
func (k *Kept) waitedFor() []int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Sorted(maps.Keys(k.lanes))
}

// settle drops what the cursors of lanes have passed and offers what an older epoch
// held. A lane that fails stops no other.
func (k *Kept) settle(ctx context.Context, lanes []int) error {
	if len(lanes) == 0 {
		return nil
	}
	cursors, err := k.log.Cursors(ctx, lanes)
	if err != nil {
		return err
	}
	var faults []error
	for i, lane := range lanes {
		passed, doubtful := k.sort(lane, cursors[i])
		k.drop(lane, passed...)
		if err := k.offer(ctx, lane, doubtful); err != nil {
			faults = append(faults, fmt.Errorf("lane %d: %w", lane, err))
		}
	}
	return errors.Join(faults...)
}

// sort tells what the cursor has passed from what must be asked for.
func (k *Kept) sort(lane int, c eventstore.Cursor) (passed []string, doubtful []keptPurchase) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for order, p := range k.lanes[lane] {
		switch {
		case p.entry.Epoch == c.Epoch && p.entry.N > 0 && p.entry.N <= c.N:
			passed = append(passed, order)
		case p.entry.Epoch < c.Epoch || p.entry.N == 0:
			doubtful = append(doubtful, p)
		}
	}
	slices.SortFunc(doubtful, func(a, b keptPurchase) int { // who was accepted first comes first
		return cmp.Or(cmp.Compare(unseen(a.entry), unseen(b.entry)), cmp.Compare(a.entry.Epoch, b.entry.Epoch), cmp.Compare(a.entry.N, b.entry.N),
			cmp.Compare(a.entry.I, b.entry.I), a.since.Compare(b.since), cmp.Compare(a.reservation.Order, b.reservation.Order))
	})
	return passed, doubtful
}

// unseen is 1 for a purchase whose entry nobody saw.
func unseen(e domain.EntryID) int {
	if e.N == 0 {
		return 1
	}
	return 0
}
