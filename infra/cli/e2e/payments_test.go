package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/testenv"
	"time"
)

func TestAMessageOfAProviderCountsOnceAndForOneOrder(t *testing.T) {
	t.Parallel()
	n, sale := opened(t, 5, nil)
	order, other := n.Placed(t, sale, "u", 1), n.Placed(t, sale, "v", 1)
	var running sync.WaitGroup
	for range 12 {
		running.Go(func() {
			answer, err := n.Pay(order, "p1", 1)
			if err != nil || answer.Status != domain.OrderStatusPaid || answer.RefundDue {
				t.Errorf("pay: got %s, refund due %t, %v; want paid", answer.Status, answer.RefundDue, err)
			}
		})
	}
	running.Wait()
	if got := countOf(t, n, "order.paid", ""); got != 1 {
		t.Errorf("%d order.paid, want 1", got)
	}
	_, err := n.Pay(other, "p1", 1)
	wantProblem(t, err, domain.CodeInvalidRequest)
	// The same payment in another message, and a second payment.
	pay := commands.Payment{Provider: "test", EventID: "again", PaymentID: "p1", Order: order, Amount: domain.Money{Minor: 1990, Currency: "CNY"}}
	if answer, err := n.Orders.Settle(t.Context(), pay, commands.Actor{}); err != nil || answer.Version != 2 || answer.RefundDue {
		t.Errorf("the payment again: got version %d, refund due %t, %v; want nothing new", answer.Version, answer.RefundDue, err)
	}
	for range 2 {
		if answer, err := n.Pay(order, "p2", 1); err != nil || answer.Status != domain.OrderStatusPaid || !answer.RefundDue || answer.Version != 3 {
			t.Errorf("a second payment: got %s at %d, refund due %t, %v; want paid with a refund, once", answer.Status, answer.Version, answer.RefundDue, err)
		}
	}
	// The same id of another provider is another message.
	pay = commands.Payment{Provider: "tes", EventID: "tevent-p1", PaymentID: "p1", Order: other, Amount: domain.Money{Minor: 1990, Currency: "CNY"}}
	if answer, err := n.Orders.Settle(t.Context(), pay, commands.Actor{}); err != nil || answer.Status != domain.OrderStatusPaid {
		t.Errorf("another provider's message: got %s, %v; want paid", answer.Status, err)
	}
	StandingChecks(t, n, sale, map[string]string{order: "u", other: "v"})
}

func TestAPaymentOfAnOrderThatTheLogDoesNotHave(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	keeper := rig.Node(t, NodeOptions{})
	sale := keeper.Schedule(t, Terms(3))
	keeper.Stop() // nothing is recorded from here on
	n := rig.Node(t, NodeOptions{APIOnly: true})
	order := n.accepted(t, sale, "u", 1)
	other := rig.Node(t, NodeOptions{APIOnly: true}) // it did not accept it
	for _, node := range []*Node{n, other} {
		_, err := node.Pay(order, "p", 1)
		wantProblem(t, err, domain.CodeInProgress)
		_, err = node.Orders.Cancel(t.Context(), "u", order, "")
		wantProblem(t, err, domain.CodeInProgress)
	}
	_, err := n.Orders.Cancel(t.Context(), "v", order, "")
	wantProblem(t, err, domain.CodeOrderNotFound)
	forged, err := domain.NewOrderID(domain.Keys{Current: 1, Secrets: map[uint8][]byte{1: []byte("another secret")}},
		domain.Place{Store: n.Env.Store, Sale: sale}, "u", [10]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := domain.NewOrderID(n.Env.Keys, domain.Place{Store: n.Env.Store, Sale: domain.SaleNumber(1).ID()}, "u", [10]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, 30*time.Second, func() error { // while the lane opened just now, nothing is certain
		_, err := n.Pay(forged, "p", 1)
		var p *domain.Problem
		if !errors.As(err, &p) || p.Code != domain.CodeOrderNotFound {
			return fmt.Errorf("an order that nobody issued: %w", err)
		}
		return nil
	})
	for _, id := range []string{elsewhere, "nonsense", ""} {
		_, err = n.Pay(id, "p", 1)
		wantProblem(t, err, domain.CodeOrderNotFound)
	}
	_, err = n.Orders.Settle(t.Context(), commands.Payment{Order: order}, commands.Actor{})
	wantProblem(t, err, domain.CodeInvalidRequest)
	if got := countOf(t, n, "order.rejected", ""); got != 0 {
		t.Errorf("%d orders were rejected because somebody paid, want none", got)
	}
	recorder := rig.Node(t, NodeOptions{})
	recorder.AwaitStatus(t, "u", order, domain.OrderStatusPlaced)
	if answer, err := n.Pay(order, "p", 1); err != nil || answer.Status != domain.OrderStatusPaid {
		t.Errorf("pay once it is recorded: got %s, %v", answer.Status, err)
	}
	StandingChecks(t, recorder, sale, map[string]string{order: "u"})
}

func TestWhoseOrderIsOverMayBuyAgainWhereTheSaleSaysSo(t *testing.T) {
	t.Parallel()
	for _, rebuy := range []bool{true, false} {
		t.Run(fmt.Sprintf("rebuy %t", rebuy), func(t *testing.T) {
			n, sale := opened(t, 10, func(terms *domain.SaleTerms) { terms.Rebuy, terms.LimitPerBuyer = rebuy, 3 })
			line := domain.Line{SKU: "item", Quantity: 3}
			first, err := n.BuyLines(sale, "u", "key-1", line)
			if err != nil || first.Outcome != domain.Reserved {
				t.Fatalf("buy: %s, %v", first.Outcome, err)
			}
			n.AwaitStatus(t, "u", first.Order.ID, domain.OrderStatusPlaced)
			if _, err := n.Orders.Cancel(t.Context(), "u", first.Order.ID, ""); err != nil {
				t.Fatal(err)
			}
			// The key names its order for ever.
			same, err := n.BuyLines(sale, "u", "key-1", line)
			if err != nil || same.Outcome != domain.SameOrder || same.Order.ID != first.Order.ID || same.Order.Status == domain.OrderStatusQueued {
				t.Errorf("the same key: got %s of order %s, %s, %v; want the cancelled order", same.Outcome, same.Order.ID, same.Order.Status, err)
			}
			again, err := n.BuyLines(sale, "u", "key-2", line)
			orders := map[string]string{first.Order.ID: "u"}
			switch {
			case err != nil:
				t.Fatal(err)
			case rebuy && again.Outcome != domain.Reserved:
				t.Errorf("buy again: got %s, want reserved: the limit is net units", again.Outcome)
			case rebuy:
				orders[again.Order.ID] = "u"
			case again.Outcome != domain.Repeat || again.Order.ID != first.Order.ID:
				t.Errorf("buy again: got %s of %s, want a repeat of the cancelled order", again.Outcome, again.Order.ID)
			}
			StandingChecks(t, n, sale, orders)
		})
	}
}

// flakyGate is a gate that cannot apply for so many times.
type flakyGate struct {
	commands.FollowerGate
	fails atomic.Int64
}

func (g *flakyGate) ApplyStock(ctx context.Context, p commands.StockPage) (commands.Applied, error) {
	if g.fails.Add(-1) >= 0 {
		return commands.Applied{}, &commands.GateError{Unknown: true, Err: errors.New("the line broke")}
	}
	return g.FollowerGate.ApplyStock(ctx, p)
}

func (g *flakyGate) Peek(ctx context.Context, place domain.Place, skus []string) (commands.Peeked, error) {
	if g.fails.Add(-1) >= 0 {
		return commands.Peeked{}, &commands.GateError{Err: errors.New("the line broke")}
	}
	return g.FollowerGate.Peek(ctx, place, skus)
}

// Of the projector of a node nothing but the store brings anything: every message
// is dropped, so one dropped message is among them.
func TestB75ACallbackThreeTimesAReleaseThatFailsAndADroppedMessage(t *testing.T) {
	t.Parallel()
	n, sale := opened(t, 1, nil)
	order := n.Placed(t, sale, "u", 1)
	gate := &flakyGate{FollowerGate: n.Gate}
	gate.fails.Store(1)
	orders := *n.Orders
	orders.Follow = commands.NewFollower(n.Env, n.Store, gate)
	failed := commands.Payment{Provider: "test", EventID: "e", PaymentID: "p", Order: order, Failed: true}
	var running sync.WaitGroup
	for range 3 {
		running.Go(func() {
			if answer, err := orders.Settle(context.Background(), failed, commands.Actor{}); err != nil || answer.Status != domain.OrderStatusCancelled {
				t.Errorf("callback: got %s, %v; want cancelled", answer.Status, err)
			}
		})
	}
	running.Wait()
	if gate.fails.Load() > 0 {
		t.Error("the release did not fail")
	}
	wantEndedOnce(t, n, map[string]string{order: "u"})
	n.WantLeft(t, sale, 1) // nobody's hand: the sweeper brought it
	next := n.Placed(t, sale, "v", 1)
	StandingChecks(t, n, sale, map[string]string{order: "u", next: "v"})
}
