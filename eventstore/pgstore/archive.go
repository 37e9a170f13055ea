package pgstore

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"seckill/eventstore"
	"seckill/eventstore/seal"
)

// Partition is a part of the log: positions First to Last. Closed says that the
// log has gone on behind it; Sealed, that it is under seals to its end. File and
// Digest are those of its newest export, or empty. Detaching and Detached are
// when that was announced and done, or zero.
type Partition struct {
	Name      string
	First     int64
	Last      int64
	Closed    bool
	Sealed    bool
	File      string
	Digest    eventstore.Hash
	Detaching time.Time
	Detached  time.Time
}

const (
	selectPartitions = `
select p.name, p.first_position, p.next_position - 1,
       p.next_position <= (select coalesce(max(position), 0) from events),
       p.next_position - 1 <= (select coalesce(max(last_position), 0) from seals),
       coalesce(a.file, ''), coalesce(a.digest, ''), coalesce(p.detaching_at, 'epoch'), coalesce(p.detached_at, 'epoch')
from event_partitions p left join lateral (
  select file, digest from archives where first_position = p.first_position order by exported_at desc limit 1) a on true
order by p.first_position`

	selectSealsOver = `
select (select uuid::text from store), number, first_position, last_position, root, head, previous, sealed_at, key_id, signature
from seals where first_position >= $1 and last_position <= $2 order by number`

	selectSalesIn = `select distinct sale_id from events where position between $1 and $2 and sale_id <> '' order by sale_id`

	selectPartsOfSale = `
select p.first_position from event_partitions p where p.detached_at is null and exists (
  select 1 from events where sale_id <> '' and sale_id = $1 and position between p.first_position and p.next_position - 1)`

	insertArchive = `insert into archives (first_position, file, digest, head) values ($1, $2, $3, $4) on conflict do nothing`

	announceDetach = `select announce_detach($1)`
	detach         = `select detach_partition($1)`
)

// Partitions lists the parts of the log, in order, those that were detached
// included.
func (s *Store) Partitions(ctx context.Context) ([]Partition, error) {
	rows, err := s.pool.Query(ctx, selectPartitions)
	if err != nil {
		return nil, unread("read partitions", err)
	}
	parts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p Partition, err error) {
		var digest []byte
		err = row.Scan(&p.Name, &p.First, &p.Last, &p.Closed, &p.Sealed, &p.File, &digest, &p.Detaching, &p.Detached)
		copy(p.Digest[:], digest)
		p.Detaching, p.Detached = zeroAtEpoch(p.Detaching), zeroAtEpoch(p.Detached)
		return p, err
	})
	if err != nil {
		return nil, unread("read partitions", err)
	}
	return parts, nil
}

func zeroAtEpoch(t time.Time) time.Time {
	if t.Unix() == 0 {
		return time.Time{}
	}
	return t.UTC()
}

// SealsOver gives the seals that lie within positions, in order.
func (s *Store) SealsOver(ctx context.Context, first, last int64) ([]seal.Seal, error) {
	return s.seals(ctx, selectSealsOver, first, last)
}

// SalesIn lists the sales that have a record at these positions.
func (s *Store) SalesIn(ctx context.Context, first, last int64) ([]string, error) {
	rows, err := s.pool.Query(ctx, selectSalesIn, first, last)
	if err != nil {
		return nil, unread("list the sales of a partition", err)
	}
	sales, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, unread("list the sales of a partition", err)
	}
	return sales, nil
}

// PartitionsOf lists the parts of the log, in order, in which a sale has records
// that are still in the database.
func (s *Store) PartitionsOf(ctx context.Context, sale string) ([]Partition, error) {
	parts, err := s.Partitions(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := s.pool.Query(ctx, selectPartsOfSale, sale)
	if err != nil {
		return nil, unread("find the partitions of a sale", err)
	}
	firsts, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil, unread("find the partitions of a sale", err)
	}
	return slices.DeleteFunc(parts, func(p Partition) bool { return !slices.Contains(firsts, p.First) }), nil
}

// AddArchive notes that the partition that begins at first was exported to a file.
func (s *Store) AddArchive(ctx context.Context, first int64, file string, digest, head eventstore.Hash) error {
	if _, err := s.pool.Exec(ctx, insertArchive, first, file, digest[:], head[:]); err != nil {
		return unread("note an export", err)
	}
	return nil
}

// NotDetachableError says in a sentence why a partition stays.
type NotDetachableError struct{ Sentence string }

func (e *NotDetachableError) Error() string { return e.Sentence }

// notNow is the state of a refusal of ours.
const notNow = "55000"

// AnnounceDetach tells every reader that a partition is about to go. The database
// refuses it, with a *NotDetachableError, unless it is the oldest, closed, sealed
// to its end and exported.
func (s *Store) AnnounceDetach(ctx context.Context, first int64) error {
	_, err := s.pool.Exec(ctx, announceDetach, first)
	return notDetachable("announce a detaching", err)
}

// Detach takes a partition out of the log, at least 5 s after it was announced.
func (s *Store) Detach(ctx context.Context, first int64) (table string, err error) {
	err = s.pool.QueryRow(ctx, detach, first).Scan(&table)
	return table, notDetachable("detach a partition", err)
}

func notDetachable(what string, err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == notNow {
		return &NotDetachableError{Sentence: refused.Message}
	}
	if err != nil {
		return unread(what, err)
	}
	return nil
}
