package pgstore

import (
	"context"
	"crypto/ed25519"
	"errors"

	"github.com/jackc/pgx/v5"

	"seckill/eventstore/seal"
)

const (
	insertSeal = `
insert into seals (number, first_position, last_position, root, head, previous, sealed_at, key_id, signature)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing`

	selectSeals = `
select (select uuid::text from store), number, first_position, last_position, root, head, previous, sealed_at, key_id, signature
from seals where number > $1 order by number limit $2`

	selectLastSeal = `
select (select uuid::text from store), number, first_position, last_position, root, head, previous, sealed_at, key_id, signature
from seals order by number desc limit 1`

	selectSealOver = `
select (select uuid::text from store), number, first_position, last_position, root, head, previous, sealed_at, key_id, signature
from seals where last_position >= $1 order by last_position limit 1`

	selectSealEnd = `select next_position - 1 from event_partitions where next_position > $1 order by next_position limit 1`

	insertSealKey  = `insert into seal_keys (key_id, public_key) values ($1, $2) on conflict do nothing`
	selectSealKeys = `select public_key from seal_keys`
)

// AddSeal stores a seal; stored is false when one of that number or place is
// there already, whatever it says.
func (s *Store) AddSeal(ctx context.Context, x seal.Seal) (stored bool, err error) {
	tag, err := s.pool.Exec(ctx, insertSeal, x.Number, x.First, x.Last, x.Root[:], x.Head[:], x.Previous[:], x.SealedAt, x.KeyID, x.Signature)
	if err != nil {
		return false, unread("store seal", err)
	}
	return tag.RowsAffected() == 1, nil
}

// Seals gives up to max seals with a number above after, in order.
func (s *Store) Seals(ctx context.Context, after int64, max int) ([]seal.Seal, error) {
	return s.seals(ctx, selectSeals, after, max)
}

// LastSeal gives the newest seal, nil where there is none.
func (s *Store) LastSeal(ctx context.Context) (*seal.Seal, error) {
	return one(s.seals(ctx, selectLastSeal))
}

// SealOver gives the seal that a position is under, nil where there is none yet.
func (s *Store) SealOver(ctx context.Context, position int64) (*seal.Seal, error) {
	return one(s.seals(ctx, selectSealOver, position))
}

func one(seals []seal.Seal, err error) (*seal.Seal, error) {
	if err != nil || len(seals) == 0 {
		return nil, err
	}
	return &seals[0], nil
}

func (s *Store) seals(ctx context.Context, sql string, args ...any) ([]seal.Seal, error) {
	rows, err := s.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, unread("read seals", err)
	}
	seals, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (x seal.Seal, err error) {
		var root, head, previous []byte
		err = row.Scan(&x.StoreUUID, &x.Number, &x.First, &x.Last, &root, &head, &previous, &x.SealedAt, &x.KeyID, &x.Signature)
		copy(x.Root[:], root)
		copy(x.Head[:], head)
		copy(x.Previous[:], previous)
		x.SealedAt = x.SealedAt.UTC()
		return x, err
	})
	if err != nil {
		return nil, unread("read seals", err)
	}
	return seals, nil
}

// SealEnd gives the last position that a seal which begins behind after may
// cover: seals do not cross partitions, so that an archive holds whole ones.
func (s *Store) SealEnd(ctx context.Context, after int64) (int64, error) {
	var end int64
	err := s.pool.QueryRow(ctx, selectSealEnd, after+1).Scan(&end)
	if errors.Is(err, pgx.ErrNoRows) {
		return after, nil
	}
	if err != nil {
		return 0, unread("read partitions", err)
	}
	return end, nil
}

// AddSealKey makes a public key known to readers of the seals.
func (s *Store) AddSealKey(ctx context.Context, public ed25519.PublicKey) error {
	if _, err := s.pool.Exec(ctx, insertSealKey, seal.KeyID(public), []byte(public)); err != nil {
		return unread("store sealing key", err)
	}
	return nil
}

// SealKeys gives the public keys that seals here were signed with. They are as
// trustworthy as the database.
func (s *Store) SealKeys(ctx context.Context) ([]ed25519.PublicKey, error) {
	rows, err := s.pool.Query(ctx, selectSealKeys)
	if err != nil {
		return nil, unread("read sealing keys", err)
	}
	keys, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return nil, unread("read sealing keys", err)
	}
	public := make([]ed25519.PublicKey, len(keys))
	for i, k := range keys {
		public[i] = k
	}
	return public, nil
}
