package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/cli"
	"seckill/infra/testenv"
)

// cleanup is the checklist of a node.
func (n *Node) cleanup() *commands.Cleanup {
	return commands.NewCleanup(commands.CleanupDeps{
		Env: n.Env, Sales: n.Sales, Log: n.Store, Keeper: n.Keeper, Gate: n.Gate, Close: n.Operator.Close,
		Drift: cli.DriftOf(n.Reconciler), Parts: cli.LogParts{Store: n.Store},
	})
}

// CleanUp goes through the checklist of a sale and wants every item ticked.
func (n *Node) CleanUp(t testing.TB, sale string) map[string]string {
	t.Helper()
	var report commands.CleanReport
	testenv.Eventually(t, 30*time.Second, func() (err error) { // views may be a moment behind
		report, err = n.cleanup().Clean(context.Background(), sale, commands.Actor{By: "test", Note: "season over"})
		return err
	})
	found := map[string]string{}
	for _, item := range report.Items {
		if found[item.Name] = item.Detail; !item.Done {
			t.Errorf("clean up sale %s: %s is not done: %s", sale, item.Name, item.Detail)
		}
	}
	return found
}

// CloseSale ends a sale.
func (n *Node) CloseSale(t testing.TB, sale string) {
	t.Helper()
	if _, err := n.Operator.Close(context.Background(), sale, commands.Actor{By: "test"}); err != nil {
		t.Fatalf("close sale %s: %v", sale, err)
	}
}

// soldAndPaid sells a unit to each of so many buyers, and they pay.
func (n *Node) soldAndPaid(t testing.TB, sale, prefix string, buyers int) map[string]string {
	t.Helper()
	orders := map[string]string{}
	for i := range buyers {
		buyer := fmt.Sprintf("%s-%d", prefix, i)
		orders[n.accepted(t, sale, buyer, 1)] = buyer
	}
	n.AwaitDecided(t, orders)
	n.payAll(t, orders)
	return orders
}

func (n *Node) payAll(t testing.TB, orders map[string]string) {
	t.Helper()
	for order := range orders {
		if _, err := n.Pay(order, "payment-"+order, 1); err != nil {
			t.Fatalf("pay order %s: %v", order, err)
		}
	}
}

// WantGone waits until the gate holds nothing of a sale, and wants purchases of it
// to hear that it is over.
func (n *Node) WantGone(t testing.TB, sale string) {
	t.Helper()
	testenv.Eventually(t, 30*time.Second, func() error {
		seen, err := n.Gate.Peek(context.Background(), domain.Place{Store: n.Env.Store, Sale: sale}, []string{"item"})
		if err == nil && (seen.Sale.State != commands.HashMissing || seen.Stocks[0].State != commands.HashMissing) {
			err = fmt.Errorf("the gate holds %+v of a cleaned-up sale", seen)
		}
		return err
	})
	res, err := n.Buy(sale, "too-late")
	if err != nil || res.Outcome != domain.Ended {
		t.Errorf("a purchase of a cleaned-up sale: got %s, %v; want ended", res.Outcome, err)
	}
}

// ScheduleBeside makes a sale in the lane of another.
func (n *Node) ScheduleBeside(t testing.TB, sale string, stock int64) string {
	t.Helper()
	lane := domain.Place{Store: n.Env.Store, Sale: sale}.Lane()
	for range 2000 {
		other, err := n.Operator.Schedule(context.Background(), Terms(stock), commands.Actor{By: "test"})
		if err != nil {
			t.Fatalf("schedule a sale: %v", err)
		}
		if (domain.Place{Store: n.Env.Store, Sale: other.ID}).Lane() == lane {
			n.AwaitOpen(t, other.ID)
			return other.ID
		}
	}
	t.Fatalf("no sale came into lane %d", lane)
	return ""
}

// journalOf reads a lane's journal from its beginning.
func (n *Node) journalOf(t testing.TB, lane int) []commands.JournalEntry {
	t.Helper()
	entries, err := n.Gate.ReadLane(context.Background(), lane, domain.EntryID{}, 10_000)
	if err != nil {
		t.Fatalf("read the journal of lane %d: %v", lane, err)
	}
	return entries
}
