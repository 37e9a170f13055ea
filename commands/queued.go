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

// QueueJournal is what a Queue asks of the gate.
type QueueJournal interface {
	Lane(ctx context.Context, lane int) (LaneState, error)
	Read(ctx context.Context, after []eventstore.Cursor, max int, wait time.Duration) ([]JournalEntry, error)
}

// Queue watches accepted purchases that the log has not decided.
type Queue struct {
	Env     *Env
	Journal QueueJournal
	Log     interface {
		Cursors(ctx context.Context, lanes []int) ([]eventstore.Cursor, error)
	}
	// Kept is what this process acknowledged; nil: nothing.
	Kept *Kept
	// Alarm is called when the oldest has waited for longer than QueuedTooLong, once
	// until none does; may be nil.
	Alarm func(Alarm)

	mu      sync.Mutex
	cursors map[int]eventstore.Cursor
	oldest  time.Time // accepted at, of the journals; zero: none
	orders  int64
	entries int64
	atMost  bool
	read    bool // in the last look
	alarmed bool
}

// Queued is how many accepted purchases are undecided, and how old the oldest is.
type Queued struct {
	Orders int64
	Oldest time.Duration
	// Entries of the journals lie behind the log's cursors. While the log is away they are
	// counted from where it was last, which cannot be fewer than there are (AtMost).
	Entries int64
	AtMost  bool
	// Read: the journals were read, so that all of this is of now.
	Read bool
}

// QueuedTooLong is for how long an order may be queued before a person looks: no
// order is queued for long unless a store is away or nobody records.
const QueuedTooLong = 30 * time.Second

// queueRead bounds how many journal entries one look reads, over all lanes.
const queueRead = 64

// queueCursors bounds asking the log where it is.
const queueCursors = 700 * time.Millisecond

// Look counts what the journals of lanes hold after the log's cursors, and what
// this process keeps. It reads at most about queueRead entries; with more, the
// rest is counted by their mean. While a store is away it goes by what it saw
// last, so that ages go on growing; then there is an error too.
func (q *Queue) Look(ctx context.Context, lanes []int) (Queued, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	err := q.journals(ctx, lanes)
	now := q.Env.Now()
	seen := Queued{Orders: q.orders, Entries: q.entries, AtMost: q.atMost, Read: q.read}
	if !q.oldest.IsZero() {
		seen.Oldest = max(now.Sub(q.oldest), 0)
	}
	if q.Kept != nil {
		n, since := q.Kept.waiting()
		seen.Orders = max(seen.Orders, int64(n)) // those of its journal are among them
		if n > 0 {
			seen.Oldest = max(seen.Oldest, now.Sub(since))
		}
	}
	late := seen.Oldest > QueuedTooLong
	if late && !q.alarmed && q.Alarm != nil {
		q.Env.Log.Error("an accepted order is still not decided", "alarm", AlarmQueued, "orders", seen.Orders, "oldest_seconds", int(seen.Oldest.Seconds()))
		q.Alarm(Alarm{Kind: AlarmQueued, Lane: -1, Detail: fmt.Sprintf("%d orders are queued, the oldest for %s", seen.Orders, seen.Oldest.Round(time.Second)), Logged: true})
	}
	q.alarmed = late
	return seen, err
}

// journals looks at what lies after the cursors.
func (q *Queue) journals(ctx context.Context, lanes []int) error {
	q.read = false
	patient, cancel := context.WithTimeout(ctx, queueCursors) // a log that hangs leaves time for the gate
	cursors, err := q.Log.Cursors(patient, lanes)
	cancel()
	q.atMost = err != nil
	if q.cursors == nil {
		q.cursors = map[int]eventstore.Cursor{}
	}
	for i := range cursors {
		cursors[i].Lane = lanes[i]
		q.cursors[lanes[i]] = cursors[i]
	}
	var behind []eventstore.Cursor
	var lag int64
	all := true
	for _, lane := range lanes {
		c, known := q.cursors[lane]
		if !known {
			all = false
			continue
		}
		state, laneErr := q.Journal.Lane(ctx, lane)
		if laneErr != nil {
			return errors.Join(err, fmt.Errorf("look at lane %d: %w", lane, laneErr))
		}
		if state.Epoch == c.Epoch && state.N > c.N {
			behind = append(behind, c)
			lag += state.N - c.N
		}
	}
	q.entries = lag
	if len(behind) == 0 {
		q.oldest, q.orders, q.read = time.Time{}, 0, all
		return err
	}
	entries, readErr := q.Journal.Read(ctx, behind, max(queueRead, len(behind)), 0)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	q.count(entries, lag)
	q.read = all
	return err
}

func (q *Queue) count(entries []JournalEntry, lag int64) {
	var oldest time.Time
	var purchases int64
	for _, e := range entries {
		body, err := DecodeEntry(e.Body)
		if err != nil {
			continue // whoever records it alarms
		}
		purchases += int64(len(body.Purchases))
		if at := body.Time(); oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	if n := int64(len(entries)); n > 0 && lag > n {
		purchases = purchases * lag / n
	}
	q.oldest, q.orders = oldest, purchases
}

// QueueLanes lists the lanes that hold a sale.
func QueueLanes(store uint8, sales []FoldedSale) []int {
	var lanes []int
	var seen [domain.Lanes]bool
	for _, sale := range sales {
		if sale.Cleaned {
			continue
		}
		for _, place := range Places(store, sale.Sale) {
			if lane := place.Lane(); !seen[lane] {
				seen[lane], lanes = true, append(lanes, lane)
			}
		}
	}
	return lanes
}
