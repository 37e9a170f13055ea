package commands_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore/pgstore"
)

func TestASaleWithoutAGateIsJudgedByTheLogAlone(t *testing.T) {
	c := newTill(t, 5, commands.DirectOptions{}, func(s *domain.SaleTerms) { s.LimitPerBuyer, s.OrdersPerBuyer = 3, 2 })
	first := c.ask("u", 2)
	first.Key, first.BodyHash = "aa", "01"
	v := c.want("a first purchase", first, domain.Reserved)
	if v.Placed == nil || v.Placed.Status != domain.OrderStatusPlaced || v.Placed.Version != 1 || v.Placed.ID != first.Order || v.Placed.TraceID != "trace" {
		t.Fatalf("it comes back as %+v; want the placed order", v.Placed)
	}
	if v.Placed.Entry != "" || v.Placed.PayBy.Sub(v.Placed.PlacedAt) != 15*time.Minute {
		t.Errorf("it has entry %q and %s to pay, want none and 15 minutes", v.Placed.Entry, v.Placed.PayBy.Sub(v.Placed.PlacedAt))
	}
	if v := c.want("the same order again", first, domain.SameOrder); v.Order != first.Order {
		t.Errorf("the same order again met %s", v.Order)
	}
	keyed := c.ask("u", 2)
	keyed.Key, keyed.BodyHash = "aa", "01"
	if v := c.want("the same key again", keyed, domain.SameOrder); v.Order != first.Order {
		t.Errorf("the same key met order %s, want the first", v.Order)
	}
	keyed.BodyHash = "02"
	c.want("the same key for another body", keyed, domain.KeyMismatch)
	c.want("beyond the limit", c.ask("u", 2), domain.LimitExceeded)
	second := c.ask("u", 1)
	c.want("up to the limit", second, domain.Reserved)
	if v := c.want("beyond the orders", c.ask("u", 1), domain.Repeat); v.Order != second.Order {
		t.Errorf("a repeat met %s, want the latest order", v.Order)
	}
	c.want("more than are left", c.ask("v", 3), domain.SoldOut)
	c.wantLeft(2)
	other := c.ask("v", 1)
	other.Eligible = false
	c.want("who may not buy", other, domain.NotEligible)
	other.Eligible, other.TicketFault = true, domain.TicketRequired
	c.want("without a ticket", other, domain.TicketRequired)
	unknown := c.ask("v", 1)
	unknown.Lines[0].SKU = "none"
	c.want("an item that the sale does not have", unknown, domain.NotReady)
	c.want("what is left", c.ask("v", 2), domain.Reserved)
	c.want("nothing is left", c.ask("w", 1), domain.SoldOut)
	c.wantLeft(0)
}

func TestATicketBuysOnceWithoutAGate(t *testing.T) {
	c := newTill(t, 9, commands.DirectOptions{}, func(s *domain.SaleTerms) {
		s.LimitPerBuyer, s.OrdersPerBuyer, s.Rebuy = 9, 3, true
	})
	with := func(ticket string) commands.Reservation {
		r := c.ask("u", 1)
		r.Ticket = ticket
		return r
	}
	first := with("a1")
	c.want("a ticket", first, domain.Reserved)
	c.want("the same ticket again", with("a1"), domain.TicketInvalid)
	c.want("another ticket", with("a2"), domain.Reserved)
	if _, err := c.orders.Cancel(t.Context(), "u", first.Order, ""); err != nil {
		t.Fatal(err)
	}
	c.want("the ticket of an order that was cancelled", with("a1"), domain.TicketInvalid)
	for ticket, want := range map[string]bool{"a1": true, "a2": true, "a3": false} {
		if used, err := c.direct.TicketUsedBy(t.Context(), c.sale.ID, "u", ticket); err != nil || used != want {
			t.Errorf("ticket %s is used: got %t, %v; want %t", ticket, used, err, want)
		}
	}
	c.wantLeft(8)
}

func TestTheWindowAndEveryStopHoldWithoutAGate(t *testing.T) {
	c := newTill(t, 9, commands.DirectOptions{}, func(s *domain.SaleTerms) {
		s.OpensAt = time.Now().Add(time.Hour)
		s.ClosesAt = s.OpensAt.Add(time.Hour)
	})
	if v := c.want("before the opening", c.ask("u", 1), domain.TooEarly); !v.OpensAt.Equal(c.sale.Terms.OpensAt.Truncate(time.Microsecond)) {
		t.Errorf("it opens at %s, want %s", v.OpensAt, c.sale.Terms.OpensAt)
	}
	c.want("before the opening, by a look", c.ask("u", 1), domain.TooEarly)

	c = newTill(t, 9, commands.DirectOptions{}, nil)
	actor := commands.Actor{By: "boss", Note: "n"}
	c.want("while it is open", c.ask("u1", 1), domain.Reserved)
	if _, err := c.operator.Pause(t.Context(), c.sale.ID, domain.PausedByOperator, actor); err != nil {
		t.Fatal(err)
	}
	c.want("while it is paused", c.ask("u2", 1), domain.Paused)
	c.want("an owner, while it is paused", c.ask("u1", 1), domain.Repeat)
	if _, err := c.operator.Resume(t.Context(), c.sale.ID, domain.PausedByOperator, actor); err != nil {
		t.Fatal(err)
	}
	c.want("when it goes on", c.ask("u2", 1), domain.Reserved)
	c.want("beyond the limit", c.ask("u3", 2), domain.LimitExceeded)
	for _, s := range []struct {
		name domain.SwitchName
		on   domain.Outcome
	}{{domain.PausePurchases, domain.Paused}, {domain.ForceEnded, domain.Ended}, {domain.SkipPurchaseLimit, domain.Reserved}} {
		c.flip(s.name, true, c.sale.ID)
		c.want(string(s.name)+" on", c.ask("w"+string(s.name), 2), s.on)
		c.flip(s.name, false, c.sale.ID)
	}
	c.want("every switch off", c.ask("u4", 1), domain.Reserved)
	if _, err := c.operator.Close(t.Context(), c.sale.ID, actor); err != nil {
		t.Fatal(err)
	}
	c.want("when it is closed", c.ask("u5", 1), domain.Ended)
	c.want("an owner, when it is closed", c.ask("u4", 1), domain.Repeat)
	c.wantLeft(4)
}

// The decision is at the version of the sale's stream: a process whose copy of the
// sale is old sells nothing by it.
func TestAStopHoldsAtOnceForAProcessThatHasNotHeardOfIt(t *testing.T) {
	c := newTill(t, 9, commands.DirectOptions{}, nil)
	deaf := commands.NewSales(c.store, time.Now, commands.SalesOptions{Fresh: time.Hour, Stale: time.Hour})
	other := commands.NewDirect(c.env, deaf, c.store, commands.DirectOptions{})
	r := c.ask("u", 1)
	if v, err := other.Reserve(t.Context(), r); err != nil || v.Outcome != domain.Reserved {
		t.Fatalf("a purchase: %s, %v", v.Outcome, err)
	}
	if _, err := c.operator.Close(t.Context(), c.sale.ID, commands.Actor{By: "boss", Note: "n"}); err != nil {
		t.Fatal(err)
	}
	if sale, _ := deaf.Known(c.sale.ID); sale.Closed {
		t.Fatal("the other process has heard of it: nothing is tested")
	}
	if v, err := other.Reserve(t.Context(), c.ask("v", 1)); err != nil || v.Outcome != domain.Ended {
		t.Errorf("after the close: got %s, %v; want ended", v.Outcome, err)
	}
}

func TestUnitsComeBackWithTheCommitThatSaysSo(t *testing.T) {
	c := newTill(t, 2, commands.DirectOptions{}, func(s *domain.SaleTerms) { s.LimitPerBuyer, s.Rebuy = 2, true })
	r := c.ask("u", 2)
	c.want("all there is", r, domain.Reserved)
	c.want("nothing left", c.ask("v", 1), domain.SoldOut)
	if _, err := c.orders.Cancel(t.Context(), "u", r.Order, ""); err != nil {
		t.Fatal(err)
	}
	c.wantLeft(2)
	c.want("what came back", c.ask("v", 1), domain.Reserved)
	c.want("the same buyer again", c.ask("u", 1), domain.Reserved)
	if res, err := c.direct.Resolve(t.Context(), refOf(t, r), "u"); err != nil || res.State != commands.OrderEnded {
		t.Errorf("the cancelled order: got state %d, %v; want ended", res.State, err)
	}
}

func TestAWithdrawalWithoutAGateIsOneWorkOfTheLog(t *testing.T) {
	c := newTill(t, 10, commands.DirectOptions{}, nil)
	c.want("a purchase", c.ask("u", 1), domain.Reserved)
	withdraw := func(quantity int64, key string) (commands.Released, error) {
		return c.operator.Release(t.Context(), commands.Release{Sale: c.sale.ID, SKU: "A", Quantity: -quantity, Key: key}, commands.Actor{By: "boss"})
	}
	code := func(err error) domain.Code {
		var p *domain.Problem
		errors.As(err, &p)
		if p == nil {
			return ""
		}
		return p.Code
	}
	for range 2 { // the second is the first again
		if done, err := withdraw(7, "k1"); err != nil || done.Available != 2 {
			t.Fatalf("withdraw 7: got %+v, %v; want 2 left", done, err)
		}
	}
	if _, err := withdraw(3, ""); code(err) != domain.CodeBelowReserved {
		t.Errorf("more than are left: got %v, want below_reserved", err)
	}
	if _, err := withdraw(2, "k2"); err != nil {
		t.Errorf("what is left: %v", err)
	}
	if done, err := withdraw(7, "k1"); err != nil || done.Available != 0 {
		t.Errorf("the first again, when nothing is left: got %+v, %v; want it told again", done, err)
	}
	c.want("nothing left", c.ask("v", 1), domain.SoldOut)
	c.wantLeft(0)
}

func TestASoldOutCrowdSharesLooksAndTakesNoLock(t *testing.T) {
	c := newTill(t, 1, commands.DirectOptions{LookEvery: 5 * time.Millisecond}, func(s *domain.SaleTerms) { s.Rebuy = true })
	last := c.ask("owner", 1)
	c.want("the last unit", last, domain.Reserved)
	c.want("the first who finds none", c.ask("u", 1), domain.SoldOut)
	const crowd = 400
	works, looks := c.log.works.Load(), c.log.looks.Load()
	asks := make([]commands.Reservation, crowd)
	for i := range asks {
		asks[i] = c.ask(fmt.Sprintf("u%d", i), 1)
	}
	outcomes := make([]domain.Outcome, crowd)
	var todo sync.WaitGroup
	for i := range asks {
		todo.Go(func() {
			v, err := c.judges.Reserve(t.Context(), asks[i])
			if err != nil {
				t.Errorf("one of a crowd: %v", err)
			}
			outcomes[i] = v.Outcome
		})
	}
	todo.Wait()
	if i := slices.IndexFunc(outcomes, func(o domain.Outcome) bool { return o != domain.SoldOut }); i >= 0 {
		t.Errorf("buyer %d was told %s, want sold_out", i, outcomes[i])
	}
	if n := c.log.works.Load() - works; n != 0 {
		t.Errorf("a sold-out crowd asked for the lock %d times, want 0", n)
	}
	if n := c.log.looks.Load() - looks; n > crowd/2 {
		t.Errorf("%d buyers took %d looks, want them shared", crowd, n)
	}
	c.want("an owner in the crowd", c.ask("owner", 1), domain.Repeat)
	if _, err := c.orders.Cancel(t.Context(), "owner", last.Order, ""); err != nil {
		t.Fatal(err)
	}
	c.want("the next one, when a unit came back", c.ask("next", 1), domain.Reserved)
	c.wantLeft(0)
}

// The last units go to as many of a crowd, on two processes at once.
func TestACrowdOnTwoProcessesGetsWhatThereIs(t *testing.T) {
	const stock, crowd = 30, 200
	c := newTill(t, stock, commands.DirectOptions{}, nil)
	second, err := pgstore.New(c.pool, c.ns, pgstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := second.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	sales := commands.NewSales(second, time.Now, commands.SalesOptions{})
	gates := []commands.Gate{c.direct, commands.NewDirect(c.env, sales, second, commands.DirectOptions{})}
	var won atomic.Int64
	var todo sync.WaitGroup
	for i := range crowd {
		r := c.ask(fmt.Sprintf("u%d", i), 1)
		todo.Go(func() {
			v, err := gates[i%2].Reserve(t.Context(), r)
			switch {
			case err != nil:
				t.Errorf("one of a crowd: %v", err)
			case v.Outcome == domain.Reserved:
				won.Add(1)
			case v.Outcome != domain.SoldOut:
				t.Errorf("one of a crowd was told %s", v.Outcome)
			}
		})
	}
	todo.Wait()
	if won.Load() != stock {
		t.Errorf("%d won, want %d", won.Load(), stock)
	}
	c.wantLeft(0)
}
