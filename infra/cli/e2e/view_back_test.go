package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/testenv"
)

// wavering is a view that answers from one of two states of an order.
type wavering struct{ now commands.OrderAnswer }

func (v *wavering) Order(context.Context, string) (commands.OrderAnswer, bool, error) {
	return v.now, true, nil
}

func (v *wavering) OrdersOfBuyer(context.Context, string, string, int, string) (commands.OrderPage, error) {
	return commands.OrderPage{Orders: []commands.OrderAnswer{v.now}}, nil
}

func TestAnOrderThatAViewForgotAgainIsAnsweredFromTheLog(t *testing.T) {
	t.Parallel()
	n, sale := opened(t, 10, nil)
	order := n.Placed(t, sale, "buyer", 1)
	n.AwaitStatus(t, "buyer", order, domain.OrderStatusPlaced)
	inView := func(want domain.OrderStatus) (answer commands.OrderAnswer) {
		t.Helper()
		testenv.Eventually(t, 30*time.Second, func() (err error) {
			if answer, _, err = n.Views.Order(t.Context(), order); err == nil && answer.Status != want {
				err = fmt.Errorf("the view has %q, want %s", answer.Status, want)
			}
			return err
		})
		return answer
	}
	old := inView(domain.OrderStatusPlaced)
	if _, err := n.Orders.Cancel(t.Context(), "buyer", order, ""); err != nil {
		t.Fatal(err)
	}
	view := &wavering{now: inView(domain.OrderStatusCancelled)}
	finder := &commands.Finder{Env: n.Env, View: view, Log: n.Store, ViewGoesBack: true}
	for range 2 {
		answer, err := finder.Find(t.Context(), "buyer", order)
		if err != nil || answer.Status != domain.OrderStatusCancelled {
			t.Errorf("got %s, %v; want cancelled", answer.Status, err)
		}
		page, err := finder.List(t.Context(), sale, "buyer", 10, "")
		if err != nil || len(page.Orders) != 1 || page.Orders[0].Status != domain.OrderStatusCancelled {
			t.Errorf("listed %+v, %v; want it cancelled", page.Orders, err)
		}
		view.now = old
	}
}
