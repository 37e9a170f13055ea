package commands_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/testenv"
)

// counter is a Purchaser over a gate that answers as the test says, with a tally.
type counter struct {
	*vault
	clock     *testenv.Clock
	tally     *commands.Tally
	purchaser *commands.Purchaser
	verdict   func(commands.Reservation) (commands.Verdict, error)
	appender  *sieve
	sale      domain.SaleTerms
}

// sieve is an Appender that can lose the answer of what it stored.
type sieve struct {
	eventstore.Appender
	mu   sync.Mutex
	lose int
}

func (s *sieve) Submit(ctx context.Context, w eventstore.Work) (eventstore.Receipt, error) {
	receipt, err := s.Appender.Submit(ctx, w)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.lose > 0 {
		s.lose--
		return eventstore.Receipt{}, eventstore.ErrUnavailable
	}
	return receipt, err
}

func (c *counter) Reserve(_ context.Context, r commands.Reservation) (commands.Verdict, error) {
	v, err := c.verdict(r)
	if v.Outcome == domain.Reserved {
		v.Order = r.Order
	}
	return v, err
}

func (c *counter) Resolve(context.Context, domain.OrderRef, string) (commands.Resolution, error) {
	return commands.Resolution{}, errors.New("not asked here")
}

func (c *counter) Order(context.Context, domain.OrderRef) (commands.GateOrder, error) {
	return commands.GateOrder{}, errors.New("not asked here")
}

const vaultSale = "28t5cy4t"

func newCounter(t *testing.T) *counter {
	c := &counter{vault: newVault(t), clock: testenv.NewClock(time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC))}
	c.env.Now, c.env.Node, c.env.Random = c.clock.Now, "api-1", noise{}
	c.env.Keys = domain.Keys{Current: 1, Secrets: map[uint8][]byte{1: []byte("0123456789abcdef0123456789abcdef")}}
	c.sale = domain.SaleTerms{Title: "Tea", OpensAt: c.clock.Now().Add(time.Second), ClosesAt: c.clock.Now().Add(time.Minute), Items: []domain.ItemTerms{
		{SKU: "tea", Price: domain.Money{Minor: 1990, Currency: "CNY"}, Stock: 5}}, Buckets: 2}.WithDefaults()
	c.put(0, &domain.SaleScheduled{SaleID: vaultSale, SaleTerms: c.sale})
	c.appender = &sieve{Appender: c.store}
	sales := commands.NewSales(c.store, c.env.Now, commands.SalesOptions{Fresh: time.Nanosecond})
	c.tally = commands.NewTally(c.env, sales, c.appender, commands.TallyOptions{Look: time.Millisecond})
	kept := commands.NewKept(c.env, c, c.store, nil)
	c.purchaser = commands.NewPurchaser(c.env, sales, c, nil, kept, commands.PurchaserOptions{Tally: c.tally})
	return c
}

// noise is randomness enough for ids that only have to exist.
type noise struct{}

func (noise) Read(b []byte) (int, error) { return len(b), nil }

func (c *counter) put(version int64, e domain.Event) {
	c.t.Helper()
	c.submit(eventstore.Append{Stream: domain.SaleStream(vaultSale), Expected: version, Events: []eventstore.NewEvent{c.event(e, "")}})
}

func (c *counter) ask(outcome domain.Outcome, n int) {
	c.t.Helper()
	c.verdict = func(commands.Reservation) (commands.Verdict, error) { return commands.Verdict{Outcome: outcome}, nil }
	for i := range n {
		req := commands.PurchaseRequest{Buyer: fmt.Sprintf("buyer-%d", i), Sale: vaultSale, Lines: []domain.Line{{SKU: "tea", Quantity: 1}}}
		if _, err := c.purchaser.Purchase(context.Background(), req); err != nil {
			var p *domain.Problem
			if !errors.As(err, &p) {
				c.t.Fatal(err)
			}
		}
	}
}

// run drives the tally until done says so, and stops it.
func (c *counter) run(done func() bool) {
	c.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.tally.Run(ctx) }()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Error("the tally did not come")
			break
		}
	}
	stop()
	if err := <-ended; err != nil {
		c.t.Error(err)
	}
}

func (c *counter) tallies() []*domain.SaleTallied {
	c.t.Helper()
	records, err := c.store.Find(context.Background(), eventstore.Filter{SaleID: vaultSale, Type: "sale.tallied"}, 0, 100)
	if err != nil {
		c.t.Fatal(err)
	}
	var all []*domain.SaleTallied
	for _, r := range records {
		e, err := domain.Decode(r.Type, r.Schema, r.Payload)
		if err != nil {
			c.t.Fatal(err)
		}
		all = append(all, e.(*domain.SaleTallied))
	}
	return all
}

func TestANodeTellsOnceWhatItsBuyersAskedForWhenTheSaleHasEnded(t *testing.T) {
	c := newCounter(t)
	c.ask(domain.TooEarly, 3) // a second before
	c.clock.Move(time.Second + 15*time.Millisecond)
	c.ask(domain.Reserved, 5)
	c.ask(domain.Repeat, 4) // asks for nothing new
	c.clock.Move(3 * time.Second)
	c.ask(domain.LimitExceeded, 20)
	c.verdict = func(commands.Reservation) (commands.Verdict, error) {
		return commands.Verdict{}, &commands.GateError{Err: errors.New("away")}
	}
	if _, err := c.purchaser.Purchase(t.Context(), commands.PurchaseRequest{Buyer: "b", Sale: vaultSale, Lines: []domain.Line{{SKU: "tea", Quantity: 1}}}); err == nil {
		t.Fatal("the gate is away and somebody bought")
	}
	c.clock.Move(time.Minute) // over
	c.run(func() bool {
		c.clock.Move(time.Second)
		return len(c.tallies()) > 0
	})
	want := &domain.SaleTallied{
		SaleID: vaultSale, Node: "api-1", Asked: 29, Won: 5,
		Refused: []domain.TallyRefusal{{Code: "busy", Count: 1}, {Code: "limit_exceeded", Count: 20}, {Code: "too_early", Count: 3}},
		Slices:  []domain.TallySlice{{Millis: -1000, Asked: 3}, {Millis: 10, Asked: 5, Won: 5}, {Millis: 3000, Asked: 21}},
	}
	got := c.tallies()
	if diff := cmp.Diff([]*domain.SaleTallied{want}, got, cmpopts.IgnoreFields(domain.SaleTallied{}, "From", "To", "Buckets")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	asked, won := int64(0), int64(0)
	for _, b := range got[0].Buckets {
		asked, won = asked+b.Asked, won+b.Won
		if b.Bucket > 1 {
			t.Errorf("got bucket %d of 2", b.Bucket)
		}
	}
	if asked != 29 || won != 5 {
		t.Errorf("buckets: got %d asked, %d won, want 29 and 5", asked, won)
	}
	c.ask(domain.Ended, 100) // who asks for a sale that is told counts no more
	c.run(func() bool { return true })
	if got := c.tallies(); len(got) != 1 {
		t.Errorf("got %d tallies, want the one", len(got))
	}
}

func TestATallyWhoseAnswerWasLostIsToldOnce(t *testing.T) {
	c := newCounter(t)
	c.clock.Move(2 * time.Second)
	c.ask(domain.Reserved, 2)
	c.clock.Move(time.Hour)
	c.appender.lose = 3
	c.run(func() bool {
		c.clock.Move(time.Second)
		c.appender.mu.Lock()
		defer c.appender.mu.Unlock()
		return c.appender.lose == 0
	})
	if got := c.tallies(); len(got) != 1 || got[0].Won != 2 {
		t.Errorf("got %+v, want one with two", got)
	}
}

func TestANodeThatStopsTellsAndTheNextOneGoesOn(t *testing.T) {
	c := newCounter(t)
	c.clock.Move(2 * time.Second)
	c.ask(domain.Reserved, 2)
	c.run(func() bool { return true }) // stops while the sale is open
	c.ask(domain.SoldOut, 7)
	c.put(2, &domain.SaleRevised{SaleID: vaultSale, SaleTerms: c.sale}) // the sale's stream moved in between
	c.run(func() bool { return true })
	got := c.tallies()
	if len(got) != 2 || got[0].Won != 2 || got[0].Asked != 2 || got[1].Asked != 7 || got[1].From.Before(got[0].To) {
		t.Errorf("got %+v, want two that add up", got)
	}
}

func TestASaleThatWasCleanedUpIsToldNothing(t *testing.T) {
	c := newCounter(t)
	c.clock.Move(2 * time.Second)
	c.ask(domain.SoldOut, 2)
	c.put(1, &domain.SaleCleaned{SaleID: vaultSale})
	c.run(func() bool { return true })
	if got := c.tallies(); len(got) != 0 {
		t.Errorf("got %+v after the last event of the sale", got)
	}
}
