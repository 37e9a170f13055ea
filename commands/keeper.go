package commands

import (
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

// Locks gives leader locks: at most one holder of a name at a time, except for a
// moment after a broken connection. What is done under one is fenced as well.
type Locks interface {
	// Lock waits for the lock until ctx ends. The context it gives ends when the
	// lock is lost; release gives it back.
	Lock(ctx context.Context, name string) (held context.Context, release func(), err error)
}

// KeeperGate is what the lane keeper asks of the gate.
type KeeperGate interface {
	Journal
	Applier
	Lanes
	Hashes
	Preheater
	Cleaner
}

// KeeperOptions tune a Keeper; zero values take the defaults.
type KeeperOptions struct {
	// Look is how often every lane is looked at (250 ms).
	Look time.Duration
	// Sweep is how often every record and stock hash is looked at (1 s).
	Sweep time.Duration
	// SweepMost bounds how many buckets of sales one sweep looks at (256); with more,
	// each has its turn.
	SweepMost int
	// Wait bounds waiting for a lock, and for the cursor during a preheat (5 s).
	Wait time.Duration
	// Alarm is called when a lane was recovered or could not be; may be nil.
	Alarm func(Alarm)
	// Broken is called when a lane was recovered whose journal had lost or changed an
	// entry: its purchases are in the gate's record alone then. May be nil.
	Broken func(lane int)
}

func (o KeeperOptions) withDefaults() KeeperOptions {
	o.Look = orDefault(o.Look, 250*time.Millisecond)
	o.Sweep = orDefault(o.Sweep, time.Second)
	o.SweepMost = orDefault(o.SweepMost, 256)
	o.Wait = orDefault(o.Wait, 5*time.Second)
	if o.Alarm == nil {
		o.Alarm = func(Alarm) {}
	}
	if o.Broken == nil {
		o.Broken = func(int) {}
	}
	return o
}

// Keeper keeps every lane of the gate open and in step with the log: it recovers
// a lane that is missing, on another process, or whose journal disagrees, builds
// again what a healthy lane lost, and brings up what stayed behind. Several
// keepers are harmless: each works on a lane under that lane's lock.
type Keeper struct {
	env    *Env
	sales  *Sales
	gate   KeeperGate
	log    Log
	follow *Follower
	locks  Locks
	opts   KeeperOptions

	wake chan struct{}
	// Of the sweep; the goroutine of Run alone knows them.
	turn int
	late []lateBucket

	living, gone madeOf[contents] // of the list of all sales

	mu      sync.Mutex
	suspect map[int]bool
	held    map[domain.Place]time.Time // since when a hold stands unconfirmed
	failing map[int]failure
	removed map[domain.Place]string    // cleaned-up sales, and the process of the gate they were taken from
	kept    map[domain.Place]time.Time // when the gate was last told to keep a bucket
}

// NewKeeper makes a Keeper; Run drives it, Preheat may be called beside it.
func NewKeeper(env *Env, sales *Sales, gate KeeperGate, log Log, follow *Follower, locks Locks, opts KeeperOptions) *Keeper {
	return &Keeper{
		env: env, sales: sales, gate: gate, log: log, follow: follow, locks: locks, opts: opts.withDefaults(),
		wake: make(chan struct{}, 1), suspect: map[int]bool{}, held: map[domain.Place]time.Time{}, failing: map[int]failure{},
	}
}

// Suspect asks for a recovery of a lane whose journal does not follow its cursor.
func (k *Keeper) Suspect(lane int) {
	k.mu.Lock()
	k.suspect[lane] = true
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Run keeps the lanes until ctx ends.
func (k *Keeper) Run(ctx context.Context) error {
	var swept time.Time
	for ctx.Err() == nil {
		sweep := k.env.Now().Sub(swept) >= k.opts.Sweep
		if sweep {
			swept = k.env.Now()
		}
		if err := k.round(ctx, sweep); err != nil && ctx.Err() == nil {
			k.env.Log.Warn("lanes not looked at; tried again", "error", err)
		}
		wait, cancel := context.WithTimeout(ctx, k.opts.Look)
		select {
		case <-wait.Done():
		case <-k.wake:
		}
		cancel()
	}
	return nil
}

// contents lists, for a lane, the sales and buckets that live in it.
type contents map[int][]saleBucket

type saleBucket struct {
	place domain.Place
	skus  []string
}

func (k *Keeper) contents(ctx context.Context) (contents, error) {
	sales, err := k.sales.List(ctx)
	if err != nil {
		return nil, err
	}
	return k.living.get(sales, func(sales []FoldedSale) contents { return k.contentsOf(sales, false) }), nil
}

// contentsOf lists the buckets of sales that were cleaned up, or of all others.
func (k *Keeper) contentsOf(sales []FoldedSale, cleaned bool) contents {
	all := contents{}
	for i := range sales {
		sale := &sales[i]
		if sale.Cleaned != cleaned {
			continue
		}
		skus := sale.SKUs()
		for _, place := range Places(k.env.Store, sale.Sale) {
			all[place.Lane()] = append(all[place.Lane()], saleBucket{place, skus})
		}
	}
	return all
}

// lanesUnseen is after how many lanes that cannot be looked at the gate is taken to be
// away: one alone is not to keep the keeper from the others.
const lanesUnseen = 3

// round looks at every lane that holds a sale or is suspect, and recovers what
// needs it. A suspect lane without a sale is one whose sale the log has lost: its
// journal still has purchases, and their buyers are to be told.
func (k *Keeper) round(ctx context.Context, sweep bool) error {
	all, err := k.contents(ctx)
	if err != nil {
		return err
	}
	lanes := k.lanesOf(all)
	cursors, err := k.log.Cursors(ctx, lanes)
	if err != nil {
		return fmt.Errorf("read cursors: %w", err)
	}
	if sweep {
		k.turn++
	}
	late := k.late
	k.late = nil
	var faults []error
	healthy, unseen := map[int]bool{}, 0
	for i, lane := range lanes {
		cursors[i].Lane = lane
		state, err := k.gate.Lane(ctx, lane)
		if err != nil {
			faults = append(faults, fmt.Errorf("look at lane %d: %w", lane, err))
			if unseen++; unseen == lanesUnseen {
				return errors.Join(faults...)
			}
			continue
		}
		switch healthy[lane] = k.healthy(state, cursors[i]); {
		case !healthy[lane] && k.rests(lane):
		case !healthy[lane]:
			faults = append(faults, k.recover(ctx, lane))
		case sweep:
			faults = append(faults, k.sweepLane(ctx, lane, k.share(all[lane])))
		}
	}
	for _, b := range late {
		if healthy[b.place.Lane()] {
			faults = append(faults, k.mendLate(ctx, b))
		}
	}
	if sweep {
		faults = append(faults, k.sweepCleaned(ctx))
	}
	return errors.Join(faults...)
}

func (k *Keeper) lanesOf(all contents) []int {
	lanes := slices.Collect(maps.Keys(all))
	k.mu.Lock()
	defer k.mu.Unlock()
	for lane, suspect := range k.suspect {
		if _, known := all[lane]; suspect && !known {
			lanes = append(lanes, lane)
		}
	}
	slices.Sort(lanes)
	return lanes
}

// share gives the buckets of a lane whose turn it is, about SweepMost in all lanes.
func (k *Keeper) share(all []saleBucket) []saleBucket {
	most := max(k.opts.SweepMost/domain.Lanes, 1)
	turns := (len(all) + most - 1) / most
	if turns <= 1 {
		return all
	}
	begin := k.turn % turns * most
	return all[begin:min(begin+most, len(all))]
}

// healthy tells whether a lane sells and agrees with its cursor, as far as a
// look tells; the recorder checks every entry.
func (k *Keeper) healthy(s LaneState, c eventstore.Cursor) bool {
	switch {
	case k.suspects(c.Lane), !s.Selling(), c.Epoch == 0, s.Epoch != c.Epoch, s.N < c.N, torn(s, c):
		return false
	}
	return s.N != c.N || s.Digest == c.Digest
}

// busyWait bounds waiting for a lane on which somebody else works: long enough for
// the connection that a lock takes.
const busyWait = 2 * time.Second

// recover recovers a lane under its lock, if it still needs it then. A lane on which
// somebody else works, which may take a minute for a large sale, is left to him: the
// other lanes are not to wait for it.
func (k *Keeper) recover(ctx context.Context, lane int) error {
	wait, cancel := context.WithTimeout(ctx, min(k.opts.Wait, busyWait))
	defer cancel()
	began := false
	err := k.lockedWithin(ctx, wait, lane, func(ctx context.Context) error {
		began = true
		return k.ensureLane(ctx, lane)
	})
	if !began && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		k.env.Log.Info("somebody else works on a lane", "lane", lane)
		return nil
	}
	return err
}

func laneLock(lane int) string { return fmt.Sprintf("lane-%d", lane) }

// locked does f under a lane's leader lock; f's context ends when it is lost.
func (k *Keeper) locked(ctx context.Context, lane int, f func(context.Context) error) error {
	wait, cancel := context.WithTimeout(ctx, k.opts.Wait)
	defer cancel()
	return k.lockedWithin(ctx, wait, lane, f)
}

// lockedWithin is locked that waits for the lock until wait ends.
func (k *Keeper) lockedWithin(ctx, wait context.Context, lane int, f func(context.Context) error) error {
	held, release, err := k.locks.Lock(wait, laneLock(lane))
	if err != nil {
		return fmt.Errorf("lock lane %d: %w", lane, err)
	}
	defer release()
	work, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(held, stop)()
	return f(work)
}

// ensureLane recovers the lane unless it is healthy. The caller holds its lock. The log
// is asked first: what is accepted and recorded between the two questions makes a lane
// that is ahead of its cursor, which is healthy, and none that is behind it.
func (k *Keeper) ensureLane(ctx context.Context, lane int) error {
	cursor, err := k.cursor(ctx, lane)
	if err != nil {
		return err
	}
	cursor.Lane = lane
	state, err := k.gate.Lane(ctx, lane)
	if err != nil {
		return fmt.Errorf("look at lane %d: %w", lane, err)
	}
	if k.healthy(state, cursor) {
		return nil
	}
	broken := k.broken(state, cursor)
	_, err = k.recoverNow(ctx, lane, state, recoveryWish{})
	if err == nil && broken {
		k.opts.Broken(lane)
	}
	return err
}

// recoverNow recovers the lane whether it needs it or not, and tells whoever
// listens. It gives the lane's new epoch. The caller holds the lane's lock.
func (k *Keeper) recoverNow(ctx context.Context, lane int, seen LaneState, w recoveryWish) (int64, error) {
	began := k.env.Now()
	epoch, err := k.recoverLane(ctx, lane, seen, w)
	again := k.tried(lane, err)
	if err != nil {
		if !again {
			k.opts.Alarm(Alarm{Kind: AlarmRecovery, Lane: lane, Detail: err.Error()})
		}
		return 0, fmt.Errorf("recover lane %d: %w", lane, err)
	}
	k.env.Log.Info("lane recovered", "lane", lane, "epoch", epoch, "took_ms", k.env.Now().Sub(began).Milliseconds())
	return epoch, nil
}

// Preheat makes the gate ready for a sale, and changes nothing that is sold: a
// record that is there is only brought up, and a sale that was cleaned up stays
// away.
func (k *Keeper) Preheat(ctx context.Context, id string) error {
	sale, err := k.sales.Fold(ctx, id)
	if err != nil {
		return err
	}
	if sale.Cleaned {
		return nil
	}
	for _, place := range Places(k.env.Store, sale.Sale) {
		err := k.locked(ctx, place.Lane(), func(ctx context.Context) error {
			if err := k.ensureLane(ctx, place.Lane()); err != nil {
				return err
			}
			return k.preheat(ctx, saleBucket{place, sale.SKUs()})
		})
		if err != nil {
			return fmt.Errorf("preheat sale %s, bucket %d: %w", id, place.Bucket, err)
		}
	}
	return nil
}
