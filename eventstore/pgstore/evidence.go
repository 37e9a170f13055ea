package pgstore

import (
	"context"
	"crypto/ed25519"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/eventstore"
	"seckill/eventstore/seal"
)

// Evidence is what an audit reads: the log and its seals. Like a reader of
// NewReader it writes nothing, and needs no Close.
type Evidence struct {
	eventstore.Reader
	store *Store
}

// NewEvidence gives the evidence in a database over a pool that pg.Open gave.
func NewEvidence(pool *pgxpool.Pool) *Evidence {
	s := &Store{pool: pool}
	return &Evidence{Reader: s, store: s}
}

// Scan is Store.Scan.
func (e *Evidence) Scan(ctx context.Context, after, upTo int64, do func(*eventstore.Record) error) error {
	return e.store.Scan(ctx, after, upTo, do)
}

// HashAt is Store.HashAt.
func (e *Evidence) HashAt(ctx context.Context, position int64) (eventstore.Hash, bool, error) {
	return e.store.HashAt(ctx, position)
}

// Seals is Store.Seals.
func (e *Evidence) Seals(ctx context.Context, after int64, max int) ([]seal.Seal, error) {
	return e.store.Seals(ctx, after, max)
}

// SealKeys is Store.SealKeys.
func (e *Evidence) SealKeys(ctx context.Context) ([]ed25519.PublicKey, error) {
	return e.store.SealKeys(ctx)
}

// Archived gives the last position that was archived, 0 when the log is whole.
func (e *Evidence) Archived(ctx context.Context) (int64, error) {
	end, err := e.store.archivedTo(ctx)
	return end.Last, err
}

const selectHeads = `select distinct on (stream) stream, version from streams order by stream, version desc`

// EachStreamHead is Store.EachStreamHead.
func (e *Evidence) EachStreamHead(ctx context.Context, do func(stream string, version int64) error) error {
	return e.store.EachStreamHead(ctx, do)
}

// EachStreamHead gives the version that appends to each stream go by.
func (s *Store) EachStreamHead(ctx context.Context, do func(stream string, version int64) error) error {
	rows, err := s.pool.Query(ctx, selectHeads)
	if err != nil {
		return unread("read where streams stand", err)
	}
	defer rows.Close()
	for rows.Next() {
		var stream string
		var version int64
		if err := rows.Scan(&stream, &version); err != nil {
			return unread("read where streams stand", err)
		}
		if err := do(stream, version); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return unread("read where streams stand", err)
	}
	return nil
}

const selectReadTo = `select coalesce(max(position), 0) from checkpoints`

// ReadTo gives the furthest position that any reader of the log has read.
func (e *Evidence) ReadTo(ctx context.Context) (position int64, err error) {
	if err := e.store.pool.QueryRow(ctx, selectReadTo).Scan(&position); err != nil {
		return 0, unread("read checkpoints", err)
	}
	return position, nil
}

// Guarded says, a line each, what is wrong with the tables of the log: a
// partition that is gone, a trigger that is gone or off, a role that may change it.
func (e *Evidence) Guarded(ctx context.Context) ([]string, error) { return e.store.Guarded(ctx) }

// selectGuarded also names who, beside the owner, may change what is only added to.
const selectGuarded = `
select * from log_guarded()
union all
select 'the role ' || coalesce(r.rolname::text, 'public') || ' may ' || lower(string_agg(a.privilege_type, ', ' order by a.privilege_type))
       || ' what is in ' || c.relname || ', which is append-only'
from pg_class c cross join lateral aclexplode(c.relacl) a left join pg_roles r on r.oid = a.grantee
where (c.oid in ('events'::regclass, 'seals'::regclass) or c.oid in (select inhrelid from pg_inherits where inhparent = 'events'::regclass))
  and a.grantee <> c.relowner and a.privilege_type in ('UPDATE', 'DELETE', 'TRUNCATE')
group by c.relname, r.rolname`

// Guarded says, a line each, what is wrong with the tables of the log: a
// partition that is gone, a trigger that is gone or off, a role that may change it.
func (s *Store) Guarded(ctx context.Context) ([]string, error) {
	rows, err := s.pool.Query(ctx, selectGuarded)
	if err != nil {
		return nil, unread("look at the tables of the log", err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, unread("look at the tables of the log", err)
	}
	return lines, nil
}

const (
	insertLoss = `insert into log_losses (head, lost_to, by, reason) values ($1, $2, $3, $4)`

	// Who only passes records on begins again: what comes twice is known below.
	deleteStrays = `
delete from checkpoints c where c.projection = any($1) and c.position > 0
and not exists (select 1 from events e where e.position = c.position and e.hash = c.hash)`
)

// AddLoss writes an accepted loss down, and deletes the checkpoints of the named
// machines that the log does not know.
func (s *Store) AddLoss(ctx context.Context, l seal.Loss, machines []string) error {
	if _, err := s.pool.Exec(ctx, insertLoss, l.Head, l.Lost, l.By, l.Reason); err != nil {
		return unread("store an accepted loss", err)
	}
	if _, err := s.pool.Exec(ctx, deleteStrays, machines); err != nil {
		return fmt.Errorf("let go of checkpoints: %w", err)
	}
	return nil
}
