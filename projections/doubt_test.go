package projections_test

import (
	"testing"

	"seckill/eventstore"
	"seckill/projections"
)

// TestABatchOfCommitsThatTheLogLostIsNotApplied: a broker still delivers what a
// promoted standby or a restored dump no longer holds.
func TestABatchOfCommitsThatTheLogLostIsNotApplied(t *testing.T) {
	h := newHouse(t)
	h.release(1 << 40)
	o := quick()
	o.Doubt = true
	p := h.projector(projections.All(), o)
	h.live(10)
	stop := h.run(p)
	h.settle(projections.All())
	stop()

	// A purchase that was committed, cut into batches, and lost with its database.
	head := h.head()
	id, group := h.placed(1000)
	e := group[0].Events[0]
	lost := eventstore.Record{
		Position: head.Number + 1, ID: e.ID, Stream: group[0].Stream, Version: 1, Type: e.Type, Schema: e.Schema,
		SaleID: e.SaleID, OrderID: e.OrderID, RecordedAt: h.records()[0].RecordedAt, Payload: e.Payload, Metadata: e.Metadata,
	}
	lost.Hash = eventstore.ComputeHash(head.Hash, &lost)
	deliver := func() {
		for _, r := range p.Runners() {
			if r.Shard() == lost.Shard(eventstore.DefaultShards) {
				r.Deliver(h.ctx(), eventstore.Batch{
					Store: 1, Shard: r.Shard(), Shards: eventstore.DefaultShards,
					Prev: head, Last: lost.Head(), Records: []eventstore.Record{lost},
				})
			}
		}
	}
	deliver() // the log has nothing there
	h.live(3)
	deliver() // the log has something else there
	h.run(p)
	h.settle(projections.All())
	h.sameAsQuietReplay()
	if n := h.count("order_view", "order_id = '"+id+"'"); n != 0 {
		t.Errorf("order_view has %d rows of an order that the log lost, want 0", n)
	}
	for _, s := range p.Stats() {
		if s.Fault != "" {
			t.Errorf("%s of shard %d stopped: %s", s.Projection, s.Shard, s.Fault)
		}
	}
}
