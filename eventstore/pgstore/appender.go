package pgstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/eventstore"
)

// appendLoop is the one writer of this process: whatever works are waiting
// become a batch, with no timer; while one batch is on its way the next gathers, and
// those it answered are let run before that next one is taken.
func (s *Store) appendLoop() {
	for {
		batch := s.queue.take(s.opts.MaxBatch)
		if len(batch) == 0 {
			return
		}
		s.runBatch(batch)
		if len(batch) > 1 {
			s.queue.gather(len(batch))
		}
	}
}

// runBatch tries a batch until its outcome is known and tells every submitter.
func (s *Store) runBatch(batch []*pending) {
	started, pause := time.Now(), 10*time.Millisecond
	for tries := 1; ; tries++ {
		began := time.Now()
		ps, err := s.attempt(batch)
		switch {
		case err == nil:
			s.deliver(batch, ps, BatchStats{Works: len(batch), Locked: time.Since(began), Tries: tries})
			return
		case errors.Is(err, errNotCommitted):
			// Finding out may have taken longer than patience.
			started = started.Add(time.Since(began))
		case isDataError(err):
			s.isolate(batch, err)
			return
		case errors.Is(err, eventstore.ErrUnknown):
			fail(batch, err)
			return
		}
		if s.hard.Err() != nil || (tries > 1 && time.Since(started) > s.opts.RetryFor) {
			fail(batch, fmt.Errorf("append batch of %d works: %w: %w", len(batch), eventstore.ErrUnavailable, err))
			return
		}
		s.wait(pause/2 + rand.N(pause))
		pause = min(2*pause, 500*time.Millisecond)
	}
}

// isolate finds the works whose data is refused: those refused alone.
func (s *Store) isolate(batch []*pending, err error) {
	if len(batch) == 1 {
		fail(batch, fmt.Errorf("append: %w: %w", eventstore.ErrData, err))
		return
	}
	for _, p := range batch {
		s.runBatch([]*pending{p})
	}
}

func fail(batch []*pending, err error) {
	for _, p := range batch {
		p.finish(eventstore.Receipt{}, err)
	}
}

// deliver tells the observers first, so that what a submitter does next finds
// them told.
func (s *Store) deliver(batch []*pending, ps plans, stats BatchStats) {
	if !ps.empty() {
		for _, p := range ps {
			s.tidy.note(p)
			stats.Events += len(p.records)
			if len(p.records) > 0 {
				s.opts.OnStored(p.records)
			}
		}
		s.opts.OnBatch(stats)
	}
	for _, p := range ps {
		for i, res := range p.results {
			batch[i].panic = res.panic
			batch[i].finish(res.receipt, res.err)
		}
		batch = batch[len(p.results):]
	}
}

func (s *Store) acquire() (*pgxpool.Conn, error) {
	ctx, cancel := context.WithTimeout(s.hard, s.opts.StatementTimeout)
	defer cancel()
	conn, err := s.writers.Acquire(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return conn, nil
}

func (s *Store) release(conn *pgxpool.Conn) {
	s.rollback(conn)
	conn.Release()
}

// rollback ends what is open on a connection, on a context nobody cancels. If
// it fails the pool closes the connection, which rolls back as well.
func (s *Store) rollback(conn *pgxpool.Conn) {
	if conn.Conn().IsClosed() || conn.Conn().PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.hard), s.opts.LockTimeout)
	defer cancel()
	_, _ = conn.Exec(ctx, "rollback")
}

func (s *Store) wait(d time.Duration) {
	pause := time.NewTimer(d)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-s.hard.Done():
	}
}
