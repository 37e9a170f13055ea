package commands_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/eventstore/memstore"
	"seckill/infra/memgate"
	"seckill/infra/testenv"
)

// stall is a sale that sells, over a gate and a log in memory, so that the log can be
// put back to an older state while everything runs on.
type stall struct {
	t      *testing.T
	env    *commands.Env
	store  *memstore.Store
	gate   *memgate.Gate
	follow *commands.Follower
	keeper *commands.Keeper
	place  domain.Place
}

type freeLocks struct{}

func (freeLocks) Lock(ctx context.Context, _ string) (context.Context, func(), error) {
	return ctx, func() {}, nil
}

func newStall(t *testing.T, stock int64) *stall {
	t.Helper()
	return newStallOf(t, stock, 1)
}

// newStallOf deals the units over buckets.
func newStallOf(t *testing.T, stock int64, buckets int) *stall {
	t.Helper()
	s := &stall{t: t, store: memstore.New(time.Now), gate: memgate.New(1, time.Now), env: &commands.Env{
		Store: 1, Keys: domain.Keys{Current: 1, Secrets: map[uint8][]byte{1: []byte("a secret of the tests")}}, Now: time.Now,
		Random: rand.Reader, NewID: uuid.New, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}}
	s.follow = commands.NewFollower(s.env, s.store, s.gate)
	sales := commands.NewSales(s.store, s.env.Now, commands.SalesOptions{})
	s.keeper = commands.NewKeeper(s.env, sales, s.gate, s.store, s.follow, freeLocks{}, commands.KeeperOptions{})
	operator := &commands.Operator{Env: s.env, Sales: sales, Log: s.store, Gate: s.gate, Follow: s.follow, Preheat: s.keeper.Preheat}
	sale, err := operator.Schedule(t.Context(), domain.SaleTerms{
		Title: "T", OpensAt: time.Now().Add(-time.Minute), ClosesAt: time.Now().Add(time.Hour), AutoOpen: true, Buckets: buckets,
		Items: []domain.ItemTerms{{SKU: "tea", Price: domain.Money{Minor: 1, Currency: "CNY"}, Stock: stock}},
	}, commands.Actor{By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	s.place = domain.Place{Store: 1, Sale: sale.ID}
	return s
}

// buy takes a unit out of the gate for a buyer, and gives the order.
func (s *stall) buy(buyer string) string {
	s.t.Helper()
	order, err := domain.NewOrderID(s.env.Keys, s.place, buyer, [10]byte([]byte(fmt.Sprintf("%-10s", buyer))))
	if err != nil {
		s.t.Fatal(err)
	}
	v, err := s.gate.Reserve(s.t.Context(), commands.Reservation{
		Order: order, Buyer: buyer, Place: s.place, Lines: []domain.Line{{SKU: "tea", Quantity: 1}}, Items: []string{"tea"}, Eligible: true,
	})
	if err != nil || v.Outcome != domain.Reserved {
		s.t.Fatalf("buyer %s: got %s, %v, want a unit", buyer, v.Outcome, err)
	}
	return order
}

// record runs a recorder with a follower of its own until the test ends.
func (s *stall) record() { s.recordOn(s.store) }

// recordOn runs a recorder on a log until stop is called, or the test ends.
func (s *stall) recordOn(log commands.Log) (stop func()) {
	recorder := commands.NewRecorder(s.env, s.gate, log, commands.NewFollower(s.env, log, s.gate), commands.RecorderOptions{})
	ctx, cancel := context.WithCancel(s.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- recorder.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Error(err)
		}
	})
	s.t.Cleanup(stop)
	return stop
}

func (s *stall) awaitRecorded(order string) {
	s.t.Helper()
	testenv.Eventually(s.t, 30*time.Second, func() error {
		states, err := s.store.States(s.t.Context(), []string{domain.OrderStream(order)})
		if err == nil && states[0].Version == 0 {
			err = fmt.Errorf("order %s is in the journal and not in the log", order)
		}
		return err
	})
}

func TestWhatALogThatWentBackHasLostIsRecordedAgainAlthoughNothingMoreIsSold(t *testing.T) {
	s := newStall(t, 1)
	s.record()
	before := s.store.Snapshot()
	order := s.buy("ann") // the last unit
	s.awaitRecorded(order)
	s.store.Restore(before)
	s.awaitRecorded(order)
}

// A follower that remembers where a stock stood must not take a version that follows by
// its number alone: the gate remembers the same, and would take it too.
func TestAFollowerBringsNothingOfANewLogOntoWhatAnOldOneSaid(t *testing.T) {
	s := newStall(t, 9)
	stream := domain.StockStream(s.place.Sale, "tea", 0)
	stored := func(units int64) []eventstore.Record {
		ev := &domain.StockReleased{SaleID: s.place.Sale, SKU: "tea", Quantity: units}
		name, schema, payload, err := domain.Encode(ev)
		if err != nil {
			t.Fatal(err)
		}
		receipt, err := s.store.Submit(t.Context(), eventstore.Work{Decide: func(eventstore.Look) (*eventstore.Group, error) {
			return &eventstore.Group{Appends: []eventstore.Append{{Stream: stream, Expected: eventstore.AnyVersion, Events: []eventstore.NewEvent{
				{ID: uuid.New(), Type: name, Schema: schema, SaleID: s.place.Sale, Payload: payload, Metadata: []byte("{}")},
			}}}}, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		return receipt.Records
	}
	before := s.store.Snapshot()
	if err := s.follow.Push(t.Context(), stored(100)); err != nil {
		t.Fatal(err)
	}
	s.store.Restore(before)
	stored(20) // another process stored it, at the version of the 100
	err := s.follow.Push(t.Context(), stored(3))
	seen, failed := s.gate.Peek(t.Context(), s.place, []string{"tea"})
	if failed != nil {
		t.Fatal(failed)
	}
	if err == nil || seen.Stocks[0].Applied.Number != 2 || seen.Stocks[0].Available != 109 {
		t.Errorf("got %v, and %+v in the gate; want it told that the gate holds what the log does not, and untouched", err, seen.Stocks[0])
	}
}

// fallingLog goes back to an older state right before a stream is read.
type fallingLog struct {
	*memstore.Store
	stream string
	to     *memstore.Snapshot
}

func (l *fallingLog) ReadStream(ctx context.Context, stream string, after int64, max int) ([]eventstore.Record, error) {
	if stream == l.stream && l.to != nil {
		l.Restore(l.to)
		l.to = nil
	}
	return l.Store.ReadStream(ctx, stream, after, max)
}

// What was sold is in the journal and was in the log; the log that is read to build the
// item again does not say so any more.
func TestAnItemIsNotOpenedByALogThatWentBackWhileItWasBuilt(t *testing.T) {
	s := newStall(t, 1)
	before := s.store.Snapshot()
	recording, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	recorder := commands.NewRecorder(s.env, s.gate, s.store, s.follow, commands.RecorderOptions{})
	go func() { ended <- recorder.Run(recording) }()
	s.awaitRecorded(s.buy("ann"))
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	s.gate.Lose(s.place, "tea")
	log := &fallingLog{s.store, domain.StockStream(s.place.Sale, "tea", 0), before}
	keeper := commands.NewKeeper(s.env, commands.NewSales(log, s.env.Now, commands.SalesOptions{}), s.gate, log,
		commands.NewFollower(s.env, log, s.gate), freeLocks{}, commands.KeeperOptions{})
	err := keeper.Preheat(t.Context(), s.place.Sale)
	seen, failed := s.gate.Peek(t.Context(), s.place, []string{"tea"})
	if failed != nil {
		t.Fatal(failed)
	}
	if err == nil || log.to != nil || seen.Stocks[0].State == commands.HashOpen {
		t.Errorf("got %v, and %+v in the gate; want it told that the log went back, and nothing on sale that was sold", err, seen.Stocks[0])
	}
}
