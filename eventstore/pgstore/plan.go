package pgstore

import (
	"fmt"
	"math"

	"github.com/google/uuid"

	"seckill/eventstore"
)

// claimID is the primary key of a claim.
type claimID struct {
	eventstore.ClaimKey
	ordinal int
}

// plan is what a batch will write: the facts, and over them what each work
// decided in turn. It is a pure function of facts and works, so it can be made
// again when a guess turned out wrong.
type plan struct {
	facts *facts
	asks  questions

	records []eventstore.Record
	// byStream (indexes into records, by version) and byID are of the first indexed
	// records: few works ask for them.
	indexed  int
	byStream map[string][]int
	byID     map[uuid.UUID]place
	scratch  []byte // to hash in
	streams  map[string]eventstore.StreamState
	guards   map[string]eventstore.Guard
	claims   map[claimID]eventstore.Claim
	cursors  map[int]eventstore.Cursor
	// merged is the whole list of claims of keys that a work changed.
	merged map[eventstore.ClaimKey][]eventstore.Claim
	// moved and guarded are the versions that streams and guards had before; a stream
	// that is new has none.
	moved, guarded map[string]int64

	results []result
}

// result is the answer to one work.
type result struct {
	receipt eventstore.Receipt
	err     error
	panic   any
}

// makePlan decides the works one after the other, up to the one that brings the plan
// to so many events.
func makePlan(f *facts, batch []*pending, maxEvents int) *plan {
	n := min(len(batch), maxEvents) // most works are a purchase: two events and a claim
	p := &plan{
		facts: f, asks: newQuestions(), records: make([]eventstore.Record, 0, 2*n),
		byStream: map[string][]int{}, byID: map[uuid.UUID]place{},
		streams: make(map[string]eventstore.StreamState, n+1), guards: map[string]eventstore.Guard{},
		claims: make(map[claimID]eventstore.Claim, n), cursors: map[int]eventstore.Cursor{},
		merged:  make(map[eventstore.ClaimKey][]eventstore.Claim, n),
		results: make([]result, 0, n),
	}
	for _, item := range batch {
		p.results = append(p.results, p.decide(item.work))
		if len(p.records) >= maxEvents {
			break
		}
	}
	return p
}

func (p *plan) empty() bool {
	return len(p.records)+len(p.guards)+len(p.claims)+len(p.cursors) == 0
}

func (p *plan) decide(w eventstore.Work) result {
	group, res := p.ask(w)
	if group == nil || res.err != nil || res.panic != nil {
		return res
	}
	if err := p.check(group); err != nil {
		return result{err: err}
	}
	outcome, found := eventstore.Judge(p, group)
	switch outcome {
	case eventstore.Conflict:
		return result{receipt: eventstore.Receipt{Outcome: outcome}}
	case eventstore.AlreadyThere:
		p.putCursors(group.Cursors)
		return result{receipt: eventstore.Receipt{Outcome: outcome, Records: found}}
	}
	return result{receipt: p.accept(group)}
}

// ask runs the work's own code; its panic is kept for the submitter, so that it
// neither takes the lock along nor fails the neighbours.
func (p *plan) ask(w eventstore.Work) (group *eventstore.Group, res result) {
	defer func() {
		if r := recover(); r != nil {
			group, res = nil, result{panic: r}
		}
	}()
	group, err := w.Decide(newLook(p, w.Needs))
	if err != nil {
		return nil, result{err: err}
	}
	return group, result{}
}

// check refuses what no store could keep, before it costs the batch a try.
func (p *plan) check(g *eventstore.Group) error {
	for _, a := range g.Appends {
		for i := range a.Events {
			if s := a.Events[i].Schema; s < 1 || s > math.MaxInt32 {
				return fmt.Errorf("append %s to %s: schema %d: %w", a.Events[i].Type, a.Stream, s, eventstore.ErrData)
			}
		}
	}
	for _, c := range g.Cursors {
		now := p.cursor(c.Lane)
		if c.Epoch < now.Epoch || (c.Epoch == now.Epoch && c.N < now.N) {
			return fmt.Errorf("move cursor of lane %d back from %d-%d to %d-%d: %w",
				c.Lane, now.Epoch, now.N, c.Epoch, c.N, eventstore.ErrData)
		}
	}
	return nil
}

// accept takes a group over into the plan: positions, versions, hashes.
func (p *plan) accept(g *eventstore.Group) eventstore.Receipt {
	before := len(p.records)
	for _, a := range g.Appends {
		for i := range a.Events {
			p.add(a.Stream, &a.Events[i])
		}
	}
	for _, guard := range g.Guards {
		guard.Version = p.stream(guard.Stream).Version
		p.guards[guard.Stream] = guard
	}
	for _, claim := range g.Claims {
		p.putClaim(claim)
	}
	p.putCursors(g.Cursors)
	outcome := eventstore.Stored
	if len(p.records) == before && len(g.Guards)+len(g.Claims)+len(g.Cursors) == 0 {
		outcome = eventstore.Nothing
	}
	after := len(p.records)
	return eventstore.Receipt{Outcome: outcome, Records: p.records[before:after:after]}
}

func (p *plan) putCursors(cursors []eventstore.Cursor) {
	for _, cursor := range cursors {
		p.cursors[cursor.Lane] = cursor
	}
}

func (p *plan) add(stream string, e *eventstore.NewEvent) {
	last := p.facts.head.mark
	if n := len(p.records); n > 0 {
		last = p.records[n-1].Head()
	}
	r := eventstore.Record{
		Position: last.Number + 1, ID: e.ID, Stream: stream, Version: p.stream(stream).Version + 1,
		Type: e.Type, Schema: e.Schema, SaleID: e.SaleID, OrderID: e.OrderID,
		RecordedAt: p.facts.head.now, Payload: e.Payload, Metadata: e.Metadata,
	}
	if r.Payload == nil {
		r.Payload = []byte{}
	}
	if r.Metadata == nil {
		r.Metadata = []byte{}
	}
	r.Hash, p.scratch = eventstore.ComputeHashIn(p.scratch, last.Hash, &r)
	p.streams[stream] = eventstore.StreamState{Version: r.Version, Type: r.Type, Hash: r.Hash}
	p.records = append(p.records, r)
}

// index brings byStream and byID up to all records.
func (p *plan) index() {
	for ; p.indexed < len(p.records); p.indexed++ {
		r := &p.records[p.indexed]
		p.byStream[r.Stream] = append(p.byStream[r.Stream], p.indexed)
		p.byID[r.ID] = place{r.Stream, r.Version}
	}
}
