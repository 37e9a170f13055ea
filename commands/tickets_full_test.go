package commands

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// paperBook is a book of tickets in memory that counts who asks it.
type paperBook struct {
	movesLog // of sales of one bucket, which have none
	now      func() time.Time
	begun    time.Time
	holders  map[string]time.Time
	away     error
	asked    int // grants
	released int64
	guarded  int // questions for what was released
}

func (b *paperBook) Grant(_ context.Context, ask TicketAsk) (TicketGrant, error) {
	b.asked++
	g := TicketGrant{Outcome: domain.SoldOut, Now: b.now(), Begun: b.begun}
	had, ok := b.holders[ask.Buyer]
	switch {
	case b.away != nil:
		return g, b.away
	case ok:
		g.Outcome, g.Expires, g.Again = domain.Reserved, had, true
	case ask.Most == 0 || int64(len(b.holders)) < ask.Most:
		if b.begun.IsZero() {
			b.begun = b.now()
		}
		g.Outcome, g.Expires, g.Begun = domain.Reserved, ask.Opens.Add(time.Hour), b.begun
		b.holders[ask.Buyer] = g.Expires
	}
	return g, nil
}

func (b *paperBook) Look(context.Context, string) (BookState, error) {
	return BookState{Begun: b.begun, Buyers: int64(len(b.holders))}, b.away
}

func (b *paperBook) Holders(_ context.Context, _ string, each func(string)) error {
	for buyer := range b.holders {
		each(buyer)
	}
	return b.away
}

func (b *paperBook) Guards(context.Context, []string) ([]eventstore.Guard, error) {
	b.guarded++
	return []eventstore.Guard{{Released: b.released}}, nil
}

func (b *paperBook) lose() { b.begun, b.holders = time.Time{}, map[string]time.Time{} }

// counter sells a sale of two units with a ticket for one buyer each.
type counter struct {
	*opening
	book    *paperBook
	tickets *Tickets
}

func newCounter(t *testing.T) *counter {
	o := newOpening(t, 0)
	o.log.records = nil
	terms := openingTerms()
	terms.Items[0].Stock, terms.Tokens, terms.RequireTicket = 2, 1, true
	o.log.add(t, domain.SaleStream(pastSale), pastSale, "", &domain.SaleScheduled{SaleID: pastSale, SaleTerms: terms})
	b := &paperBook{now: o.clock, released: 2}
	b.lose()
	c := &counter{opening: o, book: b, tickets: &Tickets{Env: o.p.env, Sales: o.sales, Book: b, Guards: b, Budget: time.Second}}
	o.p.opts.Holders = c.tickets
	o.measure(t)
	return c
}

// full gives the tickets out, lets the sale open and the node learn that none is left.
func (c *counter) full(t *testing.T) {
	t.Helper()
	c.gives(t, "u1", domain.Reserved, true)
	c.gives(t, "u2", domain.Reserved, true)
	c.at(t, -time.Minute)
	c.gives(t, "u3", domain.SoldOut, true)
	c.settle(t)
}

// settle does what Run does, and takes a new reading of the gate's clock.
func (c *counter) settle(t *testing.T) {
	t.Helper()
	for done := false; !done; {
		select {
		case sale := <-c.tickets.full.ready().wanted:
			c.tickets.readFull(t.Context(), sale)
		default:
			done = true
		}
	}
	c.tickets.lookAtFull(t.Context())
	c.measure(t)
}

// gives asks for a ticket and wants an outcome, and whether a store was asked.
func (c *counter) gives(t *testing.T, buyer string, want domain.Outcome, asked bool) TicketAnswer {
	t.Helper()
	before := c.book.asked + c.book.guarded
	got, err := c.tickets.Give(t.Context(), TicketRequest{Sale: pastSale, Buyer: buyer})
	if did := c.book.asked+c.book.guarded > before; err != nil || got.Outcome != want || did != asked {
		t.Errorf("a ticket for %s: got %s, a store was asked %t, %v; want %s, %t", buyer, got.Outcome, did, err, want, asked)
	}
	return got
}

// buys wants the answer to a purchase, and whether the gate was asked.
func (c *counter) buys(t *testing.T, buyer, ticket string, want domain.Outcome, asked bool) {
	t.Helper()
	before := c.asked + c.looked
	got, err := c.p.Purchase(t.Context(), PurchaseRequest{Buyer: buyer, Sale: pastSale, Ticket: ticket, Lines: []domain.Line{{SKU: "mug", Quantity: 1}}})
	if did := c.asked+c.looked > before; err != nil || did != asked || !asked && got.Outcome != want {
		t.Errorf("%s buys: got %s, the gate was asked %t, %v; want %s, %t", buyer, got.Outcome, did, err, want, asked)
	}
}

func TestWhoHasNoTicketOfAFullBookIsRefusedBeforeAnyStore(t *testing.T) {
	c := newCounter(t)
	c.full(t)
	for i := range 50 {
		c.gives(t, fmt.Sprintf("late-%d", i), domain.SoldOut, false)
	}
	ticket := c.gives(t, "u1", domain.Reserved, true).Ticket
	c.buys(t, "late-1", "", domain.TicketRequired, false)
	c.buys(t, "late-1", "x", domain.TicketInvalid, false)
	c.buys(t, "late-1", ticket, domain.TicketInvalid, false) // somebody else's
	c.buys(t, "u1", ticket, domain.Reserved, true)
	c.buys(t, "u1", "", domain.Repeat, true) // only the gate knows whether he is an owner
	good, err := domain.NewTicket(c.p.env.Keys, pastSale, "late-2", c.clock().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	c.buys(t, "late-2", good, domain.Reserved, true) // of a book that was lost
	c.p.orders.put(&FoldedSale{Sale: domain.Sale{ID: pastSale}}, &PurchaseRequest{Buyer: "late-3"},
		PurchaseResult{Order: OrderAnswer{Order: domain.Order{ID: "o", Status: domain.OrderStatusQueued}}})
	c.buys(t, "late-3", "", domain.Repeat, true) // an owner whom this node knows
}

func TestARefusalFromAFullBookIsNoOlderThanASecond(t *testing.T) {
	c := newCounter(t)
	c.full(t)
	c.pass(fullFresh + time.Millisecond)
	c.measure(t)
	c.gives(t, "u3", domain.SoldOut, true)
	c.buys(t, "u3", "", domain.TicketRequired, true)
	c.settle(t)
	c.gives(t, "u3", domain.SoldOut, false)
	c.book.away = errors.New("away")
	c.pass(fullFresh + time.Millisecond)
	c.settle(t)
	var busy *domain.Problem
	if got, err := c.tickets.Give(t.Context(), TicketRequest{Sale: pastSale, Buyer: "u3"}); !errors.As(err, &busy) || busy.Code != domain.CodeBusy {
		t.Errorf("while the book is away: got %s, %v; want busy", got.Outcome, err)
	}
	c.book.away = nil
	c.settle(t)
	c.gives(t, "u3", domain.SoldOut, false)
	c.pass(fullQuiet + time.Second)
	c.settle(t)
	if n := len(*c.tickets.full.books.Load()); n != 0 {
		t.Errorf("%d books are in memory that nobody asked for, want none", n)
	}
}

func TestUnitsThatAreReleasedGiveTicketsAgain(t *testing.T) {
	c := newCounter(t)
	c.full(t)
	c.gives(t, "u3", domain.SoldOut, false)
	c.book.released = 3
	c.pass(releasedFresh)
	c.settle(t)
	c.gives(t, "u3", domain.Reserved, true)
	c.gives(t, "u4", domain.SoldOut, true)
	c.settle(t)
	c.gives(t, "u4", domain.SoldOut, false)
	c.gives(t, "u3", domain.Reserved, true)
	c.buys(t, "u4", "", domain.TicketRequired, false)
}

func TestABookThatWasLostLeavesNobodyOut(t *testing.T) {
	c := newCounter(t)
	c.full(t)
	c.book.lose()
	c.settle(t)
	c.gives(t, "u3", domain.Reserved, true)
	c.gives(t, "u4", domain.Reserved, true)
	c.gives(t, "u1", domain.SoldOut, true)
	c.settle(t)
	c.gives(t, "u1", domain.SoldOut, false)
	c.buys(t, "u1", "", domain.TicketRequired, true) // he may have bought with a ticket of the lost book

	c = newCounter(t) // one that never saw the lost book, begun after somebody could buy
	c.at(t, -time.Minute)
	c.full(t)
	c.gives(t, "u3", domain.SoldOut, false)
	c.buys(t, "u3", "", domain.TicketRequired, true)
}

func TestOnlyInASaleThatIsSurelyOpenATicketIsMissedFromMemory(t *testing.T) {
	c := newCounter(t)
	c.full(t)
	c.log.add(t, domain.SaleStream(pastSale), pastSale, "", &domain.SalePaused{SaleID: pastSale, Reason: "test"})
	c.pass(300 * time.Millisecond)
	c.settle(t)
	c.buys(t, "u3", "", domain.Paused, true)

	c = newCounter(t)
	c.full(t)
	c.at(t, -time.Hour+500*time.Millisecond)
	c.gives(t, "u3", domain.SoldOut, true)
	c.settle(t)
	c.buys(t, "u3", "", domain.Ended, true)
}
