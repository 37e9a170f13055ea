package pgstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
)

// ErrArchived: the records asked for were taken out of the database into a file.
// The error's text says which, and where they are.
var ErrArchived = errors.New("records were archived")

// ArchivedError says where records are that the database has not any more.
type ArchivedError struct {
	Last int64  // the last position that was archived
	File string // of the newest archive, as its exporter named it
}

// Error is a sentence for people.
func (e *ArchivedError) Error() string {
	return fmt.Sprintf("The records up to position %d were archived and are not in the database: the newest of them are in %s (see `seckill archive list`). What came later begins at position %d.", e.Last, e.File, e.Last+1)
}

// Is makes it an ErrArchived.
func (e *ArchivedError) Is(target error) bool { return target == ErrArchived }

// archived remembers how much of the log is announced as detached. Detaching
// waits longer than it remembers, so that no reader misses it.
type archived struct {
	mu    sync.Mutex
	until time.Time
	end   ArchivedError
}

// archivedFor is less than the 5 s between announcing and detaching.
const archivedFor = 2 * time.Second

const selectArchived = `
select p.next_position - 1, coalesce((select file from archives a where a.first_position = p.first_position order by exported_at desc limit 1), '')
from event_partitions p where p.detaching_at is not null order by p.first_position desc limit 1`

// archivedTo gives how far the log is archived, Last 0 when it is whole.
func (s *Store) archivedTo(ctx context.Context) (ArchivedError, error) {
	asked := time.Now()
	if end, known := s.archived.at(asked); known {
		return end, nil
	}
	var end ArchivedError
	err := s.pool.QueryRow(ctx, selectArchived).Scan(&end.Last, &end.File)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return end, unread("read partitions", err)
	}
	s.archived.learn(end, asked)
	return end, nil
}

func (a *archived) at(now time.Time) (end ArchivedError, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.end, now.Before(a.until)
}

func (a *archived) learn(end ArchivedError, asked time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if until := asked.Add(archivedFor); until.After(a.until) {
		a.end, a.until = end, until
	}
}

// gone is an *ArchivedError when the record at a position was archived.
func (s *Store) gone(ctx context.Context, position int64) error {
	end, err := s.archivedTo(ctx)
	if err == nil && position <= end.Last {
		err = &end
	}
	return err
}

// goneOf is an *ArchivedError when records of a stream that would stand before
// what was found are missing because they were archived.
func (s *Store) goneOf(ctx context.Context, stream string, after int64, found []eventstore.Record) error {
	if len(found) > 0 && found[0].Version == after+1 {
		return nil
	}
	end, err := s.archivedTo(ctx)
	if err != nil || end.Last == 0 {
		return err
	}
	if len(found) > 0 {
		return &end
	}
	states, err := s.States(ctx, []string{stream})
	if err != nil {
		return err
	}
	if states[0].Version <= after {
		return nil
	}
	// Only what was stored since the two looks is not in the archive.
	again, err := s.records(ctx, "read stream "+stream, selectStreamPage, stream, after, 1)
	if err == nil && len(again) == 0 {
		err = &end
	}
	return err
}

const selectArchivedSale = `select exists (select 1 from archived_sales where sale_id = $1)`

// goneOfSearch is an *ArchivedError when a search had to look at what was
// archived and may have missed something there.
func (s *Store) goneOfSearch(ctx context.Context, f eventstore.Filter, after int64, found int) error {
	end, err := s.archivedTo(ctx)
	if err != nil || max(after+1, f.From) > end.Last {
		return err
	}
	missed := true
	switch {
	case f.Stream != "":
		_, err := s.ReadStream(ctx, f.Stream, 0, 1)
		return err
	case f.OrderID != "":
		missed = found == 0
	case f.SaleID != "":
		if err := s.pool.QueryRow(ctx, selectArchivedSale, f.SaleID).Scan(&missed); err != nil {
			return unread("find records", err)
		}
	}
	if missed {
		return &end
	}
	return nil
}
