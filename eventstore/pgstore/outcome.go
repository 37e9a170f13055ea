package pgstore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"seckill/eventstore"
)

var (
	// errCommitUnknown: the commit was sent, and no answer came that tells.
	errCommitUnknown = errors.New("the outcome of the commit is not known")
	// errNotCommitted: it was found out that the commit did not take place.
	errNotCommitted = errors.New("the commit did not take place")
)

// isDataError tells whether PostgreSQL refuses what it was given (SQLSTATE
// classes 22 and 23), as opposed to a fault of the store or of our bookkeeping:
// a position or version that is taken, or a position without a partition,
// says nothing against the data.
func isDataError(err error) bool {
	var pgErr *pgconn.PgError
	if !errors.As(err, &pgErr) {
		return false
	}
	if !strings.HasPrefix(pgErr.Code, "22") && !strings.HasPrefix(pgErr.Code, "23") {
		return false
	}
	name := pgErr.ConstraintName
	noPartition := pgErr.Code == "23514" && name == ""
	ourNumbers := strings.HasSuffix(name, "_position") || strings.HasSuffix(name, "_stream_version") || name == "streams_pkey"
	return !noPartition && !ourNumbers
}

const (
	selectEventID = `select event_id from events where position = $1`
	selectFate    = `select coalesce(pg_xact_status($1::text::xid8), '')`
)

// findOut learns whether a transaction whose commit went unanswered took place:
// nil if it did, errNotCommitted if not. It keeps asking until the store
// answers, or gives ErrUnknown when the store is closed first.
func (s *Store) findOut(first *eventstore.Record, transaction string, cause error) error {
	pause := 20 * time.Millisecond
	for {
		stored, err := s.lookForBatch(first, transaction)
		switch {
		case err == nil && stored:
			return nil
		case err == nil:
			return fmt.Errorf("%w: %w", errNotCommitted, cause)
		case s.hard.Err() != nil:
			return fmt.Errorf("append batch: %w: %w", eventstore.ErrUnknown, cause)
		}
		s.opts.Logger.Warn("outcome of a commit is not known yet", "error", err)
		s.wait(pause)
		pause = min(2*pause, time.Second)
	}
}

// lookForBatch takes the log lock first: the old transaction holds it until it
// has ended, so what is seen after it is final.
func (s *Store) lookForBatch(first *eventstore.Record, transaction string) (stored bool, err error) {
	conn, err := s.acquire()
	if err != nil {
		return false, err
	}
	defer s.release(conn)
	ctx, cancel := context.WithTimeout(s.hard, s.opts.LockTimeout+s.opts.StatementTimeout)
	defer cancel()
	b := &pgx.Batch{}
	b.Queue("begin")
	b.Queue(takeLogLock, s.lockKey)
	if first != nil {
		b.Queue(selectEventID, first.Position).Query(func(rows pgx.Rows) error {
			ids, err := pgx.CollectRows(rows, pgx.RowTo[[16]byte])
			stored = len(ids) == 1 && uuid.UUID(ids[0]) == first.ID
			return err
		})
	} else {
		b.Queue(selectFate, transaction).QueryRow(func(row pgx.Row) error {
			var fate string
			if err := row.Scan(&fate); err != nil {
				return err
			}
			if fate != "committed" && fate != "aborted" {
				return fmt.Errorf("transaction %s is %q", transaction, fate)
			}
			stored = fate == "committed"
			return nil
		})
	}
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return false, fmt.Errorf("look for batch: %w", err)
	}
	return stored, nil
}
