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

	records  []eventstore.Record
	byStream map[string][]int // indexes into records, by version
	byID     map[uuid.UUID]place
	streams  map[string]eventstore.StreamState
	guards   map[string]eventstore.Guard
	claims   map[claimID]eventstore.Claim
	cursors  map[int]eventstore.Cursor
	// merged is the whole list of claims of keys that a work changed.
	merged map[eventstore.ClaimKey][]eventstore.Claim

	results []result
}

// result is the answer to one work.
type result struct {
	receipt eventstore.Receipt
	err     error
	panic   any
}

// makePlan decides the works one after the other.
func makePlan(f *facts, batch []*pending) *plan {
	p := &plan{
		facts: f, asks: newQuestions(),
		byStream: map[string][]int{}, byID: map[uuid.UUID]place{},
		streams: map[string]eventstore.StreamState{}, guards: map[string]eventstore.Guard{},
		claims: map[claimID]eventstore.Claim{}, cursors: map[int]eventstore.Cursor{},
		merged:  map[eventstore.ClaimKey][]eventstore.Claim{},
		results: make([]result, len(batch)),
	}
	for i, item := range batch {
		p.results[i] = p.decide(item.work)
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
	outcome, found := p.judge(group)
	switch outcome {
	case eventstore.Conflict:
		return result{receipt: eventstore.Receipt{Outcome: outcome}}
	case eventstore.AlreadyThere:
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

// judge tells what becomes of a group, before anything of it is taken over.
func (p *plan) judge(g *eventstore.Group) (eventstore.Outcome, []eventstore.Record) {
	versions := map[string]int64{}
	var found []eventstore.Record
	fits := len(g.Guards)+len(g.Claims)+len(g.Cursors) > 0
	there := false
	for _, a := range g.Appends {
		now, moved := versions[a.Stream]
		if !moved {
			now = p.stream(a.Stream).Version
		}
		if from, repeated := p.repeats(a, now); repeated {
			records, same := p.recordsOf(a, from)
			if !same {
				return eventstore.Conflict, nil
			}
			there, found = true, append(found, records...)
			continue
		}
		if a.Expected != eventstore.AnyVersion && a.Expected != now {
			return eventstore.Conflict, nil
		}
		if a.Expected == eventstore.AnyVersion && p.elsewhere(a) {
			return eventstore.Conflict, nil
		}
		if len(a.Events) > 0 {
			versions[a.Stream] = now + int64(len(a.Events))
		}
	}
	switch {
	case there && len(versions) > 0:
		return eventstore.Conflict, nil
	case there:
		return eventstore.AlreadyThere, found
	case len(versions) > 0 || fits:
		return eventstore.Stored, nil
	}
	return eventstore.Nothing, nil
}

// repeats tells whether an append looks like one that was stored before, and
// the version its first event would have.
func (p *plan) repeats(a eventstore.Append, now int64) (from int64, ok bool) {
	switch {
	case len(a.Events) == 0:
		return 0, false
	case a.Expected == eventstore.AnyVersion:
		at, ok := p.find(a.Events[0].ID)
		return at.version, ok && at.stream == a.Stream
	}
	return a.Expected + 1, a.Expected >= 0 && a.Expected < now
}

// elsewhere tells whether the first event of an append stands in another stream.
func (p *plan) elsewhere(a eventstore.Append) bool {
	if len(a.Events) == 0 {
		return false
	}
	at, ok := p.find(a.Events[0].ID)
	return ok && at.stream != a.Stream
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
	for _, cursor := range g.Cursors {
		p.cursors[cursor.Lane] = cursor
	}
	outcome := eventstore.Stored
	if len(p.records) == before && len(g.Guards)+len(g.Claims)+len(g.Cursors) == 0 {
		outcome = eventstore.Nothing
	}
	after := len(p.records)
	return eventstore.Receipt{Outcome: outcome, Records: p.records[before:after:after]}
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
	r.Hash = eventstore.ComputeHash(last.Hash, &r)
	p.byStream[stream] = append(p.byStream[stream], len(p.records))
	p.byID[r.ID] = place{stream, r.Version}
	p.streams[stream] = eventstore.StreamState{Version: r.Version, Type: r.Type, Hash: r.Hash}
	p.records = append(p.records, r)
}
