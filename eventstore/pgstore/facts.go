package pgstore

import (
	"time"

	"github.com/google/uuid"

	"seckill/eventstore"
)

// place is a version of a stream.
type place struct {
	stream  string
	version int64
}

// span is count versions of a stream from a place on.
type span struct {
	place
	count int
}

// head is where the log ends while the lock is held.
type head struct {
	mark eventstore.Mark
	// now is the store's clock, never before the last record's.
	now time.Time
	// partitionsEnd is the first position without a partition.
	partitionsEnd int64
}

// facts is what stands in the store, as far as it was read under the lock. A
// key that is present with a zero value was looked up and does not exist.
type facts struct {
	head    head
	streams map[string]eventstore.StreamState
	guards  map[string]eventstore.Guard
	claims  map[eventstore.ClaimKey][]eventstore.Claim
	cursors map[int]eventstore.Cursor
	// ids tells where events stand that were asked for by id.
	ids map[uuid.UUID]place
	// spans holds the records of a span, all of them or none.
	spans map[span][]eventstore.Record
}

// questions is what a plan had to guess: nothing of it was in the facts, and
// the guess was that nothing stands there.
type questions struct {
	streams map[string]bool
	lanes   map[int]bool
	ids     map[uuid.UUID]bool
	spans   map[span]bool
}

func newQuestions() questions {
	return questions{map[string]bool{}, map[int]bool{}, map[uuid.UUID]bool{}, map[span]bool{}}
}

func (q questions) empty() bool {
	return len(q.streams)+len(q.lanes)+len(q.ids)+len(q.spans) == 0
}

// newFacts makes room for what the works of a batch need; nothing is read yet.
func newFacts(batch []*pending) *facts {
	f := &facts{
		streams: map[string]eventstore.StreamState{}, guards: map[string]eventstore.Guard{},
		claims: map[eventstore.ClaimKey][]eventstore.Claim{}, cursors: map[int]eventstore.Cursor{},
		ids: map[uuid.UUID]place{}, spans: map[span][]eventstore.Record{},
	}
	for _, p := range batch {
		for _, name := range p.work.Needs.Streams {
			f.streams[name] = eventstore.StreamState{}
		}
		for _, name := range p.work.Needs.Guards {
			f.guards[name] = eventstore.Guard{Stream: name}
		}
		for _, key := range p.work.Needs.Claims {
			f.claims[key] = nil
		}
		for _, lane := range p.work.Needs.Lanes {
			f.cursors[lane] = eventstore.Cursor{Lane: lane}
		}
	}
	return f
}
