package pgstore

import (
	"cmp"
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

// putClaim replaces the claim of the same ordinal or adds it; one without an order
// takes it away.
func (p *plan) putClaim(c eventstore.Claim) {
	key := eventstore.ClaimKey{SaleID: c.SaleID, BuyerID: c.BuyerID}
	p.claims[claimID{key, c.Ordinal}] = c
	list := slices.Clone(p.claimsOf(key))
	at, found := slices.BinarySearchFunc(list, c.Ordinal, func(have eventstore.Claim, ordinal int) int {
		return cmp.Compare(have.Ordinal, ordinal)
	})
	switch {
	case c.OrderID == "" && found:
		list = slices.Delete(list, at, at+1)
	case c.OrderID == "":
	case found:
		list[at] = c
	default:
		list = slices.Insert(list, at, c)
	}
	p.merged[key] = list
}

// find tells where an event stands, in the plan or in the store.
func (p *plan) find(id uuid.UUID) (place, bool) {
	if at, ok := p.byID[id]; ok {
		return at, true
	}
	at, known := p.facts.ids[id]
	if !known {
		p.asks.ids[id] = true
	}
	return at, at.version > 0
}

// recordsOf gives the records that stand where an append would have put its
// events, and whether they are these very events.
func (p *plan) recordsOf(a eventstore.Append, from int64) ([]eventstore.Record, bool) {
	last := from + int64(len(a.Events)) - 1
	if last > p.stream(a.Stream).Version {
		return nil, false
	}
	var found []eventstore.Record
	added := p.byStream[a.Stream]
	stored := p.stream(a.Stream).Version - int64(len(added))
	if from <= stored {
		s := span{place{a.Stream, from}, int(min(last, stored) - from + 1)}
		records, known := p.facts.spans[s]
		if !known {
			p.asks.spans[s] = true
		}
		if len(records) != s.count {
			return nil, false
		}
		found = append(found, records...)
	}
	for v := max(from, stored+1); v <= last; v++ {
		found = append(found, p.records[added[v-stored-1]])
	}
	for i := range found {
		if found[i].ID != a.Events[i].ID {
			return nil, false
		}
	}
	return found, true
}

// look is what one work may see of a plan: exactly what it said it needs.
type look struct {
	plan    *plan
	streams map[string]bool
	guards  map[string]bool
	claims  map[eventstore.ClaimKey]bool
	lanes   map[int]bool
}

func newLook(p *plan, n eventstore.Needs) *look {
	return &look{plan: p, streams: setOf(n.Streams), guards: setOf(n.Guards), claims: setOf(n.Claims), lanes: setOf(n.Lanes)}
}

func setOf[T comparable](keys []T) map[T]bool {
	set := make(map[T]bool, len(keys))
	for _, k := range keys {
		set[k] = true
	}
	return set
}

func mustNeed(ok bool, kind string, key any) {
	if !ok {
		panic(fmt.Sprintf("decide looked at %s %v, which its work does not name in Needs", kind, key))
	}
}

func (l *look) Stream(name string) eventstore.StreamState {
	mustNeed(l.streams[name], "stream", name)
	return l.plan.stream(name)
}

func (l *look) Guard(stream string) eventstore.Guard {
	mustNeed(l.guards[stream], "guard", stream)
	return l.plan.guard(stream)
}

func (l *look) Claims(key eventstore.ClaimKey) []eventstore.Claim {
	mustNeed(l.claims[key], "claims of", key)
	return slices.Clone(l.plan.claimsOf(key))
}

func (l *look) Cursor(lane int) eventstore.Cursor {
	mustNeed(l.lanes[lane], "cursor of lane", lane)
	return l.plan.cursor(lane)
}

func (l *look) Now() time.Time { return l.plan.facts.head.now }
