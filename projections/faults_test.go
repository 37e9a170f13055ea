package projections_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/projections"
)

var errCrash = errors.New("the lights went out")

// fault decides, before a statement or the commit of a transaction runs,
// whether the process "dies" there.
type fault func(statement string) error

// crashDB is a database whose transactions break where fault says so.
type crashDB struct {
	projections.DB
	fault fault
	// afterCommit makes the commit happen and its answer get lost.
	afterCommit bool
}

type crashTx struct {
	pgx.Tx
	db *crashDB
}

func (d *crashDB) BeginTx(ctx context.Context, o pgx.TxOptions) (pgx.Tx, error) {
	tx, err := d.DB.BeginTx(ctx, o)
	return &crashTx{tx, d}, err
}

func (t *crashTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	if err := t.db.fault(sql); err != nil {
		return pgconn.CommandTag{}, err
	}
	return t.Tx.Exec(ctx, sql, args...)
}

func (t *crashTx) Commit(ctx context.Context) error {
	err := t.db.fault("commit")
	if err != nil && !t.db.afterCommit {
		return err
	}
	return errors.Join(t.Tx.Commit(ctx), err)
}

// crashPoint is where a consumer dies, at each of 100 events.
type crashPoint struct {
	at          string
	afterCommit bool
	rows        bool // rows stand after the crash
}

// B46: the mark is written and the effect is not committed. Both are one
// transaction, so the event is applied later.
func TestB46ACrashAfterTheMarkAndBeforeTheCommitAppliesTheEventLater(t *testing.T) {
	crashAtEachEvent(t, crashPoint{"commit", false, false})
}

// B53: a crash between the two writes, and after a commit whose answer was lost.
func TestB53ACrashBetweenRowsAndCheckpointAtEachEvent(t *testing.T) {
	t.Run("between rows and checkpoint", func(t *testing.T) { crashAtEachEvent(t, crashPoint{"update checkpoints", false, false}) })
	t.Run("after the commit, unanswered", func(t *testing.T) { crashAtEachEvent(t, crashPoint{"commit", true, true}) })
}

func crashAtEachEvent(t *testing.T, c crashPoint) {
	t.Helper()
	h := newHouse(t)
	h.live(100)
	records := h.records()[:100]
	var pass atomic.Int64 // how many times the crash point is passed unharmed
	db := &crashDB{DB: h.pool, afterCommit: c.afterCommit, fault: func(statement string) error {
		if strings.Contains(statement, c.at) && pass.Add(-1) == -1 {
			return errCrash
		}
		return nil
	}}
	crashes := 0
	for i := range records {
		// First order_view (or stock_log) dies; in the next process what follows it.
		for attempt := range int64(3) {
			pass.Store(math.MaxInt64) // a process starts unharmed
			next := process{h, h.projectorOn(db, projections.All(), quick())}
			before := h.dump()
			if pass.Store(attempt); c.afterCommit {
				pass.Store(0) // what came before stands already
			}
			next.deliverLast(records[:i+1])
			if pass.Load() >= 0 {
				continue
			}
			crashes++
			if after := h.dump(); attempt == 0 && slices.Equal(after, before) == c.rows && records[i].Type != "stock.refused" {
				t.Fatalf("event %d: after the crash the rows stand: want %v\n%v\n%v", i, c.rows, before, after)
			}
		}
	}
	if crashes != folded(records) {
		t.Errorf("%d crashes, want one for each of %d events folded", crashes, folded(records))
	}
	got := h.dump()
	h.sameRows(got, h.foldUpTo(records[len(records)-1].Position))
}

// folded counts the events that projections fold, each for each of them.
func folded(records []eventstore.Record) int {
	n := 0
	for i := range records {
		n++
		if strings.HasPrefix(records[i].Type, "order.") {
			n++
		}
	}
	return n
}

// process is a projector that has just started and knows nothing.
type process struct {
	h *house
	p *projections.Projector
}

// deliverLast delivers the batch of the last record, until the process crashes.
func (p process) deliverLast(records []eventstore.Record) {
	shard := records[len(records)-1].Shard(eventstore.DefaultShards)
	cut := batches(records, shard, eventstore.DefaultShards, 1)
	for _, r := range p.p.Runners() {
		if r.Shard() != shard {
			continue
		}
		r.Deliver(p.h.ctx(), cut[len(cut)-1])
		for _, s := range p.p.Stats() {
			if s.Fault != "" {
				return
			}
		}
	}
}

// foldUpTo gives the views of the log's beginning, folded without disturbance.
func (h *house) foldUpTo(position int64) []string {
	h.t.Helper()
	h.wipe()
	p := h.projector(projections.All(), quick())
	for _, shard := range shardsOf(h.records()[:position], 1000) {
		for _, b := range shard {
			deliver(h.ctx(), p, b)
		}
	}
	return h.dump()
}

// B15: the handler fails for one event three times, then works.
func TestB15AHandlerThatFailsThreeTimesLeavesOneRow(t *testing.T) {
	h := newHouse(t)
	h.release(100)
	id, group := h.placed(0)
	h.append(group...)
	view := projections.NewViews(h.pool)
	list := projections.All()
	fold := list[0].Fold
	var failures atomic.Int64
	list[0].Fold = func(s projections.Share, facts []projections.Fact) (projections.Rows, error) {
		if failures.Add(1) <= 3 {
			if _, ok, err := view.Order(h.ctx(), id); ok || err != nil {
				t.Errorf("before the handler worked: row there %v, error %v", ok, err)
			}
			return nil, errCrash
		}
		return fold(s, facts)
	}
	p := h.projector(list, quick())
	for _, shard := range shardsOf(h.records(), 10) {
		for _, b := range shard {
			deliver(h.ctx(), p, b)
			deliver(h.ctx(), p, b)
		}
	}
	h.run(p)
	h.settle(list)
	if n := failures.Load(); n != 4 {
		t.Errorf("the handler ran %d times, want 4", n)
	}
	h.eventually("no shard reports a fault any more", func() bool {
		for _, s := range p.Stats() {
			if s.Fault != "" {
				return false
			}
		}
		return true
	})
	h.onceEach(p)
	h.sameAsQuietReplay()
}

func TestALogThatIsNotTheOneAppliedStopsTheProjection(t *testing.T) {
	h := newHouse(t)
	h.release(1000)
	h.live(20)
	stop := h.run(h.projector(projections.All(), quick()))
	head := h.settle(projections.All())
	stop()
	before := h.dump()
	for what, sql := range map[string]string{
		"another hash at the checkpoint": "update checkpoints set hash = sha256(hash)",
		"a log that went back":           "update checkpoints set position = position + 3",
	} {
		if _, err := h.pool.Exec(h.ctx(), sql); err != nil {
			t.Fatal(err)
		}
		p := h.projector(projections.All(), quick())
		stop := h.run(p)
		h.eventually("every runner has noticed "+what, func() bool {
			for _, s := range p.Stats() {
				if !strings.Contains(s.Fault, eventstore.ErrLogChanged.Error()) {
					return false
				}
			}
			return true
		})
		h.live(10)
		for _, shard := range shardsOf(h.records(), 5) {
			for _, b := range shard {
				deliver(h.ctx(), p, b)
			}
		}
		h.sameRows(h.dump(), before)
		stop()
		if _, err := h.pool.Exec(h.ctx(), "update checkpoints set position = $1, hash = $2", head.Number, head.Hash[:]); err != nil {
			t.Fatal(err)
		}
	}
	// Put right, everything goes on by itself.
	h.run(h.projector(projections.All(), quick()))
	h.settle(projections.All())
	h.sameAsQuietReplay()
}

func TestABatchOfAnotherLogIsNotApplied(t *testing.T) {
	h := newHouse(t)
	id, group := h.placed(0)
	h.append(group...)
	h.then(id, &domain.OrderPaid{OrderID: id, PaymentID: "p"}, &domain.OrderCancelled{OrderID: id, By: "buyer"})
	cut := batches(h.records(), eventstore.ShardOf(id, 8), 8, 2)
	for what, spoil := range map[string]func(*eventstore.Batch){
		"it follows another record":         func(b *eventstore.Batch) { b.Prev.Hash[0]++ },
		"it overlaps with another record":   func(b *eventstore.Batch) { b.Prev = eventstore.Mark{}; b.Records[0].Hash[0]++ },
		"its last record is another record": func(b *eventstore.Batch) { b.Last = cut[0].Last; b.Prev = eventstore.Mark{}; b.Last.Hash[0]++ },
	} {
		h.wipe()
		p := h.projector(projections.All(), quick())
		deliver(h.ctx(), p, cut[0])
		before := h.dump()
		wrong := cut[1]
		wrong.Records = append([]eventstore.Record{cut[0].Records[1]}, wrong.Records...)
		spoil(&wrong)
		deliver(h.ctx(), p, wrong)
		h.sameRows(h.dump(), before)
		for _, s := range p.Stats() {
			if s.Shard == cut[0].Shard && !strings.Contains(s.Fault, eventstore.ErrLogChanged.Error()) {
				t.Errorf("%s: %s reports %q, want that the log is another", what, s.Projection, s.Fault)
			}
		}
	}
}

func TestAnotherNumberOfShardsIsRefused(t *testing.T) {
	h := newHouse(t)
	h.projector(projections.All(), quick())
	for _, shards := range []int{4, 16} {
		o := quick()
		o.Shards = shards
		p, err := projections.NewProjector(h.pool, h.source(), projections.All(), o)
		if err != nil {
			t.Fatal(err)
		}
		var wrong *projections.ShardsError
		if err := p.Run(h.ctx()); !errors.As(err, &wrong) || wrong.Have != 8 || wrong.Want != shards {
			t.Errorf("%d shards: got %v, want a ShardsError that says 8", shards, err)
		}
	}
}

func TestABatchForOthersIsLeftAlone(t *testing.T) {
	h := newHouse(t)
	h.release(10)
	p := h.projector(projections.All(), quick())
	b := shardsOf(h.records(), 10)[eventstore.ShardOf(h.stock(), 8)][0]
	for _, spoil := range []func(*eventstore.Batch){
		func(b *eventstore.Batch) { b.Store = 2 },
		func(b *eventstore.Batch) { b.Shards = 16 },
	} {
		wrong := b
		spoil(&wrong)
		deliver(h.ctx(), p, wrong)
	}
	if rows := h.dump(); len(rows) != 0 {
		t.Errorf("rows were written: %v", rows)
	}
}

// A database that goes away and comes back.
func TestADatabaseThatFailsForAWhileHoldsNothingUp(t *testing.T) {
	h := newHouse(t)
	h.release(1000)
	var down atomic.Bool
	db := &crashDB{DB: h.pool, fault: func(string) error {
		if down.Load() {
			return errCrash
		}
		return nil
	}}
	p := h.projectorOn(db, projections.All(), quick())
	h.run(p)
	h.settle(projections.All())
	down.Store(true)
	h.live(30)
	for _, shard := range shardsOf(h.records(), 5) {
		for _, b := range shard {
			began := time.Now()
			deliver(h.ctx(), p, b)
			if took := time.Since(began); took > patience/2 {
				t.Errorf("a delivery waited %v for the database", took)
			}
		}
	}
	down.Store(false)
	h.settle(projections.All())
	h.onceEach(p)
	h.sameAsQuietReplay()
}
