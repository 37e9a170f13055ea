package pgstore

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"seckill/eventstore"
)

// stream gives the state of a stream as of this point of the plan. A stream
// nobody announced is taken as empty, and asked for.
func (p *plan) stream(name string) eventstore.StreamState {
	if state, ok := p.streams[name]; ok {
		return state
	}
	state, known := p.facts.streams[name]
	if !known {
		p.asks.streams[name] = true
	}
	return state
}

func (p *plan) guard(name string) eventstore.Guard {
	if g, ok := p.guards[name]; ok {
		return g
	}
	return p.facts.guards[name]
}

func (p *plan) cursor(lane int) eventstore.Cursor {
	if c, ok := p.cursors[lane]; ok {
		return c
	}
	c, known := p.facts.cursors[lane]
	if !known {
		p.asks.lanes[lane] = true
		c.Lane = lane
	}
	return c
}

func (p *plan) claimsOf(key eventstore.ClaimKey) []eventstore.Claim {
	if list, ok := p.merged[key]; ok {
		return list
	}
	return p.facts.claims[key]
}

// putClaim takes a claim over, and into the list of its key.
func (p *plan) putClaim(c eventstore.Claim) {
	key := eventstore.ClaimKey{SaleID: c.SaleID, BuyerID: c.BuyerID}
	p.claims[claimID{key, c.Ordinal}] = c
	p.merged[key] = eventstore.WithClaim(p.claimsOf(key), c)
}

// Version is eventstore.Held's, as are Place and Span.
func (p *plan) Version(stream string) int64 { return p.stream(stream).Version }

// Place looks in the plan, in those that were taken over, and in the store.
func (p *plan) Place(event uuid.UUID) (stream string, version int64) {
	for _, part := range append([]*plan{p}, p.facts.taken...) {
		part.index()
		if at, ok := part.byID[event]; ok {
			return at.stream, at.version
		}
	}
	at, known := p.facts.ids[event]
	if !known {
		p.asks.ids[event] = true
	}
	return at.stream, at.version
}

// Span puts what the store has of the records before what the plan adds.
func (p *plan) Span(stream string, from int64, count int) []eventstore.Record {
	newest, last := p.stream(stream).Version, from+int64(count)-1
	if last > newest {
		return nil
	}
	p.index()
	added := p.byStream[stream]
	stored := newest - int64(len(added))
	var found []eventstore.Record
	if from <= stored {
		s := span{place{stream, from}, int(min(last, stored) - from + 1)}
		records, known := p.facts.spans[s]
		if !known {
			p.asks.spans[s] = true
		}
		if len(records) != s.count {
			return nil
		}
		found = append(found, records...)
	}
	for v := max(from, stored+1); v <= last; v++ {
		found = append(found, p.records[added[v-stored-1]])
	}
	return found
}

// look is what one work may see of a plan: exactly what it said it needs.
type look struct {
	plan    *plan
	streams names[string]
	guards  names[string]
	claims  names[eventstore.ClaimKey]
	lanes   names[int]
}

func newLook(p *plan, n eventstore.Needs) *look {
	return &look{plan: p, streams: namesOf(n.Streams), guards: namesOf(n.Guards), claims: namesOf(n.Claims), lanes: namesOf(n.Lanes)}
}

// names is a set of what was named: few are looked through, many are indexed.
type names[T comparable] struct {
	list []T
	set  map[T]bool
}

const fewNames = 8

func namesOf[T comparable](keys []T) names[T] {
	if len(keys) <= fewNames {
		return names[T]{list: keys}
	}
	set := make(map[T]bool, len(keys))
	for _, k := range keys {
		set[k] = true
	}
	return names[T]{set: set}
}

func (n names[T]) mustHave(key T, kind string) {
	if !n.set[key] && !slices.Contains(n.list, key) {
		panic(fmt.Sprintf("decide looked at %s %v, which its work does not name in Needs", kind, key))
	}
}

func (l *look) Stream(name string) eventstore.StreamState {
	l.streams.mustHave(name, "stream")
	return l.plan.stream(name)
}

func (l *look) Guard(stream string) eventstore.Guard {
	l.guards.mustHave(stream, "guard")
	return l.plan.guard(stream)
}

func (l *look) Claims(key eventstore.ClaimKey) []eventstore.Claim {
	l.claims.mustHave(key, "claims of")
	return slices.Clone(l.plan.claimsOf(key))
}

func (l *look) Cursor(lane int) eventstore.Cursor {
	l.lanes.mustHave(lane, "cursor of lane")
	return l.plan.cursor(lane)
}

func (l *look) Now() time.Time { return l.plan.facts.head.now }
