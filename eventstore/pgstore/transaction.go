package pgstore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"seckill/eventstore"
)

// transaction is one attempt at a batch. A large batch goes in parts: while the
// server writes one, the next is decided. Each part sees what earlier ones decided,
// and all of them are committed at once.
type transaction struct {
	store *Store
	conn  *pgxpool.Conn
	facts *facts
	plans plans
	// wire gives the outcome of the part that is being written, sent; nil when none is.
	wire chan error
	sent *written
}

// plans is what the parts of a batch will write, in order.
type plans []*plan

func (ps plans) empty() bool {
	for _, p := range ps {
		if !p.empty() {
			return false
		}
	}
	return true
}

// first gives the first event, or nil.
func (ps plans) first() *eventstore.Record {
	for _, p := range ps {
		if len(p.records) > 0 {
			return &p.records[0]
		}
	}
	return nil
}

// fullError: an event has no partition to go to.
type fullError struct{ position int64 }

func (e fullError) Error() string { return fmt.Sprintf("no partition for position %d", e.position) }

// attempt is one transaction. A nil error means that everything in the plans
// stands in the store; any other but ErrUnknown means that nothing of it does.
func (s *Store) attempt(batch []*pending) (plans, error) {
	ps, err := s.tryOnce(batch)
	var full fullError
	if !errors.As(err, &full) {
		return ps, err
	}
	if err := s.ensurePartitions(full.position); err != nil {
		return nil, err
	}
	return s.tryOnce(batch)
}

func (s *Store) tryOnce(batch []*pending) (plans, error) {
	conn, err := s.acquire()
	if err != nil {
		return nil, err
	}
	defer s.release(conn)
	t := &transaction{store: s, conn: conn, facts: newFacts(batch)}
	defer func() { _ = t.settle() }() // its error, if any, was given
	if err := t.begin(); err != nil {
		return nil, err
	}
	for len(batch) > 0 {
		p, err := t.decide(batch)
		if err != nil {
			return nil, err
		}
		t.plans, batch = append(t.plans, p), batch[len(p.results):]
		if len(batch) == 0 {
			break // it goes with the commit
		}
		if err := t.send(p); err != nil {
			return nil, err
		}
	}
	if t.plans.empty() {
		return t.plans, nil
	}
	s.opts.Step(StepBeforeCommit)
	if err := t.commit(); err != nil {
		return nil, err
	}
	s.opts.Step(StepAfterCommit)
	return t.plans, nil
}

// begin takes the log lock and reads what the works need.
func (t *transaction) begin() error {
	s := t.store
	ctx, cancel := context.WithTimeout(s.hard, s.opts.LockTimeout+s.opts.StatementTimeout)
	defer cancel()
	if err := lockAndRead(ctx, t.conn, s.lockKey, s.seen, t.facts); err != nil {
		return err
	}
	s.seen = t.facts.head.mark.Number
	s.partitionsEnd.Store(t.facts.head.partitionsEnd)
	s.opts.Step(StepLocked)
	return nil
}

// decide decides the works of the next part until no guess is left open.
func (t *transaction) decide(batch []*pending) (*plan, error) {
	for {
		p := makePlan(t.facts, batch, t.store.opts.MaxPart)
		wrong, err := t.answer(p.asks)
		if err != nil {
			return nil, err
		}
		if wrong {
			continue
		}
		if n := len(p.records); n > 0 && p.records[n-1].Position >= t.facts.head.partitionsEnd {
			return nil, fullError{p.records[n-1].Position}
		}
		return p, nil
	}
}

// answer reads what a plan had to guess, if anything, and tells whether a guess was
// wrong.
func (t *transaction) answer(asks questions) (wrong bool, err error) {
	if asks.empty() {
		return false, nil
	}
	if err := t.settle(); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(t.store.hard, t.store.opts.StatementTimeout)
	defer cancel()
	return answer(ctx, t.conn, t.facts, asks)
}

// send lets the server write a part and does not wait for it.
func (t *transaction) send(p *plan) error {
	w := writtenBy(p, t.store.opts.CopyFrom, &t.store.memory)
	t.facts.take(p)
	if err := t.settle(); err != nil {
		return err
	}
	t.wire, t.sent = make(chan error, 1), w
	go func() {
		ctx, cancel := t.writing()
		defer cancel()
		t.wire <- w.send(ctx, t.conn)
	}()
	return nil
}

// settle waits until nothing is being written.
func (t *transaction) settle() error {
	if t.wire == nil {
		return nil
	}
	err := <-t.wire
	t.wire = nil
	if err == nil { // else something may still be reading it
		t.store.memory.keep(t.sent.copies)
	}
	return err
}

func (t *transaction) writing() (context.Context, context.CancelFunc) {
	return context.WithTimeout(t.store.hard, t.store.opts.StatementTimeout+time.Second)
}

const selectTransaction = `select pg_current_xact_id()::text`

// commit writes the last part and commits. A nil error means that all of it stands
// in the store; any other but ErrUnknown means that nothing of it does.
func (t *transaction) commit() error {
	last := t.plans[len(t.plans)-1]
	w := writtenBy(last, t.store.opts.CopyFrom, &t.store.memory)
	t.facts.take(last)
	if err := t.settle(); err != nil {
		return err
	}
	ctx, cancel := t.writing()
	defer cancel()
	first, transaction := t.plans.first(), ""
	if first == nil { // no event to look for, should the reply be lost
		if err := t.conn.QueryRow(ctx, selectTransaction).Scan(&transaction); err != nil {
			return fmt.Errorf("ask for the transaction: %w", err)
		}
	}
	if err := w.copyIn(ctx, t.conn); err != nil {
		return err
	}
	t.store.memory.keep(w.copies)
	err := w.commit(ctx, t.conn)
	if errors.Is(err, errCommitUnknown) {
		return t.store.findOut(first, transaction, err)
	}
	return err
}
