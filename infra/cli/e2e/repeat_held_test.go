package e2e

import (
	"context"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// TestASecondClickIsToldTheStatusOfNow: the node still holds what it acknowledged, and the
// time for the look is as short as what is kept back of it for asking the gate; the log
// answers all the same.
func TestASecondClickIsToldTheStatusOfNow(t *testing.T) {
	t.Parallel()
	n, sale := opened(t, 10, nil)
	order := n.Placed(t, sale, "buyer", 1)
	n.AwaitStatus(t, "buyer", order, domain.OrderStatusPlaced)
	finder := &commands.Finder{Env: n.Env, View: nothingSeen{}, Log: n.Store, Gate: n.Finder.Gate, Journal: n.Finder.Journal, Holds: func(string) bool { return true }}
	for _, budget := range []time.Duration{500 * time.Millisecond, time.Second, 30 * time.Second} {
		look, cancel := context.WithTimeout(t.Context(), budget)
		answer, err := finder.Find(look, "buyer", order)
		late := look.Err() != nil // on a machine too busy to answer in time there is nothing to see
		cancel()
		if (err != nil || answer.Status != domain.OrderStatusPlaced) && !late {
			t.Errorf("within %s: got %s, waiting for %q, %v; want placed", budget, answer.Status, answer.WaitingFor, err)
		}
	}
}

// nothingSeen is a view that is behind.
type nothingSeen struct{}

func (nothingSeen) Order(context.Context, string) (commands.OrderAnswer, bool, error) {
	return commands.OrderAnswer{}, false, nil
}

func (nothingSeen) OrdersOfBuyer(context.Context, string, string, int, string) (commands.OrderPage, error) {
	return commands.OrderPage{}, nil
}
