package commands_test

import (
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/eventstore/pgstore"
	"seckill/infra/memgate"
)

// till is a sale without a gate over a real log, whose questions are counted and
// can be held back.
type till struct {
	*desk
	direct *commands.Direct
	judges commands.ByStrategy
	orders *commands.Orders
	lost   *commands.Lost
	log    *heldLog
	sale   domain.Sale
	made   uint64
}

// heldLog is a log that counts, and holds works of purchases back while told to.
type heldLog struct {
	*pgstore.Store
	works, looks atomic.Int64
	blind        atomic.Bool // no look is answered
	mu           sync.Mutex
	hold         chan struct{} // nil: nothing is held
	arrived      chan struct{}
}

func (l *heldLog) Submit(ctx context.Context, w eventstore.Work) (eventstore.Receipt, error) {
	l.works.Add(1)
	l.mu.Lock()
	hold := l.hold
	l.mu.Unlock()
	if hold != nil && len(w.Needs.Guards) > 0 {
		l.arrived <- struct{}{}
		<-hold
		ctx = context.WithoutCancel(ctx) // it was on its way
	}
	return l.Store.Submit(ctx, w)
}

func (l *heldLog) LookAt(ctx context.Context, n eventstore.Needs) (eventstore.Look, error) {
	l.looks.Add(1)
	if l.blind.Load() {
		return nil, eventstore.ErrUnavailable
	}
	return l.Store.LookAt(ctx, n)
}

// holdBack holds purchases back from now on; the answer lets them go.
func (l *heldLog) holdBack() (letGo func()) {
	hold := make(chan struct{})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold, l.arrived = hold, make(chan struct{}, 100)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.hold = nil
		close(hold)
	}
}

// noView is a read model that knows nothing.
type noView struct{}

func (noView) Order(context.Context, string) (commands.OrderAnswer, bool, error) {
	return commands.OrderAnswer{}, false, nil
}

func (noView) OrdersOfBuyer(context.Context, string, string, int, string) (commands.OrderPage, error) {
	return commands.OrderPage{}, nil
}

func newTill(t *testing.T, stock int64, opts commands.DirectOptions, change func(*domain.SaleTerms)) *till {
	t.Helper()
	c := &till{desk: newDesk(t)}
	c.env.Keys = domain.Keys{Current: 1, Secrets: map[uint8][]byte{1: []byte("a secret of the tests")}}
	c.log = &heldLog{Store: c.store}
	c.direct = commands.NewDirect(c.env, c.sales, c.log, opts)
	t.Cleanup(func() {
		if err := c.direct.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	gate := memgate.New(1, time.Now)
	c.judges = commands.ByStrategy{Sales: c.sales, Gate: gate, Direct: c.direct}
	follow := commands.NewFollower(c.env, c.store, gate)
	follow.Gateless = c.sales.Gateless
	c.operator.Follow = follow
	c.lost = &commands.Lost{Env: c.env, Gate: c.judges, Log: c.store}
	c.orders = &commands.Orders{Env: c.env, Log: c.store, Follow: follow, Finder: &commands.Finder{
		Env: c.env, View: noView{}, Log: c.store, Gate: c.judges, Journal: gate, Lost: c.lost,
	}}
	terms := domain.SaleTerms{
		Title: "T", OpensAt: time.Now().Add(-time.Minute), ClosesAt: time.Now().Add(time.Hour), AutoOpen: true, Strategy: domain.StrategyPostgres,
		Items: []domain.ItemTerms{{SKU: "A", Price: domain.Money{Minor: 100, Currency: "CNY"}, Stock: stock}},
	}
	if change != nil {
		change(&terms)
	}
	sale, err := c.operator.Schedule(t.Context(), terms, commands.Actor{By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	c.sale = sale.Sale
	return c
}

// ask makes a reservation.
func (c *till) ask(buyer string, quantity int64) commands.Reservation {
	c.t.Helper()
	c.made++
	var random [10]byte
	binary.BigEndian.PutUint64(random[:], c.made)
	place := domain.Place{Store: 1, Sale: c.sale.ID, Direct: true}
	id, err := domain.NewOrderID(c.env.Keys, place, buyer, random)
	if err != nil {
		c.t.Fatal(err)
	}
	if ref, err := domain.ParseOrderID(id); err != nil || ref.Lane != 0 || ref.Place.Bucket != 0 {
		c.t.Fatalf("the id of an order without a gate: got lane %d, bucket %d (%v), want 0 and 0", ref.Lane, ref.Place.Bucket, err)
	}
	return commands.Reservation{
		Order: id, Buyer: buyer, Place: place, Items: c.sale.SKUs(), Eligible: true, TraceID: "trace",
		Lines: []domain.Line{{SKU: "A", Quantity: quantity}},
	}
}

func (c *till) want(when string, r commands.Reservation, want domain.Outcome) commands.Verdict {
	c.t.Helper()
	v, err := c.judges.Reserve(c.t.Context(), r)
	if err != nil || v.Outcome != want {
		c.t.Fatalf("%s: got %s, %v; want %s", when, v.Outcome, err, want)
	}
	return v
}

// left is what the guard has left, and how many of the buyer's claims are live.
func (c *till) left() int64 {
	c.t.Helper()
	guards, err := c.store.Guards(c.t.Context(), []string{domain.StockStream(c.sale.ID, "A", 0)})
	if err != nil {
		c.t.Fatal(err)
	}
	return guards[0].Left()
}

func (c *till) wantLeft(want int64) {
	c.t.Helper()
	if got := c.left(); got != want {
		c.t.Fatalf("the log has %d units left, want %d", got, want)
	}
}

func refOf(t testing.TB, r commands.Reservation) domain.OrderRef {
	t.Helper()
	ref, err := domain.ParseOrderID(r.Order)
	if err != nil {
		t.Fatal(err)
	}
	return ref
}
