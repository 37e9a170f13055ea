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
// become a batch, with no timer; while one batch is on its way the next gathers.
func (s *Store) appendLoop() {
	for {
		batch := s.queue.take(s.opts.MaxBatch)
		if len(batch) == 0 {
			return
		}
		s.runBatch(batch)
	}
}

// runBatch tries a batch until its outcome is known and tells every submitter.
func (s *Store) runBatch(batch []*pending) {
	started, pause := time.Now(), 10*time.Millisecond
	for tries := 1; ; tries++ {
		began := time.Now()
		p, err := s.attempt(batch)
		switch {
		case err == nil:
			s.deliver(batch, p, BatchStats{Works: len(batch), Events: len(p.records), Locked: time.Since(began), Tries: tries})
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
func (s *Store) deliver(batch []*pending, p *plan, stats BatchStats) {
	if !p.empty() {
		s.tidy.note(p)
		if len(p.records) > 0 {
			s.opts.OnStored(p.records)
		}
		s.opts.OnBatch(stats)
	}
	for i, item := range batch {
		res := p.results[i]
		item.panic = res.panic
		item.finish(res.receipt, res.err)
	}
}

// attempt is one transaction. A nil error means that everything in the plan
// stands in the store; any other but ErrUnknown means that nothing of it does.
func (s *Store) attempt(batch []*pending) (*plan, error) {
	conn, err := s.acquire()
	if err != nil {
		return nil, err
	}
	defer s.release(conn)
	p, err := s.plan(conn, batch)
	if err != nil || p.empty() {
		return p, err
	}
	if n := len(p.records); n > 0 {
		if last := p.records[n-1].Position; last >= p.facts.head.partitionsEnd {
			s.rollback(conn)
			return s.makeRoom(batch, last)
		}
	}
	s.opts.Step(StepBeforeCommit)
	if err := s.store(conn, p); err != nil {
		return nil, err
	}
	s.opts.Step(StepAfterCommit)
	return p, nil
}

// plan reads under the log lock and decides until no guess is left open.
func (s *Store) plan(conn *pgxpool.Conn, batch []*pending) (*plan, error) {
	ctx, cancel := context.WithTimeout(s.hard, s.opts.LockTimeout+s.opts.StatementTimeout)
	defer cancel()
	f := newFacts(batch)
	if err := lockAndRead(ctx, conn, s.lockKey, s.seen, f); err != nil {
		return nil, err
	}
	s.seen = f.head.mark.Number
	s.partitionsEnd.Store(f.head.partitionsEnd)
	s.opts.Step(StepLocked)
	for {
		p := makePlan(f, batch)
		if p.asks.empty() {
			return p, nil
		}
		wrong, err := answer(ctx, conn, f, p.asks)
		if err != nil {
			return nil, err
		}
		if !wrong {
			return p, nil
		}
	}
}

// makeRoom makes the partition that was missing and tries once more.
func (s *Store) makeRoom(batch []*pending, last int64) (*plan, error) {
	if err := s.ensurePartitions(last); err != nil {
		return nil, err
	}
	return s.attempt(batch)
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
