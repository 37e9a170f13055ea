package commands_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/testenv"
)

// An unknown outcome is found out: what was on its way when its caller left is placed
// once, under its id.
func TestAPurchaseWhoseOutcomeNobodySawIsPlacedOnce(t *testing.T) {
	c := newTill(t, 6, commands.DirectOptions{Life: time.Minute}, nil)
	c.want("the clock is known", c.ask("v", 1), domain.Reserved)
	r := c.ask("u", 1)
	letGo := c.log.holdBack()
	within, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.judges.Reserve(within, r); !commands.IsUnknown(err) {
		t.Fatalf("a work that is on its way: got %v, want an unknown outcome", err)
	}
	if res, err := c.judges.Resolve(t.Context(), refOf(t, r), "u"); err != nil || res.State != commands.OrderUnresolved {
		t.Fatalf("while it is on its way: got state %d, %v; want unresolved", res.State, err)
	}
	if known, err := c.judges.Order(t.Context(), refOf(t, r)); err != nil || known.State != commands.OrderUnresolved {
		t.Fatalf("looked at while it is on its way: got state %d, %v; want unresolved", known.State, err)
	}
	letGo()
	testenv.Eventually(t, 30*time.Second, func() error {
		res, err := c.judges.Resolve(t.Context(), refOf(t, r), "u")
		if err == nil && res.State != commands.OrderAccepted {
			err = fmt.Errorf("state %d, want accepted", res.State)
		}
		return err
	})
	c.want("the same order again", r, domain.SameOrder)
	c.want("the same buyer again", c.ask("u", 1), domain.Repeat)
	c.wantLeft(4)
}

// What was refused after its caller left leaves nothing: he is told so, and buys again.
func TestARefusalThatNobodyHeardIsATombstone(t *testing.T) {
	c := newTill(t, 1, commands.DirectOptions{Life: time.Minute}, nil)
	r := c.ask("u", 1)
	letGo := c.log.holdBack()
	within, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.judges.Reserve(within, r); !commands.IsUnknown(err) {
		t.Fatalf("a work that is on its way: got %v, want an unknown outcome", err)
	}
	elsewhere := commands.NewDirect(c.env, c.sales, c.store, commands.DirectOptions{})
	if v, err := elsewhere.Reserve(t.Context(), c.ask("v", 1)); err != nil || v.Outcome != domain.Reserved {
		t.Fatalf("another buyer: %s, %v", v.Outcome, err)
	}
	letGo()
	testenv.Eventually(t, 30*time.Second, func() error {
		res, err := c.judges.Resolve(t.Context(), refOf(t, r), "u")
		if err == nil && res.State != commands.OrderTombstone {
			err = fmt.Errorf("state %d, want a tombstone", res.State)
		}
		return err
	})
}

// Lost is decided by knowledge: while a purchase may yet be placed nobody declares its
// order lost, and once that was done it is never placed.
func TestAnOrderIsLostOnlyAfterItsDeadlineAndThenForGood(t *testing.T) {
	const life = 700 * time.Millisecond
	c := newTill(t, 5, commands.DirectOptions{Life: life}, nil)
	r := c.ask("u", 1)
	letGo := c.log.holdBack()
	within, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.judges.Reserve(within, r); !commands.IsUnknown(err) {
		t.Fatalf("a work that is on its way: got %v, want an unknown outcome", err)
	}
	elsewhere := commands.NewDirect(c.env, c.sales, c.store, commands.DirectOptions{Life: life})
	first := c.now()
	lost := &commands.Lost{Env: c.env, Gate: elsewhere, Log: c.store}
	testenv.Eventually(t, 30*time.Second, func() error { return lost.Declare(t.Context(), refOf(t, r), "u") })
	if waited := c.now().Sub(first); waited <= life {
		t.Errorf("declared lost after %s by the log's clock, want more than %s", waited, life)
	}
	letGo()
	testenv.Eventually(t, 30*time.Second, func() error {
		if v, err := c.judges.Reserve(t.Context(), r); err != nil || v.Outcome != domain.Refused {
			return fmt.Errorf("the same order again: got %s, %v; want refused", v.Outcome, err)
		}
		return nil
	})
	c.wantLeft(5)
	records, err := c.store.ReadStream(t.Context(), domain.OrderStream(r.Order), 0, 10)
	if err != nil || len(records) != 1 || records[0].Type != (&domain.OrderRejected{}).EventType() {
		t.Errorf("the order's stream: got %v, %v; want order.rejected alone", records, err)
	}
	c.want("the buyer may buy", c.ask("u", 1), domain.Reserved)
}

// now reads the log's clock.
func (c *till) now() time.Time {
	c.t.Helper()
	look, err := c.store.LookAt(c.t.Context(), eventstore.Needs{})
	if err != nil {
		c.t.Fatal(err)
	}
	return look.Now()
}

// A purchase that comes to the log after its deadline is refused there.
func TestAPurchasePastItsDeadlineIsNotPlaced(t *testing.T) {
	const life = 300 * time.Millisecond
	c := newTill(t, 5, commands.DirectOptions{Life: life}, nil)
	c.want("the clock is known", c.ask("v", 1), domain.Reserved)
	r := c.ask("u", 1)
	letGo := c.log.holdBack()
	within, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.judges.Reserve(within, r); !commands.IsUnknown(err) {
		t.Fatalf("a work that is on its way: got %v, want an unknown outcome", err)
	}
	begun := c.now()
	testenv.Eventually(t, 30*time.Second, func() error {
		if past := c.now().Sub(begun); past <= life {
			return fmt.Errorf("%s have passed", past)
		}
		return nil
	})
	letGo()
	if err := c.direct.Close(t.Context()); err != nil { // waits until it has ended
		t.Fatal(err)
	}
	c.wantLeft(4)
	if res, err := c.judges.Resolve(t.Context(), refOf(t, r), "u"); err != nil || res.State != commands.OrderTombstone {
		t.Errorf("got state %d, %v; want a tombstone", res.State, err)
	}
	c.want("a process that was idle for long sells all the same", c.ask("u", 1), domain.Reserved)
}

// While the log does not answer, a purchase is refused before it is sent there: it would
// be one more whose outcome nobody knows.
func TestWhileTheLogIsAwayNothingIsSentToIt(t *testing.T) {
	c := newTill(t, 5, commands.DirectOptions{}, nil)
	c.want("the clock is known", c.ask("v", 1), domain.Reserved)
	letGo := c.log.holdBack()
	within, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.judges.Reserve(within, c.ask("u", 1)); !commands.IsUnknown(err) {
		t.Fatalf("a work that is on its way: got %v, want an unknown outcome", err)
	}
	c.log.blind.Store(true)
	before := c.log.works.Load()
	for range 3 {
		if v, err := c.judges.Reserve(t.Context(), c.ask("w", 1)); err == nil || commands.IsUnknown(err) {
			t.Errorf("while the log is away: got %s, %v; want that nothing happened", v.Outcome, err)
		}
	}
	if sent := c.log.works.Load() - before; sent != 0 {
		t.Errorf("%d purchases were sent to a log that is away", sent)
	}
	c.log.blind.Store(false)
	letGo()
	c.want("when it is back", c.ask("w", 1), domain.Reserved)
}
