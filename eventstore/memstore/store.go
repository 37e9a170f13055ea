package memstore

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"

	"seckill/eventstore"
)

// Store is an eventstore.Store in memory. It is safe for concurrent use.
type Store struct {
	clock func() time.Time

	mu   sync.Mutex
	data data
}

var _ eventstore.Store = (*Store)(nil)

// New makes an empty store. clock is the store's; records have its microseconds.
func New(clock func() time.Time) *Store {
	return &Store{clock: clock, data: newData(nil)}
}

// place is a version of a stream.
type place struct {
	stream  string
	version int64
}

// data is everything a store holds.
type data struct {
	records []eventstore.Record
	// Of records: where each stream has its versions, and each event stands.
	streams map[string][]int
	ids     map[uuid.UUID]place

	guards  map[string]eventstore.Guard
	claims  map[eventstore.ClaimKey][]eventstore.Claim // by ordinal; lists are replaced, never changed
	cursors map[int]eventstore.Cursor
}

func newData(records []eventstore.Record) data {
	d := data{
		streams: map[string][]int{}, ids: map[uuid.UUID]place{},
		guards: map[string]eventstore.Guard{}, claims: map[eventstore.ClaimKey][]eventstore.Claim{}, cursors: map[int]eventstore.Cursor{},
	}
	for _, r := range records {
		d.put(r)
	}
	return d
}

// put adds a record to the end.
func (d *data) put(r eventstore.Record) {
	d.streams[r.Stream] = append(d.streams[r.Stream], len(d.records))
	d.ids[r.ID] = place{r.Stream, r.Version}
	d.records = append(d.records, r)
}

func (d *data) head() eventstore.Mark {
	if len(d.records) == 0 {
		return eventstore.Mark{}
	}
	return d.records[len(d.records)-1].Head()
}

func (d *data) state(stream string) eventstore.StreamState {
	at := d.streams[stream]
	if len(at) == 0 {
		return eventstore.StreamState{}
	}
	r := &d.records[at[len(at)-1]]
	return eventstore.StreamState{Version: r.Version, Type: r.Type, Hash: r.Hash}
}

func (d *data) guard(stream string) eventstore.Guard {
	g := d.guards[stream]
	g.Stream = stream
	return g
}

func (d *data) cursor(lane int) eventstore.Cursor {
	c := d.cursors[lane]
	c.Lane = lane
	return c
}

// Snapshot is a copy of everything a store held.
type Snapshot struct{ data data }

// Snapshot copies everything the store holds.
func (s *Store) Snapshot() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Snapshot{data: s.data.clone()}
}

// Restore puts a copy back, as a backup, or a standby that lacked the last commits,
// does.
func (s *Store) Restore(from *Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.data = from.data.clone()
}

func (d *data) clone() data {
	c := newData(d.records)
	c.guards, c.claims, c.cursors = maps.Clone(d.guards), maps.Clone(d.claims), maps.Clone(d.cursors)
	return c
}

// now is the store's clock, never before the last record's.
func (s *Store) now() time.Time {
	now := time.UnixMicro(s.clock().UnixMicro()).UTC()
	if n := len(s.data.records); n > 0 && s.data.records[n-1].RecordedAt.After(now) {
		return s.data.records[n-1].RecordedAt
	}
	return now
}

// Submit is eventstore.Appender's: a work is decided and stored, or refused, in one
// step. A panic of Decide is the submitter's.
func (s *Store) Submit(ctx context.Context, w eventstore.Work) (eventstore.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return eventstore.Receipt{}, fmt.Errorf("submit work: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	group, err := w.Decide(newLook(&s.data, w.Needs, now))
	if err != nil || group == nil {
		return eventstore.Receipt{}, err
	}
	if err := s.data.check(group); err != nil {
		return eventstore.Receipt{}, err
	}
	outcome, found := eventstore.Judge(&s.data, group)
	switch outcome {
	case eventstore.Stored:
		found = s.data.accept(group, now)
	case eventstore.AlreadyThere:
		s.data.putCursors(group.Cursors)
	}
	return eventstore.Receipt{Outcome: outcome, Records: found}, nil
}
