package projections_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/pg"
	"seckill/projections"
)

// deliver gives a batch to every projection's runner of its shard.
func deliver(ctx context.Context, p *projections.Projector, b eventstore.Batch) {
	for _, r := range p.Runners() {
		if r.Shard() == b.Shard {
			r.Deliver(ctx, b)
		}
	}
}

// shardsOf cuts the whole log into batches by shard.
func shardsOf(records []eventstore.Record, size int) [][]eventstore.Batch {
	all := make([][]eventstore.Batch, eventstore.DefaultShards)
	for s := range all {
		all[s] = batches(records, s, len(all), size)
	}
	return all
}

func TestBatchesInOrderNeedNoHealing(t *testing.T) {
	h := newHouse(t)
	h.release(1000)
	h.live(60)
	p := h.projector(projections.All(), quick())
	for _, shard := range shardsOf(h.records(), 4) {
		for _, b := range shard {
			deliver(h.ctx(), p, b)
		}
	}
	h.onceEach(p)
	for _, s := range p.Stats() {
		if s.Gaps != 0 || s.Faults != 0 {
			t.Errorf("%s shard %d saw %d gaps and %d faults, want none", s.Projection, s.Shard, s.Gaps, s.Faults)
		}
	}
	h.sameAsQuietReplay()
}

// On a new database a bus that is quick has something before the checkpoints are made.
func TestABatchThatComesBeforeTheCheckpointsIsLeftToTheStore(t *testing.T) {
	h := newHouse(t)
	h.release(1000)
	h.live(20)
	p, err := projections.NewProjector(h.pool, h.source(), projections.All(), quick())
	if err != nil {
		t.Fatal(err)
	}
	for _, shard := range shardsOf(h.records(), 1000) {
		for _, b := range shard {
			deliver(h.ctx(), p, b)
		}
	}
	for _, s := range p.Stats() {
		if s.Faults != 0 {
			t.Errorf("%s shard %d saw %d faults (%s), want none", s.Projection, s.Shard, s.Faults, s.Fault)
		}
	}
	h.run(p)
	h.settle(projections.All())
	h.sameAsQuietReplay()
}

// A bus that loses, doubles, delays and swaps, while the log grows.
func TestWhateverTheBusDoesEveryRecordIsAppliedOnce(t *testing.T) {
	h := newHouse(t)
	h.release(5000)
	p := h.projector(projections.All(), quick())
	h.run(p)
	random := rand.New(rand.NewPCG(1, 2))
	for range 4 {
		h.live(50)
		var mess []eventstore.Batch
		for _, shard := range shardsOf(h.records(), 1+random.IntN(5)) {
			for _, b := range shard {
				for random.IntN(10) >= 4 { // 40 % are lost, the others come once or more
					mess = append(mess, b)
				}
			}
		}
		random.Shuffle(len(mess), func(i, j int) {
			if max(i, j)-min(i, j) < 20 {
				mess[i], mess[j] = mess[j], mess[i]
			}
		})
		var delivering sync.WaitGroup
		for worker := range 4 {
			delivering.Go(func() {
				for i := worker; i < len(mess); i += 4 {
					deliver(h.ctx(), p, mess[i])
				}
			})
		}
		delivering.Wait()
	}
	h.settle(projections.All())
	h.onceEach(p)
	h.sameAsQuietReplay()
}

func TestAGapIsReadFromTheStore(t *testing.T) {
	h := newHouse(t)
	h.release(1000)
	h.live(60)
	o := quick()
	o.Poll = time.Hour // only the gap tells that something is missing
	p := h.projector(projections.All(), o)
	h.run(p)
	h.eventually("all is applied", func() bool { return len(h.behind(p)) == 0 })
	h.live(60)
	for _, shard := range shardsOf(h.records(), 3) {
		deliver(h.ctx(), p, shard[len(shard)-1]) // all others are lost
	}
	h.eventually("the gaps are filled", func() bool { return len(h.behind(p)) == 0 })
	var gaps int64
	for _, s := range p.Stats() {
		gaps += s.Gaps
	}
	if gaps == 0 {
		t.Error("nobody noticed a gap: this test shows nothing")
	}
	h.onceEach(p)
	h.sameAsQuietReplay()
}

// behind lists the runners of p that have not reached the last record of their shard.
func (h *house) behind(p *projections.Projector) []string {
	h.t.Helper()
	return late(p, lastPositions(h.records()))
}

func late(p *projections.Projector, last []int64) []string {
	var late []string
	for _, s := range p.Stats() {
		if s.At.Number < last[s.Shard] {
			late = append(late, fmt.Sprintf("%s-%d", s.Projection, s.Shard))
		}
	}
	return late
}

// lastPositions gives the position of each shard's last record.
func lastPositions(records []eventstore.Record) []int64 {
	last := make([]int64, eventstore.DefaultShards)
	for i := range records {
		last[records[i].Shard(len(last))] = records[i].Position
	}
	return last
}

func TestAnOverlapIsTrimmed(t *testing.T) {
	h := newHouse(t)
	h.release(1000)
	h.live(60)
	p := h.projector(projections.All(), quick())
	for shard, cut := range shardsOf(h.records(), 6) {
		first, second := cut[0], cut[1]
		overlap := second
		overlap.Prev = first.Prev
		overlap.Records = append(slices.Clone(first.Records), second.Records...)
		deliver(h.ctx(), p, first)
		deliver(h.ctx(), p, overlap) // begins before the checkpoint, ends after it
		deliver(h.ctx(), p, second)  // covered by now
		for _, s := range p.Stats() {
			if s.Shard == shard && (s.At != second.Last || s.Gaps != 0 || s.Faults != 0) {
				t.Errorf("%s shard %d is at %d with %d gaps and fault %q, want it at %d", s.Projection, shard, s.At.Number, s.Gaps, s.Fault, second.Last.Number)
			}
		}
	}
	stop := h.run(p)
	h.settle(projections.All())
	stop()
	h.onceEach(p)
	h.sameAsQuietReplay()
}

// The bus brings nothing at all, and nobody hurries the projector.
func TestALostLastMessageHealsWhenIdle(t *testing.T) {
	h := newHouse(t)
	h.release(1000)
	p := h.projector(projections.All(), quick())
	h.run(p)
	h.settle(projections.All())
	id, group := h.placed(h.made)
	stored := time.Now()
	h.append(group...)
	views := projections.NewViews(h.pool)
	h.eventually("the order is in the view", func() bool {
		_, ok, err := views.Order(h.ctx(), id)
		return ok && err == nil
	})
	t.Logf("in the view %v after it was stored", time.Since(stored))
	h.settle(projections.All())
	h.onceEach(p)
}

// B43: two projections of one topic each get every event.
func TestB43EveryProjectionGetsEveryEvent(t *testing.T) {
	h := newHouse(t)
	h.release(1000)
	h.live(40)
	p := h.projector(projections.All(), quick())
	for _, shard := range shardsOf(h.records(), 10) {
		for _, b := range shard {
			deliver(h.ctx(), p, b)
		}
	}
	h.onceEach(p)
}

// Two processes that both believe to be the one for every shard.
func TestTwoRunnersOfOneShardAreHarmless(t *testing.T) {
	h := newHouse(t)
	h.release(5000)
	one, two := h.projector(projections.All(), quick()), h.projector(projections.All(), quick())
	h.run(one)
	h.run(two)
	for range 3 {
		h.live(50)
		var delivering sync.WaitGroup
		for _, shard := range shardsOf(h.records(), 2) {
			for _, p := range []*projections.Projector{one, two} {
				delivering.Go(func() {
					for _, b := range shard {
						deliver(h.ctx(), p, b)
					}
				})
			}
		}
		delivering.Wait()
	}
	h.settle(projections.All())
	h.onceEach(one, two)
	h.sameAsQuietReplay()
}

// B58: created, paid, cancelled in all six orders, each twice.
func TestB58ALateOrRepeatedEventNeverOverwritesNewerState(t *testing.T) {
	h := newHouse(t)
	id, group := h.placed(0)
	h.append(group[0])
	h.then(id, &domain.OrderPaid{OrderID: id, PaymentID: "p"}, &domain.OrderCancelled{OrderID: id, By: "buyer"})
	shard := eventstore.ShardOf(id, eventstore.DefaultShards)
	cut := batches(h.records(), shard, eventstore.DefaultShards, 1)
	if len(cut) != 3 {
		t.Fatalf("got %d batches, want 3", len(cut))
	}
	var first []string
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		h.wipe()
		p := h.projector(projections.All(), quick())
		stop := h.run(p)
		for _, i := range order {
			deliver(h.ctx(), p, cut[i])
			deliver(h.ctx(), p, cut[i])
		}
		h.settle(projections.All())
		stop()
		got := h.dump()
		if first == nil {
			first = got
		}
		h.sameRows(got, first)
		answer, ok, err := projections.NewViews(h.pool).Order(h.ctx(), id)
		if err != nil || !ok || answer.Status != domain.OrderStatusCancelled || answer.Version != 3 || !answer.RefundDue {
			t.Errorf("order of delivery %v: got %+v (found %v, error %v), want it cancelled at version 3 with a refund due", order, answer, ok, err)
		}
	}
}

// The same without checkpoints, as rebuilding and retrying beside each other do:
// the rows defend themselves.
func TestB58RowsDefendThemselvesWithoutCheckpoints(t *testing.T) {
	h := newHouse(t)
	id, group := h.placed(0)
	h.append(group[0])
	h.then(id, &domain.OrderPaid{OrderID: id, PaymentID: "p"}, &domain.OrderCancelled{OrderID: id, By: "buyer"})
	records := h.records()
	write := func(r *eventstore.Record) error {
		e, err := domain.Decode(r.Type, r.Schema, r.Payload)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := projections.All()[0].Fold(projections.Share{Store: 1}, []projections.Fact{{Record: r, Event: e}})
		if err != nil {
			t.Fatal(err)
		}
		return pg.InTx(h.ctx(), h.pool, func(tx pgx.Tx) error { return rows.Write(h.ctx(), tx) })
	}
	views := projections.NewViews(h.pool)
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		h.wipe()
		var version int64
		for range 3 { // what came too early is refused, and comes again
			for _, i := range order {
				for range 2 {
					err := write(&records[i])
					answer, _, viewErr := views.Order(h.ctx(), id)
					if viewErr != nil || answer.Version < version {
						t.Fatalf("order %v: version %d after %d (error %v)", order, answer.Version, version, viewErr)
					}
					if early := records[i].Version > version+1; early != (err != nil) {
						t.Fatalf("order %v: version %d on top of %d gave %v", order, records[i].Version, version, err)
					}
					version = answer.Version
				}
			}
		}
		answer, _, _ := views.Order(h.ctx(), id)
		if version != 3 || answer.Status != domain.OrderStatusCancelled || !answer.RefundDue {
			t.Errorf("order %v ends with %+v", order, answer)
		}
	}
}
