package memstore

import (
	"context"
	"fmt"
	"slices"
	"time"

	"seckill/eventstore"
)

// look is what one work may see: exactly what it said it needs.
type look struct {
	needs   eventstore.Needs
	now     time.Time
	streams map[string]eventstore.StreamState
	guards  map[string]eventstore.Guard
	claims  map[eventstore.ClaimKey][]eventstore.Claim
	cursors map[int]eventstore.Cursor
}

// newLook copies what n names.
func newLook(d *data, n eventstore.Needs, now time.Time) *look {
	l := &look{
		needs: n, now: now,
		streams: make(map[string]eventstore.StreamState, len(n.Streams)), guards: make(map[string]eventstore.Guard, len(n.Guards)),
		claims: make(map[eventstore.ClaimKey][]eventstore.Claim, len(n.Claims)), cursors: make(map[int]eventstore.Cursor, len(n.Lanes)),
	}
	for _, name := range n.Streams {
		l.streams[name] = d.state(name)
	}
	for _, name := range n.Guards {
		l.guards[name] = d.guard(name)
	}
	for _, key := range n.Claims {
		l.claims[key] = d.claims[key]
	}
	for _, lane := range n.Lanes {
		l.cursors[lane] = d.cursor(lane)
	}
	return l
}

// named gives what was looked up under a key, which the work must have named.
func named[K comparable, V any](found map[K]V, key K, kind string) V {
	v, ok := found[key]
	if !ok {
		panic(fmt.Sprintf("decide looked at %s %v, which its work does not name in Needs", kind, key))
	}
	return v
}

func (l *look) Stream(name string) eventstore.StreamState { return named(l.streams, name, "stream") }

func (l *look) Guard(stream string) eventstore.Guard { return named(l.guards, stream, "guard") }

func (l *look) Claims(key eventstore.ClaimKey) []eventstore.Claim {
	return slices.Clone(named(l.claims, key, "claims of"))
}

func (l *look) Cursor(lane int) eventstore.Cursor { return named(l.cursors, lane, "cursor of lane") }

func (l *look) Now() time.Time { return l.now }

// LookAt is eventstore.Looker's.
func (s *Store) LookAt(ctx context.Context, n eventstore.Needs) (eventstore.Look, error) {
	if err := ctx.Err(); err != nil {
		return nil, unread("look", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return newLook(&s.data, n, s.now()), nil
}
