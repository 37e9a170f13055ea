package pgstore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/eventstore"
	"seckill/infra/pg"
)

// tidier remembers which streams, guards and cursors have older versions that
// may go, and how far the log has come.
type tidier struct {
	mu      sync.Mutex
	streams map[string]grown
	guards  map[string]grown
	cursors map[int]eventstore.Cursor
	head    int64
	done    chan struct{}
}

// grown is how far something came since old versions of it were deleted last.
type grown struct{ before, newest int64 }

func grow(all map[string]grown, name string, before, newest int64) {
	if was, ok := all[name]; ok {
		before = was.before
	}
	all[name] = grown{before, newest}
}

// tidyMemory bounds what is remembered while the store does not answer. What
// is forgotten stays in the tables until its stream moves again.
const tidyMemory = 100_000

func newTidier() *tidier {
	t := &tidier{done: make(chan struct{})}
	t.reset()
	return t
}

func (t *tidier) stop() { close(t.done) }

func (t *tidier) reset() {
	t.streams, t.guards, t.cursors = map[string]grown{}, map[string]grown{}, map[int]eventstore.Cursor{}
}

// note remembers what a committed plan left behind.
func (t *tidier) note(p *plan) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.streams) > tidyMemory {
		t.reset()
	}
	for name, before := range p.moved {
		grow(t.streams, name, before, p.streams[name].Version)
	}
	for name, g := range p.guards {
		grow(t.guards, name, p.guarded[name], g.Version)
	}
	maps.Copy(t.cursors, p.cursors)
	if n := len(p.records); n > 0 {
		t.head = p.records[n-1].Position
	}
}

func (t *tidier) take() (streams, guards map[string]grown, cursors map[int]eventstore.Cursor) {
	t.mu.Lock()
	defer t.mu.Unlock()
	streams, guards, cursors = t.streams, t.guards, t.cursors
	t.reset()
	return streams, guards, cursors
}

func (t *tidier) lastPosition() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.head
}

// tidyLoop makes partitions ahead of need and deletes old versions, outside of
// the append transactions.
func (s *Store) tidyLoop() {
	tick := time.NewTicker(s.opts.CleanEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.tidy.done:
			return
		case <-tick.C:
		}
		if err := s.partitionAhead(); err != nil {
			s.opts.Logger.Warn("the next partition of the log could not be made", "error", err)
		}
		if err := s.deleteOld(); err != nil {
			s.opts.Logger.Warn("old versions could not be deleted", "error", err)
		}
	}
}

// partitionAhead keeps at least half a partition of room beyond the head.
func (s *Store) partitionAhead() error {
	head, end := s.tidy.lastPosition(), s.partitionsEnd.Load()
	wanted := head + s.opts.PartitionSize/2
	if head == 0 || wanted < end {
		return nil
	}
	return s.ensurePartitions(wanted)
}

func (s *Store) ensurePartitions(upTo int64) error {
	ctx, cancel := context.WithTimeout(s.hard, s.opts.LockTimeout+s.opts.StatementTimeout)
	defer cancel()
	var end int64
	err := s.writers.QueryRow(ctx, "select ensure_partitions($1, $2)", upTo, s.opts.PartitionSize).Scan(&end)
	if err != nil {
		return fmt.Errorf("make partition for position %d: %w", upTo, err)
	}
	s.partitionsEnd.Store(end)
	return nil
}

const (
	tryTidyLock = `select pg_try_advisory_xact_lock($1)`

	// The newest row of a key stays whatever we remember of it: where the log went
	// back since (a standby that had lost commits was promoted), what we remember
	// is gone, and the older row is the newest there is.
	deleteStreams = `
delete from streams where ctid = any(array(
  select o.ctid from unnest($1::text[], $2::bigint[]) n(name, newest), lateral (
    select s.ctid from streams s where s.stream = n.name and s.version < least(n.newest,
      (select k.version from streams k where k.stream = n.name order by k.version desc limit 1))
    order by s.version limit 100) o))`

	deleteGuards = `
delete from guards where ctid = any(array(
  select o.ctid from unnest($1::text[], $2::bigint[]) n(name, newest), lateral (
    select g.ctid from guards g where g.stream = n.name and g.version < least(n.newest,
      (select k.version from guards k where k.stream = n.name order by k.version desc limit 1))
    order by g.version limit 100) o))`

	deleteCursors = `
delete from cursors where ctid = any(array(
  select o.ctid from unnest($1::integer[], $2::bigint[], $3::bigint[]) w(lane, epoch, n), lateral (
    select c.ctid from cursors c where c.lane = w.lane and (c.epoch, c.n) < (w.epoch, w.n)
      and (c.epoch, c.n) < (select k.epoch, k.n from cursors k where k.lane = w.lane order by k.epoch desc, k.n desc limit 1)
    order by c.epoch, c.n limit 100) o))`

	tidyPage = 500
	// tidyMost is how many versions of a name one deletion takes.
	tidyMost = 100
)

func (s *Store) deleteOld() error {
	streams, guards, cursors := s.tidy.take()
	if err := s.deleteVersions(deleteStreams, streams); err != nil {
		return err
	}
	if err := s.deleteVersions(deleteGuards, guards); err != nil {
		return err
	}
	rows := slices.Collect(maps.Values(cursors))
	for page := range slices.Chunk(rows, tidyPage) {
		err := s.deletePages(deleteCursors,
			column(page, func(c *eventstore.Cursor) int64 { return int64(c.Lane) }),
			column(page, func(c *eventstore.Cursor) int64 { return c.Epoch }),
			column(page, func(c *eventstore.Cursor) int64 { return c.N }))
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteVersions goes through names once, and again through those of which more
// versions came than one deletion takes, until nothing is left.
func (s *Store) deleteVersions(sql string, all map[string]grown) error {
	for page := range slices.Chunk(slices.Collect(maps.Keys(all)), tidyPage) {
		for len(page) > 0 {
			deleted, err := s.deletePage(sql, page, column(page, func(n *string) int64 { return all[*n].newest }))
			if err != nil {
				return err
			}
			if deleted == 0 {
				break
			}
			page = slices.DeleteFunc(page, func(name string) bool { return all[name].newest-all[name].before <= tidyMost })
		}
	}
	return nil
}

// deletePages repeats a deletion until nothing is left of it. One process at a
// time deletes; another's turn is simply skipped, its rows go the next time.
func (s *Store) deletePages(sql string, args ...any) error {
	for {
		deleted, err := s.deletePage(sql, args...)
		if err != nil || deleted == 0 {
			return err
		}
	}
}

func (s *Store) deletePage(sql string, args ...any) (deleted int64, err error) {
	ctx, cancel := context.WithTimeout(s.hard, s.opts.StatementTimeout)
	defer cancel()
	err = pg.InTx(ctx, s.writers, func(tx pgx.Tx) error {
		var mine bool
		if err := tx.QueryRow(ctx, tryTidyLock, s.tidyKey).Scan(&mine); err != nil || !mine {
			return err
		}
		tag, err := tx.Exec(ctx, sql, args...)
		deleted = tag.RowsAffected()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("delete old versions: %w", err)
	}
	return deleted, nil
}
