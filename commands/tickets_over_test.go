package commands

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"seckill/domain"
)

func TestANodeThatRefusedNobodyATicketLearnsThatTheBookIsFull(t *testing.T) {
	a, c := newCounter(t), newCounter(t)
	c.book = a.book
	c.tickets.Book, c.tickets.Guards = a.book, a.book
	var known []string
	c.p.opts.OnKnown = func(kind string) { known = append(known, kind) }
	c.gives(t, "u1", domain.Reserved, true) // the book is begun before the opening
	c.at(t, -time.Minute)
	c.buys(t, "late-1", "", domain.TicketRequired, true)
	c.settle(t)
	c.buys(t, "late-1", "", domain.TicketRequired, true) // it is not full
	c.settle(t)
	a.full(t) // all at the other node
	c.pass(fullLook)
	c.measure(t)
	c.buys(t, "late-1", "", domain.TicketRequired, true)
	c.settle(t)
	for range 50 {
		c.buys(t, "late-1", "", domain.TicketRequired, false)
	}
	if len(known) != 50 || slices.ContainsFunc(known, func(kind string) bool { return kind != KnownNoTicket }) {
		t.Errorf("%d answers were known: %v; want 50 of %s", len(known), known, KnownNoTicket)
	}
	c.gives(t, "late-1", domain.SoldOut, false)
}

func TestABookThatIsNotFullIsLookedAtFourTimesASecondAtMost(t *testing.T) {
	c := newCounter(t)
	c.at(t, -time.Minute)
	for i := range 100 {
		c.buys(t, "late-1", "", domain.TicketRequired, true)
		if want := 1 + i/50; len(c.tickets.full.ready().wanted) != want {
			t.Fatalf("after %d purchases the book is wanted %d times, want %d", i+1, len(c.tickets.full.wanted), want)
		}
		if i == 49 {
			c.pass(fullLook)
			c.measure(t)
		}
	}
}

func TestAChallengeForAFullBookIsSoonRefused(t *testing.T) {
	a, c := newCounter(t), newCounter(t)
	c.tickets.Book, c.tickets.Guards, c.tickets.Puzzle = a.book, a.book, NewPuzzles(c.p.env, 1000)
	a.full(t)
	c.at(t, -time.Minute)
	for _, want := range []domain.Outcome{domain.Reserved, domain.SoldOut} {
		got, err := c.tickets.Challenge(t.Context(), TicketRequest{Sale: pastSale, Buyer: "late-1"})
		if err != nil || got.Outcome != want {
			t.Errorf("a challenge: got %s, %v; want %s", got.Outcome, err, want)
		}
		c.settle(t)
	}
}

// offers wants what a buyer hears who asks for a challenge, and for a ticket.
func (c *counter) offers(t *testing.T, when string, challenge, ticket domain.Outcome) {
	t.Helper()
	puzzles := c.tickets.Puzzle
	got, err := c.tickets.Challenge(t.Context(), TicketRequest{Sale: pastSale, Buyer: "u1"})
	if err != nil || got.Outcome != challenge {
		t.Errorf("%s, a challenge: got %s, %v; want %s", when, got.Outcome, err, challenge)
	}
	c.tickets.Puzzle = nil
	given, err := c.tickets.Give(t.Context(), TicketRequest{Sale: pastSale, Buyer: "u1"})
	c.tickets.Puzzle = puzzles
	if err != nil || given.Outcome != ticket {
		t.Errorf("%s, a ticket: got %s, %v; want %s", when, given.Outcome, err, ticket)
	}
}

func TestASaleThatIsOverGivesNeitherChallengeNorTicket(t *testing.T) {
	const yes, over = domain.Reserved, domain.Ended
	sale := func(t *testing.T, clock bool) *counter {
		c := newCounter(t)
		c.tickets.Puzzle = NewPuzzles(c.p.env, 1000)
		if clock {
			c.tickets.Clock = c.gates
		}
		c.at(t, -time.Minute)
		return c
	}
	add := func(c *counter, ev domain.Event) {
		c.log.add(t, domain.SaleStream(pastSale), pastSale, "", ev)
		c.pass(300 * time.Millisecond)
		c.measure(t)
	}
	c := sale(t, true)
	c.offers(t, "open", yes, yes)
	add(c, &domain.SwitchFlipped{SaleID: pastSale, Name: domain.ForceEnded, On: true, Reason: "test"})
	c.offers(t, "ended by a switch", over, over)
	add(c, &domain.SwitchFlipped{SaleID: pastSale, Name: domain.ForceEnded, Reason: "test"})
	c.offers(t, "that goes on", yes, yes)
	add(c, &domain.SwitchFlipped{SaleID: pastSale, Name: domain.PausePurchases, On: true, Reason: "test"})
	c.offers(t, "paused", yes, yes)
	c.at(t, -time.Hour)
	c.measure(t)
	c.pass(10 * time.Millisecond)
	c.measure(t)
	c.offers(t, "after its end", over, over)

	c = sale(t, false)
	c.at(t, -time.Hour)
	c.offers(t, "at its end, by a clock in doubt", yes, yes) // the book decides, which is of paper here
	c.pass(ticketDoubt)
	c.offers(t, "long after its end", over, over)
}

func TestAListForASaleThatIsOverIsRefusedBeforeItIsRead(t *testing.T) {
	c := newCounter(t)
	s := &shelf{lists: map[string][][]string{}}
	m := &Members{Env: c.p.env, Sales: c.sales, Lists: s}
	c.at(t, -time.Hour)
	read := false
	_, err := m.Replace(t.Context(), pastSale, func() (string, error) { read = true; return "", io.EOF }, Actor{By: "ops"})
	var no *domain.Problem
	if !errors.As(err, &no) || no.Code != domain.CodeSaleEnded || read {
		t.Errorf("got %v, the list was read %t; want sale_ended, unread", err, read)
	}
}

func TestWhoComesRightAfterASmallListChangedWaitsForItOnce(t *testing.T) {
	s := &shelf{lists: map[string][][]string{}}
	k, _ := knownOver(s, KnownMembersOptions{Await: time.Minute})
	small, gone, big := s.listOf("l1", "u1"), s.listOf("l2", "u1"), s.listOf("l3", "u1")
	big.Count = maxAwaited + 1
	delete(s.lists, gone.ID)
	done := make(chan bool)
	for range 20 {
		go func() {
			k.Await(t.Context(), small)
			has, known := k.Has(small, "u1")
			done <- has && known
		}()
	}
	k.load(t.Context(), <-k.wanted) // as Run does
	k.loadWanted()
	for range 20 {
		if !<-done {
			t.Error("one of them was not told that he is on the list")
		}
	}
	k.loadWanted() // what was wanted while it was read
	if s.reads != 1 {
		t.Errorf("the list was read %d times, want once", s.reads)
	}
	o := newOpening(t, 0)
	o.at(t, -time.Minute)
	list := s.listOf("l4", "u1")
	o.log.add(t, domain.SaleStream(pastSale), pastSale, "", &domain.SaleMembersSet{SaleID: pastSale, Version: 1, List: list.ID, Count: list.Count, Digest: list.Digest})
	o.pass(300 * time.Millisecond)
	o.p.opts.Members = k
	go func() { k.load(context.Background(), <-k.wanted) }()
	got, err := o.p.Purchase(t.Context(), PurchaseRequest{Buyer: "u1", Sale: pastSale, Lines: []domain.Line{{SKU: "mug", Quantity: 1}}})
	if err != nil || got.Outcome != domain.Reserved {
		t.Errorf("the first purchase after the list changed: got %s, %v; want reserved", got.Outcome, err)
	}
	k.load(t.Context(), gone)
	for name, list := range map[string]domain.MemberList{"a list that is there": small, "one that could not be read": gone, "one that takes long": big} {
		k.Await(t.Context(), list)
		if n := len(k.wanted); n != 0 {
			t.Errorf("%s was waited for", name)
		}
	}
}
