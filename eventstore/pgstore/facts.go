package pgstore

import (
	"maps"
	"slices"
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
	// taken are the plans that were taken over.
	taken []*plan
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

// take takes over what a plan has decided, as if it had been read.
func (f *facts) take(p *plan) {
	p.moved, p.guarded = make(map[string]int64), make(map[string]int64, len(p.guards))
	for name := range p.streams {
		if before := f.streams[name].Version; before > 0 {
			p.moved[name] = before
		}
	}
	for name := range p.guards {
		p.guarded[name] = f.guards[name].Version
	}
	if n := len(p.records); n > 0 {
		f.head.mark = p.records[n-1].Head()
	}
	maps.Copy(f.streams, p.streams)
	maps.Copy(f.guards, p.guards)
	maps.Copy(f.claims, p.merged)
	maps.Copy(f.cursors, p.cursors)
	f.taken = append(f.taken, p)
	clear(f.spans) // what was not there may be now
}

// lacks tells whether a claim is known not to be there.
func (f *facts) lacks(id claimID) bool {
	list, known := f.claims[id.ClaimKey]
	return known && !slices.ContainsFunc(list, func(c eventstore.Claim) bool { return c.Ordinal == id.ordinal })
}
