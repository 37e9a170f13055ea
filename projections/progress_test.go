package projections_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/projections"
)

func TestWaitForReturnsOnceEveryShardIsThere(t *testing.T) {
	h := newHouse(t)
	h.release(1000)
	h.live(30)
	o := quick()
	o.Poll = time.Hour // it moves only when asked
	p := h.projector(projections.All(), o)
	progress := h.progress(projections.All())

	short, cancel := context.WithTimeout(h.ctx(), 100*time.Millisecond)
	defer cancel()
	if err := progress.WaitFor(short, h.head().Number); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("with nothing applied: got %v, want the deadline", err)
	}
	h.run(p)
	progress.Projector = p
	h.live(10)
	if err := progress.WaitFor(h.ctx(), h.head().Number); err != nil {
		t.Fatal(err)
	}
	stats, err := progress.Stats(h.ctx())
	if err != nil || !stats.Waiting.IsZero() {
		t.Errorf("after waiting, records wait since %v, error %v", stats.Waiting, err)
	}
}

func TestStatsTellWhereEverythingStands(t *testing.T) {
	h := newHouse(t)
	progress := projections.Progress{DB: h.pool, Source: h.source(), Projections: projections.All()}
	empty, err := progress.Stats(h.ctx())
	if err != nil || len(empty.Shards) != 24 || !empty.Waiting.IsZero() || empty.Head.Number != 0 {
		t.Fatalf("of an empty log: %+v, error %v", empty, err)
	}
	h.release(1000)
	h.live(10)
	before, err := progress.Stats(h.ctx())
	if err != nil {
		t.Fatal(err)
	}
	if first := h.records()[0].RecordedAt; !before.Waiting.Equal(first) {
		t.Errorf("nothing is applied: waiting since %v, want since the first record %v", before.Waiting, first)
	}
	for _, s := range before.Shards {
		if s.Behind != h.head().Number {
			t.Errorf("%s shard %d is %d behind, want %d", s.Projection, s.Shard, s.Behind, h.head().Number)
		}
	}
	h.run(h.projector(projections.All(), quick()))
	h.settle(projections.All())
	place := projections.RelayPlace(h.pool, 1)
	if err := place.Save(h.ctx(), h.head()); err != nil {
		t.Fatal(err)
	}
	after, err := progress.Stats(h.ctx())
	if err != nil || !after.Waiting.IsZero() || after.Relay.At != h.head() {
		t.Errorf("all is applied: %+v, error %v", after, err)
	}
	for _, s := range after.Shards {
		if s.Behind != 0 || s.AppliedAt.IsZero() || s.Core == (s.Projection == "sale_summary") {
			t.Errorf("got %+v, want it at the head, applied some time, and only sale_summary not core", s)
		}
	}
}

func TestWhoWaitsForAnOrderIsWokenByItsChange(t *testing.T) {
	h := newHouse(t)
	h.release(1000)
	id, group := h.placed(0)
	h.append(group...)
	p := h.projector(projections.All(), quick())
	h.run(p)
	h.settle(projections.All())
	changed, stop, ok := p.Changes().Watch(id)
	defer stop()
	other, stopOther, _ := p.Changes().Watch("another")
	defer stopOther()
	if !ok {
		t.Fatal("there is no place to wait")
	}
	h.then(id, &domain.OrderPaid{OrderID: id, PaymentID: "p"})
	select {
	case <-changed:
	case <-time.After(patience):
		t.Fatal("nobody was woken")
	}
	answer, ok, err := projections.NewViews(h.pool).Order(h.ctx(), id)
	if err != nil || !ok || answer.Status != domain.OrderStatusPaid {
		t.Errorf("woken, the view says %+v (found %v, error %v), want paid: the wake must come after the commit", answer, ok, err)
	}
	select {
	case <-other:
		t.Error("who waits for another order was woken")
	default:
	}
}

func TestWhoWaitsForAnOrderIsWokenWhenItIsStored(t *testing.T) {
	hub := projections.NewHub(8)
	changed, stop, _ := hub.Watch("mine")
	defer stop()
	other, stopOther, _ := hub.Watch("another")
	defer stopOther()
	hub.Stored([]eventstore.Record{{Stream: "sale-1"}, {OrderID: "mine"}, {OrderID: "mine"}})
	select {
	case <-changed:
	default:
		t.Error("who waits for the order was not woken")
	}
	select {
	case <-other:
		t.Error("who waits for another order was woken")
	default:
	}
}

func TestWaitingLeavesNothingBehind(t *testing.T) {
	hub := projections.NewHub(2)
	var waiting sync.WaitGroup
	stops := make(chan func(), 50)
	for range cap(stops) { // many for one order take one place
		waiting.Go(func() {
			_, stop, _ := hub.Watch("a")
			stops <- stop
		})
	}
	waiting.Wait()
	close(stops)
	_, stop, ok := hub.Watch("b")
	if !ok {
		t.Error("no place for a second order")
	}
	stop()
	for stop := range stops {
		stop()
	}
	for _, order := range []string{"x", "y"} {
		if _, _, ok := hub.Watch(order); !ok {
			t.Errorf("no place for %s although nobody waits any more", order)
		}
	}
	if _, _, ok := hub.Watch("z"); ok {
		t.Error("a third order found a place among two")
	}
}
