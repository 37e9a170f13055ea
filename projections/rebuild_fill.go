package projections

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/pg"
)

// fastCommit: what is lost with the machine is folded again.
const fastCommit = `select set_config('synchronous_commit', 'off', true)`

// tally sums up what was folded, by projection.
type tally struct {
	sums  [][]int64 // what the tables must add up to
	facts []int64
	rows  []int64 // as found in the tables
	// passed are events of sequences that stay set aside, by projection.
	passed [][]letter
}

func newTally(list []Projection) tally {
	t := tally{sums: make([][]int64, len(list)), facts: make([]int64, len(list)), rows: make([]int64, len(list)), passed: make([][]letter, len(list))}
	for i, p := range list {
		t.sums[i] = make([]int64, p.Proof.Sums)
	}
	return t
}

// merge adds what another worker has counted.
func (t *tally) merge(o tally) {
	for i := range o.sums {
		for n := range o.sums[i] {
			t.sums[i][n] += o.sums[i][n]
		}
		t.facts[i] += o.facts[i]
		t.passed[i] = append(t.passed[i], o.passed[i]...)
	}
}

// job is what one transaction folds: records of one shard.
type job struct {
	shard   int
	records []eventstore.Record
}

// firstFault keeps the fault with the lowest position.
type firstFault struct {
	mu    sync.Mutex
	fault *FaultError
	stop  context.CancelFunc // stops reading on
}

func (f *firstFault) found(fault *FaultError) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault == nil || fault.Position < f.fault.Position {
		f.fault = fault
	}
	f.stop()
}

// before gives the part of records that lies before the fault.
func (f *firstFault) before(records []eventstore.Record) []eventstore.Record {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault == nil {
		return records
	}
	for i := range records {
		if records[i].Position >= f.fault.Position {
			return records[:i]
		}
	}
	return records
}

// fill brings the tables from r.at to the head of the log, as that is when it
// gets there. One goroutine reads, the workers fold, each its own shards.
func (r *rebuild) fill(ctx context.Context) error {
	if r.tally.sums == nil {
		r.tally = newTally(r.list)
	}
	working, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	reading, stop := context.WithCancel(working)
	defer stop()
	fault := &firstFault{stop: stop}
	queues := make([]chan job, r.options.Workers)
	workers := make([]*rebuilder, r.options.Workers)
	var running sync.WaitGroup
	for i := range queues {
		queues[i] = make(chan job, 2)
		workers[i] = &rebuilder{rebuild: r, tally: newTally(r.list), fault: fault}
		running.Go(func() {
			for j := range queues[i] {
				if err := workers[i].apply(working, j); err != nil {
					abort(err)
				}
			}
		})
	}
	err := r.read(working, reading, fault, queues)
	for _, q := range queues {
		close(q)
	}
	running.Wait()
	if fault.fault != nil {
		return fault.fault
	}
	if cause := context.Cause(working); cause != nil && ctx.Err() == nil {
		return cause
	}
	if err != nil {
		return err
	}
	for _, w := range workers {
		r.tally.merge(w.tally)
	}
	return ctx.Err()
}

// read reads to the head of the log, page by page, while what was read before is
// folded, and deals the records out by shard. When only reading ends, what was
// read is dealt out: a fault at a lower position may be in it.
func (r *rebuild) read(ctx, reading context.Context, fault *firstFault, queues []chan job) error {
	pages, failed := make(chan []eventstore.Record, 2), make(chan error, 1)
	go func() {
		defer close(pages)
		failed <- r.readPages(reading, fault, pages)
	}()
	held := make([][]eventstore.Record, r.options.Shards)
	send := func(shard int) {
		if len(held[shard]) == 0 {
			return
		}
		select {
		case queues[shard%len(queues)] <- job{shard: shard, records: held[shard]}:
		case <-ctx.Done():
		}
		held[shard] = nil
	}
	for page := range pages {
		for i := range page {
			shard := page[i].Shard(r.options.Shards)
			if held[shard] == nil {
				held[shard] = make([]eventstore.Record, 0, r.options.Batch)
			}
			if held[shard] = append(held[shard], page[i]); len(held[shard]) == r.options.Batch {
				send(shard)
			}
		}
	}
	for shard := range held {
		send(shard)
	}
	return <-failed
}

// readPages reads and verifies. A log that does not go on is a fault at the
// position that should come next.
func (r *rebuild) readPages(ctx context.Context, fault *firstFault, pages chan<- []eventstore.Record) error {
	for {
		page, err := r.source.Log.ReadAll(ctx, r.at.Number, r.options.Page)
		if err != nil {
			return fmt.Errorf("read the log after %d: %w", r.at.Number, err)
		}
		good, logFault := r.verify(page)
		select {
		case pages <- good:
			r.watch.read(len(good), r.at.Number)
		case <-ctx.Done():
			return ctx.Err()
		}
		if logFault != nil {
			fault.found(logFault)
			return nil
		}
		if len(page) < r.options.Page {
			return nil
		}
	}
}

// verify moves r.at over the records that follow it.
func (r *rebuild) verify(page []eventstore.Record) (good []eventstore.Record, fault *FaultError) {
	for i := range page {
		if err := eventstore.CheckNext(r.at, &page[i]); err != nil {
			return page[:i], &FaultError{Position: r.at.Number + 1, Cause: err}
		}
		r.at = page[i].Head()
	}
	return page, nil
}

// rebuilder is one worker.
type rebuilder struct {
	*rebuild
	tally tally
	fault *firstFault
}

// apply folds a job into the tables; a fault of an event is noted, not returned.
func (w *rebuilder) apply(ctx context.Context, j job) error {
	j.records = w.fault.before(j.records)
	if len(j.records) == 0 || ctx.Err() != nil {
		return nil
	}
	t := newTally(w.list)
	err := pg.InTx(ctx, w.db, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, fastCommit); err != nil {
			return err
		}
		return w.fold(ctx, shadowTx{Tx: tx, shadows: w.shadows}, j, &t)
	})
	switch {
	case err == nil:
		w.tally.merge(t)
		return nil
	case !isUnfit(err):
		return fmt.Errorf("fold records %d to %d: %w", j.records[0].Position, j.records[len(j.records)-1].Position, err)
	case len(j.records) == 1:
		w.fault.found(w.blame(&j.records[0], err))
		return nil
	}
	middle := len(j.records) / 2
	if err := w.apply(ctx, job{j.shard, j.records[:middle]}); err != nil {
		return err
	}
	return w.apply(ctx, job{j.shard, j.records[middle:]})
}

func (w *rebuilder) blame(r *eventstore.Record, err error) *FaultError {
	var fault *FaultError
	if errors.As(err, &fault) {
		return fault
	}
	return &FaultError{Projection: w.names(), Position: r.Position, Sequence: r.SequenceKey(), Type: r.Type, Cause: err}
}

// fold brings records of one shard into the tables of every projection. Each
// event is read once for all of them.
func (r *rebuild) fold(ctx context.Context, tx pgx.Tx, j job, t *tally) error {
	for i := range j.records {
		if err := r.checkKnown(&j.records[i]); err != nil {
			return err
		}
	}
	events := make([]domain.Event, len(j.records))
	share := Share{Store: r.source.Store, Shard: j.shard}
	for n := range r.list {
		p := &r.list[n]
		facts, err := r.facts(n, j.records, events, t)
		if err != nil || len(facts) == 0 {
			if err != nil {
				return err
			}
			continue
		}
		rows, err := p.fold(share, facts)
		if err != nil {
			return p.faultAt(facts[0].Record, err)
		}
		if err := rows.Write(ctx, tx); err != nil {
			if isUnfit(err) {
				err = p.faultAt(facts[0].Record, err)
			}
			return err
		}
	}
	return nil
}

// facts gives what projection n folds of records, and counts it. events are
// those that were read already.
func (r *rebuild) facts(n int, records []eventstore.Record, events []domain.Event, t *tally) ([]Fact, error) {
	p := &r.list[n]
	aside := r.aside[p.Name].set
	facts := make([]Fact, 0, len(records))
	for i := range records {
		rec := &records[i]
		if !p.reads(rec) {
			continue
		}
		if s, ok := aside[rec.SequenceKey()]; ok && rec.Position >= s.first {
			t.passed[n] = append(t.passed[n], letter{
				record: &eventstore.Record{Position: rec.Position, Hash: rec.Hash, Type: rec.Type, OrderID: rec.OrderID, Stream: rec.Stream},
				state:  s.state, reason: fmt.Sprintf(follows, s.first),
			})
			continue
		}
		if events[i] == nil {
			event, err := domain.Decode(rec.Type, rec.Schema, rec.Payload)
			if err != nil {
				return nil, p.faultAt(rec, &unfit{err})
			}
			events[i] = event
		}
		f := Fact{Record: rec, Event: events[i]}
		p.Proof.Add(f, t.sums[n])
		t.facts[n]++
		facts = append(facts, f)
	}
	return facts, nil
}
