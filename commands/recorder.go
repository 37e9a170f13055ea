package commands

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// Alarm is something a person must look at. Kind is a stable word.
type Alarm struct {
	Kind   string
	Lane   int // -1: of none
	Detail string
	// Logged: who raises it wrote lines of its own with the field alarm, that say more.
	Logged bool
}

// Kinds of alarms, for metrics that must exist from the start.
const (
	AlarmPoison       = "poison"        // a purchase could not be recorded and was rejected
	AlarmEntryForm    = "entry_form"    // a journal entry of a form that this program does not read
	AlarmEntryFrame   = "entry_frame"   // a journal entry whose frame cannot be read
	AlarmJournal      = "journal"       // the journal does not follow the cursor
	AlarmStore        = "store"         // the event store does not answer the recorder
	AlarmGate         = "gate"          // the gate does not answer the recorder
	AlarmRecovery     = "recovery"      // a lane was recovered, or could not be
	AlarmJournalChain = "journal_chain" // a recovery read a journal whose digests do not chain
	AlarmQueued       = "queued"        // an accepted order has not been decided for long
	AlarmExpiry       = "expiry"        // orders whose time to pay is over cannot be ended
)

// AlarmKinds lists every kind.
func AlarmKinds() []string {
	return []string{AlarmPoison, AlarmEntryForm, AlarmEntryFrame, AlarmJournal, AlarmStore, AlarmGate, AlarmRecovery, AlarmJournalChain, AlarmDrift, AlarmQueued, AlarmExpiry, AlarmSeal, AlarmPreheat, AlarmMembers, AlarmTranche, AlarmAcknowledgement}
}

// Log is everything that the machines between gate and log need of the store.
type Log interface {
	eventstore.Appender
	eventstore.Reader
	eventstore.Directory
	eventstore.Ledger
}

// RecorderOptions tune a Recorder; zero values take the defaults.
type RecorderOptions struct {
	// Lanes are those whose journals are recorded, each once, from 0 to
	// domain.Lanes-1; nil is all. Two recorders of one lane change nothing of what is
	// recorded, and are slower.
	Lanes []int
	// MaxEntries bounds how many journal entries are read at once (200).
	MaxEntries int
	// PagePurchases is how many purchases go into one transaction (500); an entry
	// is never divided.
	PagePurchases int
	// Idle is how long one read waits for the first entry (500 ms).
	Idle time.Duration
	// PoisonTries is how often a purchase is tried alone before it is rejected (10).
	PoisonTries int
	// Backoff is the pause of a lane after a fault (100 ms).
	Backoff time.Duration
	// Recorded is called after a page, for metrics; may be nil.
	Recorded func(lane, purchases int)
	// Alarm is called for what a person must look at; may be nil.
	Alarm func(Alarm)
	// Suspect is called when a lane's journal does not follow its cursor; may be nil.
	Suspect func(lane int)
}

func (o RecorderOptions) withDefaults() RecorderOptions {
	if o.Lanes == nil {
		for lane := range domain.Lanes {
			o.Lanes = append(o.Lanes, lane)
		}
	}
	o.MaxEntries = orDefault(o.MaxEntries, 200)
	o.PagePurchases = orDefault(o.PagePurchases, 500)
	o.Idle = orDefault(o.Idle, 500*time.Millisecond)
	o.PoisonTries = orDefault(o.PoisonTries, 10)
	o.Backoff = orDefault(o.Backoff, 100*time.Millisecond)
	if o.Recorded == nil {
		o.Recorded = func(int, int) {}
	}
	if o.Alarm == nil {
		o.Alarm = func(Alarm) {}
	}
	if o.Suspect == nil {
		o.Suspect = func(int) {}
	}
	return o
}

func orDefault[T comparable](v, d T) T {
	var zero T
	if v == zero {
		return d
	}
	return v
}

// Recorder turns the journals of its lanes into events. For each page it
// compares the lane's cursor, decides, appends and moves the cursor in one
// transaction: a second recorder, or one that was thought dead, changes nothing.
// Faults of a store stop the lane and alarm; they never throw purchases away.
type Recorder struct {
	env     *Env
	journal Journal
	log     Log
	follow  *Follower
	opts    RecorderOptions
	lanes   [domain.Lanes]recorderLane
	applies chan []eventstore.Record
	lookAt  time.Time // when the cursors are read again
}

// recorderLane is what the recorder remembers of a lane between reads. One
// goroutine at a time works on a lane.
type recorderLane struct {
	cursor  eventstore.Cursor
	retryAt time.Time
	tries   map[string]int // by entry id of a purchase that was tried alone
}

var (
	errCursorMoved = errors.New("the lane's cursor has moved")
	errEntryOrder  = errors.New("the journal does not follow the cursor")
)

// NewRecorder makes a Recorder; Run drives it.
func NewRecorder(env *Env, journal Journal, log Log, follow *Follower, opts RecorderOptions) *Recorder {
	return &Recorder{
		env: env, journal: journal, log: log, follow: follow, opts: opts.withDefaults(),
		applies: make(chan []eventstore.Record, domain.Lanes),
	}
}

// Run records until ctx ends; it finishes the page at hand.
func (r *Recorder) Run(ctx context.Context) error {
	var applier sync.WaitGroup
	applier.Go(func() { r.applyAll(context.WithoutCancel(ctx)) })
	defer applier.Wait()
	defer close(r.applies)
	for _, lane := range r.opts.Lanes {
		r.lanes[lane].tries = map[string]int{}
	}
	r.refreshUntilDone(ctx)
	for ctx.Err() == nil {
		r.lookAgain(ctx)
		if err := r.round(ctx); err != nil && ctx.Err() == nil {
			r.fault(AlarmGate, 0, err)
			pause(ctx, r.opts.Backoff)
		}
	}
	return nil
}

func (r *Recorder) refreshUntilDone(ctx context.Context) {
	for ctx.Err() == nil {
		err := r.refresh(ctx, r.opts.Lanes...)
		if err == nil {
			return
		}
		r.fault(AlarmStore, 0, err)
		pause(ctx, r.opts.Backoff)
	}
}

// cursorsEvery is how often the cursors are read again although nothing asks for it.
const cursorsEvery = time.Second

// lookAgain reads the cursors again from time to time. A log that went back (a standby
// that had lost commits was promoted) stands before what this recorder has recorded, and
// where nothing more is sold no page would ever find that out.
func (r *Recorder) lookAgain(ctx context.Context) {
	now := r.env.Now()
	if now.Before(r.lookAt) {
		return
	}
	r.lookAt = now.Add(cursorsEvery)
	if err := r.refresh(ctx, r.opts.Lanes...); err != nil && ctx.Err() == nil {
		r.env.Log.Warn("cursors not read again; tried later", "error", err)
	}
}

// refresh reads the cursors of lanes as the log has them.
func (r *Recorder) refresh(ctx context.Context, lanes ...int) error {
	cursors, err := r.log.Cursors(ctx, lanes)
	if err != nil {
		return fmt.Errorf("read cursors: %w", err)
	}
	for i, lane := range lanes {
		r.lanes[lane].cursor = cursors[i]
		r.lanes[lane].cursor.Lane = lane
	}
	return nil
}

func (r *Recorder) fault(kind string, lane int, err error) {
	r.env.Log.Error("recorder stopped by a fault; it tries again", "alarm", kind, "lane", lane, "error", err)
	r.opts.Alarm(Alarm{Kind: kind, Lane: lane, Detail: err.Error(), Logged: true})
}

// round reads what waits in every lane that is not pausing, and records it, the
// lanes side by side.
func (r *Recorder) round(ctx context.Context) error {
	now := r.env.Now()
	var after []eventstore.Cursor
	for _, lane := range r.opts.Lanes {
		if !now.Before(r.lanes[lane].retryAt) {
			after = append(after, r.lanes[lane].cursor)
		}
	}
	wait := r.opts.Idle
	if len(after) < len(r.opts.Lanes) {
		wait = min(wait, r.opts.Backoff)
	}
	if len(after) == 0 {
		pause(ctx, wait)
		return nil
	}
	entries, err := r.journal.Read(ctx, after, r.opts.MaxEntries, wait)
	if err != nil {
		return fmt.Errorf("read journals: %w", err)
	}
	byLane := map[int][]JournalEntry{}
	for _, e := range entries {
		byLane[e.Lane] = append(byLane[e.Lane], e)
	}
	var all sync.WaitGroup
	for lane, entries := range byLane {
		all.Go(func() { r.lane(context.WithoutCancel(ctx), lane, entries) })
	}
	all.Wait()
	return nil
}

// lane records what was read of one lane, page by page, and decides what a
// fault means.
func (r *Recorder) lane(ctx context.Context, lane int, entries []JournalEntry) {
	err := r.pages(ctx, lane, entries)
	var future *FutureEntryError
	switch {
	case err == nil:
		return
	case errors.Is(err, errCursorMoved):
		if err := r.refresh(ctx, lane); err != nil {
			r.fault(AlarmStore, lane, err)
		}
		return
	case errors.Is(err, errEntryOrder):
		r.fault(AlarmJournal, lane, err)
		r.opts.Suspect(lane)
		if err := r.refresh(ctx, lane); err != nil {
			r.fault(AlarmStore, lane, err)
		}
	case errors.As(err, &future):
		r.fault(AlarmEntryForm, lane, err)
	case errors.Is(err, errFrame):
		r.fault(AlarmEntryFrame, lane, err)
	case errors.Is(err, errTryAgain):
	default:
		r.fault(AlarmStore, lane, err)
	}
	r.lanes[lane].retryAt = r.env.Now().Add(r.opts.Backoff)
}

// pages cuts entries into pages of about PagePurchases and commits each; a withdrawal or
// a move is one by itself. An entry of another epoch means that the lane moved on: its cursor is read again.
func (r *Recorder) pages(ctx context.Context, lane int, entries []JournalEntry) error {
	next := r.lanes[lane].cursor
	var page []accepted
	for i, e := range entries {
		if e.ID.Epoch != next.Epoch {
			if err := r.commit(ctx, lane, page, next); err != nil {
				return err
			}
			return r.otherEpoch(ctx, lane, e)
		}
		if e.ID.N != next.N+1 || domain.NextDigest(next.Digest, e.Body) != e.Digest {
			return fmt.Errorf("lane %d: entry %s after cursor %d-%d: %w", lane, e.ID, next.Epoch, next.N, errEntryOrder)
		}
		entry, err := openEntry(e)
		if err != nil {
			return err
		}
		if entry.taken != nil {
			if err := r.commit(ctx, lane, page, next); err != nil {
				return err
			}
			page = nil
		}
		next.N, next.Digest = e.ID.N, e.Digest
		if entry.taken != nil {
			if err := r.withdraw(ctx, entry.taken, next); err != nil {
				return err
			}
		}
		page = append(page, entry.purchases...)
		if len(page) >= r.opts.PagePurchases || i == len(entries)-1 {
			if err := r.commit(ctx, lane, page, next); err != nil {
				return err
			}
			page = nil
		}
	}
	return nil
}

// otherEpoch reads the cursor again; a journal that is still ahead of it is a
// matter for a recovery.
func (r *Recorder) otherEpoch(ctx context.Context, lane int, e JournalEntry) error {
	if err := r.refresh(ctx, lane); err != nil {
		return err
	}
	if e.ID.Epoch > r.lanes[lane].cursor.Epoch {
		return fmt.Errorf("lane %d: entry %s after cursor of epoch %d: %w", lane, e.ID, r.lanes[lane].cursor.Epoch, errEntryOrder)
	}
	return nil
}
