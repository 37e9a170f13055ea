package commands_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// pollLog is a log that counts how often an order's stream was read, and does something
// right after the first time.
type pollLog struct {
	*heldLog
	reads atomic.Int64
	after func()
}

func (l *pollLog) ReadStream(ctx context.Context, stream string, after int64, limit int) ([]eventstore.Record, error) {
	page, err := l.heldLog.ReadStream(ctx, stream, after, limit)
	if l.reads.Add(1) == 1 {
		l.after()
	}
	return page, err
}

// countedGate counts who asks for an order.
type countedGate struct {
	commands.Gate
	asked atomic.Int64
}

func (g *countedGate) Order(ctx context.Context, ref domain.OrderRef) (commands.GateOrder, error) {
	g.asked.Add(1)
	return g.Gate.Order(ctx, ref)
}

// oneChange tells of one change of any order, once it has happened.
type oneChange struct {
	changed chan struct{}
	full    bool
	watched atomic.Int64 // who watches now
}

func (c *oneChange) Watch(string) (<-chan struct{}, func(), bool) {
	if c.full {
		return nil, func() {}, false
	}
	c.watched.Add(1)
	return c.changed, func() { c.watched.Add(-1) }, true
}

// poll is a buyer's poll of an order that is decided right after the first look at the log.
func poll(t *testing.T, changes *oneChange) (log *pollLog, gate *countedGate) {
	t.Helper()
	c := newTill(t, 10, commands.DirectOptions{}, nil)
	r := c.ask("b", 1)
	log = &pollLog{heldLog: c.log, after: func() {
		c.want("while the poll looks", r, domain.Reserved)
		if changes.changed != nil {
			close(changes.changed)
		}
	}}
	gate = &countedGate{Gate: c.judges}
	finder := &commands.Finder{Env: c.env, View: noView{}, Changes: changes, Log: log, Gate: gate, Lost: c.lost}
	answer, err := finder.Wait(t.Context(), r.Buyer, r.Order, 0, time.Minute)
	if err != nil || answer.Status != domain.OrderStatusPlaced {
		t.Fatalf("got %s, %v; want placed", answer.Status, err)
	}
	return log, gate
}

func TestAPollRightAfterThePurchaseHearsOfTheOrderAndAsksNoGate(t *testing.T) {
	changes := &oneChange{changed: make(chan struct{})}
	log, gate := poll(t, changes)
	if asked, reads := gate.asked.Load(), log.reads.Load(); asked != 0 || reads != 2 {
		t.Errorf("it asked the gate %d times and read the order's stream %d times, want never and twice: before and after it heard", asked, reads)
	}
	if n := changes.watched.Load(); n != 0 {
		t.Errorf("%d watch an order that was told", n)
	}
}

func TestAPollOfANodeThatHearsNothingLooksForItself(t *testing.T) {
	for _, changes := range []*oneChange{{}, {full: true}} { // never told; no place to watch
		_, gate := poll(t, changes)
		if changes.watched.Load() != 0 {
			t.Error("an order that was told is still watched")
		}
		if gate.asked.Load() > 1 {
			t.Errorf("the gate was asked %d times of an order that the log had", gate.asked.Load())
		}
	}
}

func TestAPollOfSomebodyElsesOrderIsRefusedAtOnce(t *testing.T) {
	c := newTill(t, 10, commands.DirectOptions{}, nil)
	r := c.ask("b", 1)
	finder := &commands.Finder{Env: c.env, View: noView{}, Changes: &oneChange{}, Log: c.store, Gate: c.judges, Lost: c.lost}
	_, err := finder.Wait(t.Context(), "another", r.Order, 0, time.Hour)
	if problem := new(domain.Problem); !errors.As(err, &problem) || problem.Code != domain.CodeOrderNotFound {
		t.Errorf("got %v, want %s", err, domain.CodeOrderNotFound)
	}
}
