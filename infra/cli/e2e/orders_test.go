package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/testenv"
)

func TestB09WhatIsCancelledIsSoldToTheNextBuyerAndNobodyElseNotices(t *testing.T) {
	t.Parallel()
	var later atomic.Int64
	n := NewRig(t).Node(t, NodeOptions{Later: func() time.Duration { return time.Duration(later.Load()) }})
	sale := n.Schedule(t, Terms(2))
	a, b := n.Placed(t, sale, "a", 1), n.Placed(t, sale, "b", 1)
	before := n.AwaitStatus(t, "b", b, domain.OrderStatusPlaced)
	// The first to be refused asks the gate itself and leaves a mark; while it stands, a
	// look answers. However much time passes on this node, the shortage alone counts.
	for i, passed := range []time.Duration{0, 0, time.Minute, 20 * time.Minute} {
		later.Store(int64(passed))
		if result, err := n.Buy(sale, "c"); err != nil || result.Outcome != domain.SoldOut {
			t.Fatalf("c buys %s later: got %s, %v; want sold out", passed, result.Outcome, err)
		}
		if looks := n.Known.of("sold_out"); looks != i {
			t.Fatalf("%s later %d were refused by the mark, want %d: it expired", passed, looks, i)
		}
	}
	if answer, err := n.FailPay(a, "e1"); err != nil || answer.Status != domain.OrderStatusCancelled {
		t.Fatalf("the payment of a fails: got %s, %v; want cancelled", answer.Status, err)
	}
	// Whoever returned it answered when the gate had it: no wait stands here.
	result, err := n.Buy(sale, "c")
	if err != nil || result.Outcome != domain.Reserved {
		t.Fatalf("c buys what a gave back: got %s, %v; want reserved", result.Outcome, err)
	}
	// The mark fell with that purchase: the next shortage leaves a new one.
	for i, want := range []int{3, 4} {
		if next, err := n.Buy(sale, "d"); err != nil || next.Outcome != domain.SoldOut || n.Known.of("sold_out") != want {
			t.Fatalf("d is refused: %s, %v, by the mark %d times; try %d wants %d", next.Outcome, err, n.Known.of("sold_out"), i+1, want)
		}
	}
	after, err := n.Finder.Find(t.Context(), "b", b)
	if err != nil || after.Status != before.Status || after.Version != before.Version {
		t.Errorf("b's order was %s at %d and is %s at %d (%v): another's order changed it", before.Status, before.Version, after.Status, after.Version, err)
	}
	StandingChecks(t, n, sale, map[string]string{a: "a", b: "b", result.Order.ID: "c"})
}

// threePaths are the ways in which an order gives its units back.
func threePaths(t *testing.T, n *Node, order, buyer string) []func() {
	return []func(){
		func() {
			var wrong *commands.WrongStateError
			answer, err := n.Orders.Cancel(context.Background(), buyer, order, "trace")
			if err != nil && !errors.As(err, &wrong) || err == nil && answer.Status != domain.OrderStatusCancelled {
				t.Errorf("cancel order of %s: %s, %v", buyer, answer.Status, err)
			}
		},
		func() {
			if _, err := n.FailPay(order, "failed-"+order); err != nil {
				t.Errorf("fail the payment of %s: %v", buyer, err)
			}
		},
		func() { n.Expire(t, order) },
	}
}

func TestB28ThreePathsOfReturnInEveryOrderAndAtOnceGiveTheUnitsBackOnce(t *testing.T) {
	t.Parallel()
	everyStrategy(t, func(t *testing.T, in domain.Strategy) {
		n, sale := opened(t, 20, func(terms *domain.SaleTerms) { terms.Strategy = in; terms.PaymentWindow = 1 })
		sequences := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
		const atOnce = 10
		orders := map[string]string{}
		var all []string
		for i := range len(sequences) + atOnce {
			buyer := fmt.Sprintf("u%d", i)
			order := n.Placed(t, sale, buyer, 1)
			orders[order], all = buyer, append(all, order)
		}
		n.WantLeft(t, sale, 4)
		n.AwaitDue(t, all...)
		for i, sequence := range sequences {
			paths := threePaths(t, n, all[i], orders[all[i]])
			for _, p := range sequence {
				paths[p]()
			}
			n.WantLeft(t, sale, int64(5+i))
		}
		var running sync.WaitGroup
		for _, order := range all[len(sequences):] {
			for _, path := range threePaths(t, n, order, orders[order]) {
				running.Go(path)
			}
		}
		running.Wait()
		wantEndedOnce(t, n, orders)
		n.WantLeft(t, sale, 20)
		StandingChecks(t, n, sale, orders)
	})
}

func TestB29TwentyCancellationsAtOnceAreOne(t *testing.T) {
	t.Parallel()
	everyStrategy(t, func(t *testing.T, in domain.Strategy) {
		n, sale := opened(t, 5, func(terms *domain.SaleTerms) { terms.Strategy = in })
		order := n.Placed(t, sale, "u", 1)
		var running sync.WaitGroup
		for range 20 {
			running.Go(func() {
				answer, err := n.Orders.Cancel(context.Background(), "u", order, "trace")
				if err != nil || answer.Status != domain.OrderStatusCancelled || answer.Version != 2 {
					t.Errorf("cancel: got %s at version %d, %v; want cancelled at 2", answer.Status, answer.Version, err)
				}
			})
		}
		running.Wait()
		if got := countOf(t, n, "order.cancelled", order); got != 1 {
			t.Errorf("%d order.cancelled, want 1", got)
		}
		wantEndedOnce(t, n, map[string]string{order: "u"})
		n.WantLeft(t, sale, 5)
		StandingChecks(t, n, sale, map[string]string{order: "u"})
	})
}

func TestB31UnitsComeBackWithTheRightSignAndOnlyWithARestock(t *testing.T) {
	t.Parallel()
	everyStrategy(t, func(t *testing.T, in domain.Strategy) {
		for _, restock := range []bool{true, false} {
			t.Run(fmt.Sprintf("restock %t", restock), func(t *testing.T) {
				n, sale := opened(t, 20, func(terms *domain.SaleTerms) { terms.Strategy = in; terms.LimitPerBuyer, terms.Rebuy = 5, true })
				order := n.Placed(t, sale, "u", 5)
				n.wantLeftNow(t, sale, 15)
				answer, err := n.Orders.CancelFor(t.Context(), order, domain.Cancellation{By: "eva", Restock: restock}, commands.Actor{By: "eva"})
				if err != nil || answer.Status != domain.OrderStatusCancelled {
					t.Fatalf("cancel: got %s, %v", answer.Status, err)
				}
				left := int64(15)
				if restock {
					left = 20
				}
				// Whoever cancels answers when the gate has it.
				n.wantLeftNow(t, sale, left)
				// Either way the units are no longer the buyer's: the limit is free.
				again := n.Placed(t, sale, "u", 5)
				n.wantLeftNow(t, sale, left-5)
				StandingChecks(t, n, sale, map[string]string{order: "u", again: "u"})
			})
		}
	})
}

func TestB32AnOrderIsPaidOrItsUnitIsFreeAndNeverBoth(t *testing.T) {
	t.Parallel()
	everyStrategy(t, func(t *testing.T, in domain.Strategy) {
		n, sale := opened(t, 60, func(terms *domain.SaleTerms) { terms.Strategy = in; terms.PaymentWindow = 2 })
		orders := map[string]string{}
		var running sync.WaitGroup
		for i := range 30 {
			buyer := fmt.Sprintf("u%d", i)
			order := n.accepted(t, sale, buyer, 1)
			orders[order] = buyer
			past := time.Duration(i%3-1) * time.Millisecond
			running.Go(func() {
				payBy := n.AwaitStatus(t, buyer, order, domain.OrderStatusPlaced).PayBy
				var two sync.WaitGroup
				two.Go(func() {
					time.Sleep(time.Until(payBy.Add(past)))
					if _, err := n.Pay(order, "p-"+order, 1); err != nil {
						t.Errorf("pay: %v", err)
					}
				})
				two.Go(func() {
					time.Sleep(time.Until(payBy))
					testenv.Eventually(t, 10*time.Second, func() error {
						n.Expire(t, order)
						answer, err := n.Finder.Find(context.Background(), buyer, order)
						if err == nil && answer.Status == domain.OrderStatusPlaced {
							err = errors.New("neither paid nor expired")
						}
						return err
					})
				})
				two.Wait()
			})
		}
		running.Wait()
		f := readFold(t, n.Store)
		paid := 0
		for order := range orders {
			o, back := f.orders[order], countOf(t, n, "stock.returned", order)
			switch {
			case o.Status == domain.OrderStatusPaid && back == 0 && !o.RefundDue:
				paid++
			case o.Status == domain.OrderStatusExpired && back == 1 && o.RefundDue:
			default:
				t.Errorf("order %s is %s, its unit came back %d times, refund due %t", order, o.Status, back, o.RefundDue)
			}
		}
		t.Logf("%d paid, %d expired", paid, len(orders)-paid)
		n.WantLeft(t, sale, int64(60-paid))
		StandingChecks(t, n, sale, orders)
	})
}

func TestB32MoneyThatComesAfterTheUnitWentToAnotherIsDueBack(t *testing.T) {
	t.Parallel()
	everyStrategy(t, func(t *testing.T, in domain.Strategy) {
		n, sale := opened(t, 1, func(terms *domain.SaleTerms) { terms.Strategy = in; terms.PaymentWindow = 1 })
		first := n.Placed(t, sale, "a", 1)
		n.AwaitDue(t, first)
		if got := n.Expire(t, first); got != 1 {
			t.Fatalf("%d orders expired, want 1", got)
		}
		second := n.accepted(t, sale, "b", 1)
		n.AwaitStatus(t, "b", second, domain.OrderStatusPlaced)
		if answer, err := n.Pay(second, "p2", 1); err != nil || answer.Status != domain.OrderStatusPaid {
			t.Fatalf("b pays: got %s, %v", answer.Status, err)
		}
		answer, err := n.Pay(first, "p1", 1)
		if err != nil || answer.Status != domain.OrderStatusExpired || !answer.RefundDue {
			t.Fatalf("a pays late: got %s, refund due %t, %v; want expired with a refund", answer.Status, answer.RefundDue, err)
		}
		if refunds, paid := countOf(t, n, "order.refund_due", first), countOf(t, n, "order.paid", first); refunds != 1 || paid != 0 {
			t.Errorf("a's order has %d order.refund_due and %d order.paid, want 1 and 0", refunds, paid)
		}
		StandingChecks(t, n, sale, map[string]string{first: "a", second: "b"})
	})
}

func TestB34ACancellationAfterTheEndSaysHowItEnded(t *testing.T) {
	t.Parallel()
	everyStrategy(t, func(t *testing.T, in domain.Strategy) {
		n, sale := opened(t, 3, func(terms *domain.SaleTerms) { terms.Strategy = in; terms.PaymentWindow = 1 })
		order := n.Placed(t, sale, "u", 1)
		n.AwaitDue(t, order)
		n.Expire(t, order)
		n.WantLeft(t, sale, 3)
		var wrong *commands.WrongStateError
		_, err := n.Orders.Cancel(t.Context(), "u", order, "trace")
		if !errors.As(err, &wrong) || wrong.Order.Status != domain.OrderStatusExpired {
			t.Errorf("cancel an expired order: got %v, want wrong_state with the expired order", err)
		}
		wantProblem(t, err, domain.CodeWrongState)
		n.WantLeft(t, sale, 3)
		paid := n.Placed(t, sale, "v", 1)
		if _, err := n.Pay(paid, "p", 1); err != nil {
			t.Fatal(err)
		}
		_, err = n.Orders.Cancel(t.Context(), "v", paid, "trace")
		wantProblem(t, err, domain.CodeWrongState)
		_, err = n.Orders.Cancel(t.Context(), "u", paid, "trace")
		wantProblem(t, err, domain.CodeOrderNotFound)
		StandingChecks(t, n, sale, map[string]string{order: "u", paid: "v"})
	})
}
