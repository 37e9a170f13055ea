package projections_test

import (
	"errors"
	"testing"
	"time"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/projections"
)

// What is set aside belongs to what a rebuild has built; where it changed
// meanwhile the tables would lack, or doubly have, what was retried.
func TestARebuildGivesUpWhereTheDeadLettersChangedMeanwhile(t *testing.T) {
	h := newHouse(t)
	h.release(1 << 30)
	h.live(30)
	id, _ := h.placed(2)
	h.broken(id)
	stop := h.run(h.projector(projections.All(), quick()))
	h.settle(projections.All())
	stop()
	before, s := h.dump(), h.parked("order_view")[0]
	dropped := false
	source := projections.Source{Store: 1, Log: spoiled{h.store, func(p []eventstore.Record) []eventstore.Record {
		if !dropped {
			dropped = true
			if err := h.letters(nil).Drop(h.ctx(), s, "ada: meanwhile"); err != nil {
				t.Error(err)
			}
		}
		return p
	}}}
	_, err := projections.Rebuild(h.ctx(), h.pool, source, projections.All(), projections.RebuildOptions{})
	if !errors.Is(err, projections.ErrLettersChanged) {
		t.Errorf("got %v, want that the dead letters changed", err)
	}
	h.sameRows(h.dump(), before)
	if n := h.leftovers(); n != 0 {
		t.Errorf("%d leftovers", n)
	}
	report := h.rebuild(projections.RebuildOptions{})
	if got := report.Views[0].Remembered; len(got) != 1 || got[0].State != projections.StateDropped || got[0].Note != "ada: meanwhile" {
		t.Errorf("remembered: %+v, want the dropped sequence with its note", got)
	}
	h.sameRows(h.dump(), before)
}

func TestANewVersionTakesTheDeadLettersAlong(t *testing.T) {
	h := newHouse(t)
	h.release(1 << 30)
	h.live(30)
	id, _ := h.placed(2)
	at := h.broken(id)
	stop := h.run(h.projector(projections.All(), quick()))
	h.settle(projections.All())
	stop()
	reason := h.parked("order_view")[0].Reason
	list := projections.All()
	for i := range list {
		list[i].Version = 7
	}
	if _, err := projections.Rebuild(h.ctx(), h.pool, h.source(), list, projections.RebuildOptions{Shards: 3}); err != nil {
		t.Fatal(err)
	}
	got := h.parked("order_view")
	if len(got) != 1 || got[0].Version != 7 || got[0].Shard != eventstore.ShardOf(id, 3) || got[0].First != at || got[0].Reason != reason {
		t.Errorf("parked: %+v, want %s from %d in version 7, shard %d, with its reason", got, id, at, eventstore.ShardOf(id, 3))
	}
	o := quick()
	o.Shards = 3
	h.run(h.projector(list, o))
	h.then(id, &domain.OrderCancelled{OrderID: id, By: "buyer"})
	progress := h.progress(list)
	progress.Shards = 3
	if err := progress.WaitFor(h.ctx(), h.head().Number); err != nil {
		t.Fatal(err)
	}
	if got := h.parked("order_view"); len(got) != 1 || got[0].Events != 2 {
		t.Errorf("after a later event: %+v, want both set aside", got)
	}
}

func TestDetailsTellWhatWaitsAndWhatIsSetAside(t *testing.T) {
	h := newHouse(t)
	h.release(1 << 30)
	id, group := h.placed(0)
	h.append(group...)
	h.broken(id)
	stop := h.run(h.projector(projections.All(), quick()))
	h.settle(projections.All())
	stop()
	before := time.Now()
	h.live(5)
	progress := projections.Progress{DB: h.pool, Source: h.source(), Projections: projections.All()}
	d, err := progress.Details(h.ctx())
	if err != nil {
		t.Fatal(err)
	}
	parked := 0
	for _, l := range d.Lines {
		parked += l.Parked
		if l.Behind == 0 || l.Waiting.Before(before.Add(-time.Second)) || l.Waiting.After(time.Now().Add(time.Second)) {
			t.Errorf("%s shard %d: %d behind, waiting since %v, want the first event after %v", l.Projection, l.Shard, l.Behind, l.Waiting, before)
		}
	}
	if parked != 2 || d.Projections[0].Parked != 1 || d.Projections[0].OldestParked.IsZero() || d.Projections[0].Newest.IsZero() || d.Projections[1].Parked != 0 {
		t.Errorf("%d parked, projections %+v, want one in order_view and one in sale_summary", parked, d.Projections)
	}
	if len(d.Rebuilds) != 0 {
		t.Errorf("rebuilds: %+v, want none", d.Rebuilds)
	}
	rebuilding := projections.RebuildOptions{Progress: func(projections.RebuildProgress) {}}
	source := projections.Source{Store: 1, Log: spoiled{h.store, func(p []eventstore.Record) []eventstore.Record {
		h.eventually("the rebuild is listed", func() bool {
			d, err := progress.Details(h.ctx())
			return err == nil && len(d.Rebuilds) == 1 && d.Rebuilds[0].Projection == "stock_log"
		})
		return p
	}}}
	if _, err := projections.Rebuild(h.ctx(), h.pool, source, projections.All()[1:2], rebuilding); err != nil {
		t.Fatal(err)
	}
}
