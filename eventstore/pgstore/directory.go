package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
)

const (
	// Old versions of hot streams are few, so that a plain distinct is fast.
	selectNames = `
select distinct stream from streams s where stream > $1 and stream >= $2 and stream < $3
and not exists (select 1 from archived_streams a where a.stream = s.stream) order by stream limit $4`

	selectSaleClaims = `
select sale_id, buyer_id, ordinal, order_id, quantity, live, key, body_hash
from claims where sale_id = $1 and (buyer_id, ordinal) > ($2, $3) order by buyer_id, ordinal limit $4`

	// lastRune follows every text that continues a prefix.
	lastRune = "\U0010FFFF"
)

// ask runs one statement that was queued on a batch of its own.
func (s *Store) ask(ctx context.Context, what string, queue func(*pgx.Batch)) error {
	b := &pgx.Batch{}
	queue(b)
	if b.Len() == 0 {
		return nil
	}
	if err := s.pool.SendBatch(ctx, b).Close(); err != nil {
		return unread(what, err)
	}
	return nil
}

// inOrder gives the value of each key, in the order of the keys.
func inOrder[K comparable, V any](keys []K, values map[K]V, missing func(K) V) []V {
	out := make([]V, len(keys))
	for i, k := range keys {
		v, ok := values[k]
		if !ok {
			v = missing(k)
		}
		out[i] = v
	}
	return out
}

// States is eventstore.Directory's.
func (s *Store) States(ctx context.Context, streams []string) ([]eventstore.StreamState, error) {
	found := map[string]eventstore.StreamState{}
	if err := s.ask(ctx, "read stream states", func(b *pgx.Batch) { queueStreams(b, streams, found) }); err != nil {
		return nil, err
	}
	return inOrder(streams, found, func(string) eventstore.StreamState { return eventstore.StreamState{} }), nil
}

// Streams is eventstore.Directory's. Streams that were archived whole are left
// out, those of orders excepted.
func (s *Store) Streams(ctx context.Context, prefix, after string, max int) ([]string, error) {
	rows, err := s.pool.Query(ctx, selectNames, after, prefix, prefix+lastRune, max)
	if err != nil {
		return nil, unread("list streams", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, unread("list streams", err)
	}
	return names, nil
}

// Guards is eventstore.Ledger's.
func (s *Store) Guards(ctx context.Context, streams []string) ([]eventstore.Guard, error) {
	found := map[string]eventstore.Guard{}
	if err := s.ask(ctx, "read guards", func(b *pgx.Batch) { queueGuards(b, streams, found) }); err != nil {
		return nil, err
	}
	return inOrder(streams, found, func(name string) eventstore.Guard { return eventstore.Guard{Stream: name} }), nil
}

// ClaimsOf is eventstore.Ledger's.
func (s *Store) ClaimsOf(ctx context.Context, key eventstore.ClaimKey) ([]eventstore.Claim, error) {
	found := map[eventstore.ClaimKey][]eventstore.Claim{}
	err := s.ask(ctx, "read claims", func(b *pgx.Batch) { queueClaims(b, []eventstore.ClaimKey{key}, found) })
	return found[key], err
}

// SaleClaims is eventstore.Ledger's.
func (s *Store) SaleClaims(ctx context.Context, sale string, after eventstore.Claim, max int) ([]eventstore.Claim, error) {
	rows, err := s.pool.Query(ctx, selectSaleClaims, sale, after.BuyerID, after.Ordinal, max)
	if err != nil {
		return nil, unread("read claims of sale "+sale, err)
	}
	claims, err := collectClaims(rows)
	if err != nil {
		return nil, unread("read claims of sale "+sale, err)
	}
	return claims, nil
}

// Cursors is eventstore.Ledger's.
func (s *Store) Cursors(ctx context.Context, lanes []int) ([]eventstore.Cursor, error) {
	found := map[int]eventstore.Cursor{}
	if err := s.ask(ctx, "read cursors", func(b *pgx.Batch) { queueCursors(b, lanes, found) }); err != nil {
		return nil, err
	}
	return inOrder(lanes, found, func(lane int) eventstore.Cursor { return eventstore.Cursor{Lane: lane} }), nil
}
