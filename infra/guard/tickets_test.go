package guard_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/guard"
	"seckill/infra/testenv"
	"seckill/infra/tickets"
)

func TestABookOfTicketsRestsWhileItsRedisIsAwayAndGivesTicketsWhenItIsBack(t *testing.T) {
	store := testenv.PrivateRedis(t, testenv.RedisOptions{})
	book, err := tickets.Open(store.URL, "ns")
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	g := guard.NewTickets(book, quiet)
	ask := func(buyer string) (commands.TicketGrant, error) {
		now := time.Now()
		return g.Grant(t.Context(), commands.TicketAsk{Sale: "28t5cy4t", Buyer: buyer, First: now.Add(-time.Hour), Opens: now.Add(-time.Minute),
			Closes: now.Add(time.Hour), Life: time.Minute, Most: 2})
	}
	first, err := ask("u1")
	if err != nil || first.Outcome != domain.Reserved || g.State() != guard.Closed {
		t.Fatalf("got %+v, %v, state %d", first, err, g.State())
	}
	store.Stop()
	testenv.Eventually(t, 30*time.Second, func() error {
		if _, err := ask("u2"); err == nil {
			t.Error("a ticket out of a book that is away")
		}
		if g.State() != guard.Open {
			return errors.New("it is still asked")
		}
		return nil
	})
	began := time.Now()
	_, err = ask("u2")
	if _, look := g.Look(t.Context(), "28t5cy4t"); !errors.Is(err, guard.ErrResting) || !errors.Is(look, guard.ErrResting) {
		t.Errorf("while it rests: got %v and %v after %s", err, look, time.Since(began))
	}
	store.Restart()
	testenv.Eventually(t, 30*time.Second, func() error {
		if g, err := ask("u2"); err != nil || g.Outcome != domain.Reserved {
			return fmt.Errorf("got %+v, %w", g, err)
		}
		if g.State() != guard.Closed {
			return errors.New("the breaker is not closed")
		}
		return nil
	})
	if again, err := ask("u1"); err != nil || !again.Again || !again.Expires.Equal(first.Expires) {
		t.Errorf("the ticket of before: got %+v, %v; want %+v", again, err, first)
	}
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	for range 30 {
		_, _ = g.Look(gone, "28t5cy4t")
	}
	if g.State() != guard.Closed {
		t.Error("who hangs up makes it rest")
	}
}
