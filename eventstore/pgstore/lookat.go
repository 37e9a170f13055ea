package pgstore

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
)

// Statements of one LookAt: every statement in between sees the same moment.
const (
	beginLook = `begin isolation level repeatable read read only`
	endLook   = `commit`
)

// LookAt is eventstore.Looker's: one round trip, and no lock.
func (s *Store) LookAt(ctx context.Context, n eventstore.Needs) (eventstore.Look, error) {
	f := newFacts([]*pending{{work: eventstore.Work{Needs: n}}})
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, unread("look", err)
	}
	defer s.release(conn)
	b := &pgx.Batch{}
	b.Queue(beginLook)
	queueHead(b, s.looked.Load(), &f.head)
	queueStreams(b, slices.Collect(maps.Keys(f.streams)), f.streams)
	queueGuards(b, slices.Collect(maps.Keys(f.guards)), f.guards)
	queueClaims(b, slices.Collect(maps.Keys(f.claims)), f.claims)
	queueCursors(b, slices.Collect(maps.Keys(f.cursors)), f.cursors)
	b.Queue(endLook)
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return nil, unread("look", err)
	}
	s.looked.Store(f.head.mark.Number) // 0 where the log went back: the next look begins anew
	return newLook(&plan{facts: f, asks: newQuestions()}, n), nil
}
