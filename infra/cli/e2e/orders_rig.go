package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/testenv"
)

// opened is a new installation with one node and one sale whose terms change sets.
func opened(t testing.TB, stock int64, change func(*domain.SaleTerms)) (*Node, string) {
	t.Helper()
	n := NewRig(t).Node(t, NodeOptions{})
	terms := Terms(stock)
	if change != nil {
		change(&terms)
	}
	return n, n.Schedule(t, terms)
}

// Placed buys units for a buyer and waits until the order is placed.
func (n *Node) Placed(t testing.TB, sale, buyer string, units int64) string {
	t.Helper()
	order := n.accepted(t, sale, buyer, units)
	n.AwaitStatus(t, buyer, order, domain.OrderStatusPlaced)
	return order
}

// accepted buys units for a buyer and gives the order.
func (n *Node) accepted(t testing.TB, sale, buyer string, units int64) string {
	t.Helper()
	result, err := n.BuyLines(sale, buyer, "", domain.Line{SKU: "item", Quantity: units})
	if err != nil || result.Outcome != domain.Reserved {
		t.Fatalf("%s buys %d: got %s, %v; want reserved", buyer, units, result.Outcome, err)
	}
	return result.Order.ID
}

// AwaitStatus waits until the buyer is told a status of an order.
func (n *Node) AwaitStatus(t testing.TB, buyer, order string, want domain.OrderStatus) commands.OrderAnswer {
	t.Helper()
	var answer commands.OrderAnswer
	testenv.Eventually(t, 60*time.Second, func() (err error) {
		answer, err = n.Finder.Find(context.Background(), buyer, order)
		if err == nil && answer.Status != want {
			err = fmt.Errorf("order %s is %s, want %s", order, answer.Status, want)
		}
		return err
	})
	return answer
}

// WantLeft waits until so many units of a sale's item are left for buyers.
func (n *Node) WantLeft(t testing.TB, sale string, want int64) {
	t.Helper()
	testenv.Eventually(t, 30*time.Second, func() error {
		left, err := n.left(context.Background(), sale)
		if err == nil && left != want {
			err = fmt.Errorf("%d are left, want %d", left, want)
		}
		return err
	})
}

// wantLeftNow wants that so many units are left for buyers at this moment.
func (n *Node) wantLeftNow(t testing.TB, sale string, want int64) {
	t.Helper()
	left, err := n.left(context.Background(), sale)
	if err != nil || left != want {
		t.Errorf("%d are left (%v), want %d", left, err, want)
	}
}

// AwaitDue waits until an order's time to pay is over by the store's clock.
func (n *Node) AwaitDue(t testing.TB, orders ...string) {
	t.Helper()
	testenv.Eventually(t, 60*time.Second, func() error {
		due, err := n.Views.Due(context.Background(), commands.Due{}, 1000)
		if err != nil {
			return err
		}
		left := map[string]bool{}
		for _, order := range orders {
			left[order] = true
		}
		for _, d := range due {
			delete(left, d.Order)
		}
		if len(left) > 0 {
			return fmt.Errorf("%d of %d orders are not due", len(left), len(orders))
		}
		return nil
	})
}

// dueNow are orders that somebody says are due.
type dueNow []string

// Due gives them as one page.
func (d dueNow) Due(context.Context, commands.Due, int) ([]commands.Due, error) {
	page := make([]commands.Due, len(d))
	for i, order := range d {
		page[i] = commands.Due{Order: order}
	}
	return page, nil
}

// SetAside gives none.
func (dueNow) SetAside(context.Context, string, int) ([]string, error) { return nil, nil }

// Expire lets a sweep look at these orders, and gives how many it ended.
func (n *Node) Expire(t testing.TB, orders ...string) int {
	t.Helper()
	s, err := commands.NewExpirer(n.Env, n.Orders, dueNow(orders), commands.ExpirerOptions{}).Sweep(context.Background())
	if err != nil || s.Failed > 0 {
		t.Errorf("sweep %v: %d failed, %v", orders, s.Failed, err)
	}
	return s.Expired
}

// Pay says that a payment of the test item's price times units was made.
func (n *Node) Pay(order, payment string, units int64) (commands.OrderAnswer, error) {
	return n.Orders.Settle(context.Background(), commands.Payment{
		Provider: "test", EventID: "event-" + payment, PaymentID: payment, Order: order, Amount: domain.Money{Minor: 1990 * units, Currency: "CNY"},
	}, commands.Actor{By: "test"})
}

// FailPay says that the payment of an order failed.
func (n *Node) FailPay(order, event string) (commands.OrderAnswer, error) {
	return n.Orders.Settle(context.Background(), commands.Payment{Provider: "test", EventID: event, Order: order, Failed: true}, commands.Actor{By: "test"})
}

// countOf counts events of a type in the log, of one order or of all ("").
func countOf(t testing.TB, n *Node, kind, order string) int {
	t.Helper()
	count := 0
	after := int64(0)
	for {
		page, err := n.Store.Find(context.Background(), eventstore.Filter{Type: kind, OrderID: order}, after, 500)
		if err != nil {
			t.Fatalf("count %s: %v", kind, err)
		}
		count += len(page)
		if len(page) < 500 {
			return count
		}
		after = page[len(page)-1].Position
	}
}

// wantProblem wants an error with a code.
func wantProblem(t testing.TB, err error, code domain.Code) {
	t.Helper()
	var p *domain.Problem
	if !errors.As(err, &p) || p.Code != code {
		t.Errorf("got %v, want %s", err, code)
	}
}

// wantEndedOnce wants the units of orders back once each, and their claims dead.
func wantEndedOnce(t testing.TB, n *Node, orders map[string]string) {
	t.Helper()
	for order, buyer := range orders {
		if got := countOf(t, n, "stock.returned", order); got != 1 {
			t.Errorf("order %s of %s has %d stock.returned, want 1", order, buyer, got)
		}
		ref, err := domain.ParseOrderID(order)
		if err != nil {
			t.Fatal(err)
		}
		claims, err := n.Store.ClaimsOf(context.Background(), eventstore.ClaimKey{SaleID: ref.Place.Sale, BuyerID: buyer})
		if err != nil {
			t.Fatal(err)
		}
		for _, claim := range claims {
			if claim.OrderID == order && claim.Live {
				t.Errorf("the claim of %s on order %s is live, and the order ended", buyer, order)
			}
		}
	}
	for stream, account := range readFold(t, n.Store).accounts {
		guards, err := n.Store.Guards(context.Background(), []string{stream})
		if err != nil || !strings.HasPrefix(stream, "stock-") {
			t.Fatalf("guard of %s: %v", stream, err)
		}
		if g := guards[0]; g.Left() != account.Left() || g.Version != account.Version {
			t.Errorf("the guard of %s has %d left at version %d, the fold %d at %d", stream, g.Left(), g.Version, account.Left(), account.Version)
		}
	}
}
