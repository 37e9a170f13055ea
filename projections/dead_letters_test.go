package projections_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/projections"
)

func (h *house) letters(list []projections.Projection) projections.DeadLetters {
	return projections.DeadLetters{DB: h.pool, Source: h.source(), Projections: list}
}

func (h *house) parked(projection string) []projections.DeadSequence {
	h.t.Helper()
	all, err := h.letters(nil).List(h.ctx(), projection, "")
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

// broken appends an event of an order whose payload nobody can read, and gives
// its position.
func (h *house) broken(order string) int64 {
	h.t.Helper()
	h.append(eventstore.Append{Stream: domain.OrderStream(order), Events: []eventstore.NewEvent{{
		ID: uuid.New(), Type: "order.paid", Schema: 1, SaleID: h.sale, OrderID: order, Payload: []byte("{\"order_id\":\x00"), Metadata: []byte(`{}`)}}})
	return h.head().Number
}

func TestB39OneUnreadableEventAmongAThousandIsParkedAndTheOthersAreApplied(t *testing.T) {
	h := newHouse(t)
	h.release(1 << 30)
	h.fill(250)
	id, _ := h.placed(100)
	at := h.broken(id)
	h.fill(249)
	if n := h.head().Number; n != 1000 {
		t.Fatalf("the log has %d events, want 1000", n)
	}
	var alarms atomic.Int64
	o := quick()
	o.Alarm = func(kind string) {
		if kind == projections.AlarmParked {
			alarms.Add(1)
		}
	}
	p := h.projector(projections.All(), o)
	h.run(p)
	h.settle(projections.All())
	for _, name := range []string{"order_view", "sale_summary"} {
		all := h.parked(name)
		if len(all) != 1 || all[0].Sequence != id || all[0].First != at || all[0].Events != 1 || !strings.Contains(all[0].Reason, fmt.Sprintf("position %d", at)) {
			t.Errorf("%s set aside %+v, want the one event at %d of %s with its reason", name, all, at, id)
		}
		letters, err := h.letters(nil).Show(h.ctx(), name, id)
		if err != nil || len(letters) != 1 || letters[0].Tries != 4 || letters[0].Position != at || letters[0].Type != "order.paid" {
			t.Errorf("%s shows %+v, error %v, want one letter after 3 tries of the batch and one alone", name, letters, err)
		}
	}
	every := h.parked("")
	if some, err := h.letters(nil).First(h.ctx(), "", "", 1); err != nil || len(every) < 2 || len(some) != 1 || some[0].Projection != every[0].Projection {
		t.Errorf("got %v, %v as the first of %v", some, err, every)
	}
	if all := h.parked("stock_log"); len(all) != 0 {
		t.Errorf("stock_log set aside %+v, want nothing: it does not read orders", all)
	}
	if n := alarms.Load(); n != 2 {
		t.Errorf("%d alarms, want one for each of the two projections", n)
	}
	// 999 are applied: each projection's, without the one.
	h.eventually("the 999 others are counted", func() bool {
		got := applied(p)
		return got["order_view"] == 499 && got["sale_summary"] == 499 && got["stock_log"] == 500
	})
	for _, s := range p.Stats() {
		if s.Fault != "" {
			t.Errorf("%s shard %d still reports %q", s.Projection, s.Shard, s.Fault)
		}
	}
}

// B40: what hits one activity for a while does not hold up another for longer
// than the tries take.
func TestB40AHandlerThatFailsForOneSaleHoldsUpNoOther(t *testing.T) {
	h := newHouse(t)
	h.release(1 << 30)
	bad, other := h.sale, domain.SaleNumber(2).ID()
	list := projections.All()
	fold := list[0].Fold
	var failing atomic.Bool
	failing.Store(true)
	list[0].Fold = func(s projections.Share, facts []projections.Fact) (projections.Rows, error) {
		for _, f := range facts {
			if failing.Load() && f.Record.SaleID == bad {
				return nil, errCrash
			}
		}
		return fold(s, facts)
	}
	o := quick()
	o.Backoff = 0 // as in service
	h.run(h.projector(list, o))
	h.fill(40)
	h.sale = other
	began := time.Now()
	h.fill(40)
	h.settle(list)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the other sale was in the view after %v, want under 5 s", took)
	}
	if n := h.count("order_view", "sale_id = '"+other+"'"); n != 40 {
		t.Errorf("%d orders of the other sale are in the view, want 40", n)
	}
	parked := h.parked("order_view")
	if len(parked) != 40 || h.count("order_view", "sale_id = '"+bad+"'") != 0 {
		t.Fatalf("%d sequences of the failing sale are parked, want 40", len(parked))
	}
	failing.Store(false)
	for _, s := range parked {
		if n, err := h.letters(list).Retry(h.ctx(), s); n != 1 || err != nil {
			t.Fatalf("retry %s: %d applied, error %v", s.Sequence, n, err)
		}
	}
	h.sameAsQuietReplay()
}

func (h *house) count(table, where string) int {
	h.t.Helper()
	var n int
	if err := h.pool.QueryRow(h.ctx(), "select count(*) from "+table+" where "+where).Scan(&n); err != nil {
		h.t.Fatal(err)
	}
	return n
}

// A fold that cannot take some order's second event, until it is mended.
func stubborn(id *atomic.Value) (list []projections.Projection, mend func()) {
	list = projections.All()
	fold := list[0].Fold
	var mended atomic.Bool
	list[0].Fold = func(s projections.Share, facts []projections.Fact) (projections.Rows, error) {
		for _, f := range facts {
			if !mended.Load() && f.Record.OrderID == id.Load() && f.Record.Version == 2 {
				return nil, fmt.Errorf("no room for position %d", f.Record.Position)
			}
		}
		return fold(s, facts)
	}
	return list, func() { mended.Store(true) }
}

func TestAParkedSequenceIsRememberedAcrossBatchesAndRestartsAndRetriedInOrder(t *testing.T) {
	h := newHouse(t)
	h.release(1 << 30)
	var id atomic.Value
	order, group := h.placed(h.made)
	h.made++
	id.Store(order)
	list, mend := stubborn(&id)
	h.append(group...)
	stop := h.run(h.projector(list, quick()))
	h.then(order, &domain.OrderPaid{OrderID: order, PaymentID: "p"}) // cannot be applied
	h.live(10)
	h.settle(list)
	h.then(order, &domain.OrderCancelled{OrderID: order, By: "buyer"}) // follows, in a later batch
	h.settle(list)
	stop()
	stop = h.run(h.projector(list, quick())) // another process
	h.then(order, &domain.OrderPaid{OrderID: order, PaymentID: "q"})
	h.live(10)
	h.settle(list)

	parked := h.parked("order_view")
	if len(parked) != 1 || parked[0].Sequence != order || parked[0].Events != 3 {
		t.Fatalf("parked: %+v, want the three later events of %s", parked, order)
	}
	if v, ok, err := projections.NewViews(h.pool).Order(h.ctx(), order); !ok || err != nil || v.Status != domain.OrderStatusPlaced {
		t.Errorf("the view says %+v, %v, %v, want the order as it was before the fault", v, ok, err)
	}
	letters, err := h.letters(list).Show(h.ctx(), "order_view", order)
	if err != nil || len(letters) != 3 || letters[0].Tries == 0 || letters[1].Tries != 0 || !strings.Contains(letters[2].Reason, "comes after") {
		t.Errorf("letters %+v, error %v, want one fault and two that follow it", letters, err)
	}

	if _, err := h.letters(list).Retry(h.ctx(), parked[0]); !errors.Is(err, projections.ErrUnfit) {
		t.Errorf("retry before it was mended: got %v, want that it cannot be applied", err)
	}
	if again := h.parked("order_view"); len(again) != 1 || again[0].Events != 3 {
		t.Errorf("after a retry in vain %+v is parked, want it unchanged", again)
	}
	mend()
	if n, err := h.letters(list).Retry(h.ctx(), parked[0]); n != 3 || err != nil {
		t.Fatalf("retry: %d applied, error %v, want 3", n, err)
	}
	h.then(order, &domain.OrderPaid{OrderID: order, PaymentID: "r"}) // flows again
	h.settle(list)
	if all := h.parked(""); len(all) != 0 {
		t.Errorf("still parked: %+v", all)
	}
	if _, err := h.letters(list).Retry(h.ctx(), parked[0]); !errors.Is(err, projections.ErrNoLetters) {
		t.Errorf("retry of nothing: got %v", err)
	}
	stop()
	h.sameAsQuietReplay()
}

func TestADroppedSequenceStaysDroppedWithItsReasonUntilItIsRetried(t *testing.T) {
	h := newHouse(t)
	h.release(1 << 30)
	var id atomic.Value
	order, group := h.placed(h.made)
	h.made++
	id.Store(order)
	list, mend := stubborn(&id)
	h.append(group...)
	h.then(order, &domain.OrderPaid{OrderID: order, PaymentID: "p"})
	h.run(h.projector(list, quick()))
	h.settle(list)
	s := h.parked("order_view")[0]
	if err := h.letters(list).Drop(h.ctx(), s, " "); err == nil {
		t.Error("dropped without a reason")
	}
	if err := h.letters(list).Drop(h.ctx(), s, "ada: a test purchase"); err != nil {
		t.Fatal(err)
	}
	mend()
	h.then(order, &domain.OrderCancelled{OrderID: order, By: "buyer"})
	h.settle(list)
	letters, err := h.letters(list).Show(h.ctx(), "order_view", order)
	if err != nil || len(letters) != 2 || letters[0].State != projections.StateDropped || letters[0].Note != "ada: a test purchase" ||
		letters[0].DroppedAt.IsZero() || letters[1].State != projections.StateDropped {
		t.Errorf("letters %+v, error %v, want both dropped, with the reason", letters, err)
	}
	if n, err := h.letters(list).Retry(h.ctx(), s); n != 2 || err != nil {
		t.Fatalf("retry of a dropped sequence: %d, %v", n, err)
	}
	h.settle(list)
	h.sameAsQuietReplay()
}

// A program that can apply nothing parks no log: it stops.
func TestWhereTooManySequencesFailTheShardStops(t *testing.T) {
	h := newHouse(t)
	h.fill(60)
	list := projections.All()
	list[0].Fold = func(projections.Share, []projections.Fact) (projections.Rows, error) { return nil, errCrash }
	o := quick()
	o.Shards, o.MaxParked = 1, 5
	p := h.projector(list[:1], o)
	h.run(p)
	h.eventually("the shard has stopped", func() bool {
		return strings.Contains(p.Stats()[0].Fault, "5 sequences are parked already")
	})
	if n := len(h.parked("")); n != 5 {
		t.Errorf("%d sequences are parked, want 5", n)
	}
}

func TestAFoldThatPanicsIsAFaultOfItsEventAlone(t *testing.T) {
	h := newHouse(t)
	h.release(1 << 30)
	h.fill(20)
	id, _ := h.placed(7)
	list := projections.All()
	fold := list[2].Fold
	list[2].Fold = func(s projections.Share, facts []projections.Fact) (projections.Rows, error) {
		for _, f := range facts {
			if f.Record.OrderID == id {
				panic("no such thing")
			}
		}
		return fold(s, facts)
	}
	h.run(h.projector(list, quick()))
	h.settle(list)
	if all := h.parked(""); len(all) != 1 || all[0].Sequence != id || all[0].Projection != "sale_summary" || !strings.Contains(all[0].Reason, "no such thing") {
		t.Errorf("parked: %+v, want the one order with what it panicked about", all)
	}
	_, err := projections.Rebuild(h.ctx(), h.pool, h.source(), list[2:], projections.RebuildOptions{})
	if err != nil {
		t.Errorf("a rebuild past what is parked: %v", err)
	}
	s := h.parked("")[0]
	if _, err := h.letters(list).Retry(h.ctx(), s); !errors.Is(err, projections.ErrUnfit) {
		t.Errorf("retry: got %v, want that it cannot be applied", err)
	}
}

// Whatever a store causes is never held against an event.
func TestFaultsOfTheStoreParkNothing(t *testing.T) {
	h := newHouse(t)
	h.release(1 << 30)
	h.live(10)
	var failures atomic.Int64
	for _, cause := range []error{errCrash, h.serialization()} {
		failures.Store(0)
		db := &crashDB{DB: h.pool, fault: func(s string) error {
			if strings.Contains(s, "insert into order_view") && failures.Add(1) <= 40 {
				return cause
			}
			return nil
		}}
		stop := h.run(h.projectorOn(db, projections.All(), quick()))
		h.live(5)
		h.settle(projections.All())
		stop()
	}
	if all := h.parked(""); len(all) != 0 {
		t.Errorf("parked: %+v, want nothing", all)
	}
	h.sameAsQuietReplay()
}

func (h *house) serialization() error {
	_, err := h.pool.Exec(h.ctx(), "do $$ begin raise exception 'not now' using errcode = '40001'; end $$")
	if err == nil {
		h.t.Fatal("no error")
	}
	return err
}
