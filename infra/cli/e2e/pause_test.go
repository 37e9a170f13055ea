package e2e

import (
	"context"
	"testing"

	"seckill/commands"
	"seckill/domain"
)

// TestStoppingWhatIsStoppedHoldsNothing: a hold is taken away by the event behind
// it; where there is none, it would stand until somebody notices.
func TestStoppingWhatIsStoppedHoldsNothing(t *testing.T) {
	t.Parallel()
	n, sale := opened(t, 3, nil)
	actor := commands.Actor{By: "test", Note: "again"}
	held := func(what string) {
		t.Helper()
		seen, err := n.Gate.Peek(context.Background(), domain.Place{Store: n.Env.Store, Sale: sale}, []string{"item"})
		if err != nil || seen.Sale.Held {
			t.Errorf("after %s: held %t, %v; want nothing held", what, seen.Sale.Held, err)
		}
	}
	for range 2 {
		if _, err := n.Operator.Pause(context.Background(), sale, domain.PausedByOperator, actor); err != nil {
			t.Fatal(err)
		}
		held("a pause")
	}
	if res, err := n.Buy(sale, "u"); err != nil || res.Outcome != domain.Paused {
		t.Errorf("a purchase: %v, %v; want paused", res.Outcome, err)
	}
	for range 2 {
		if _, err := n.Operator.Close(context.Background(), sale, actor); err != nil {
			t.Fatal(err)
		}
		held("a close")
	}
	StandingChecks(t, n, sale, map[string]string{})
}
