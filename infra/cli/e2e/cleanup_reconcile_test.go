package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"seckill/infra/testenv"
)

func TestACleanedUpSaleIsLeftOutOfAReconciliationAndComparedWithoutAGateWhenAskedFor(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	n := r.Node(t, NodeOptions{})
	sale := n.Schedule(t, Terms(10))
	orders := n.soldAndPaid(t, sale, "buyer", 3)
	n.CloseSale(t, sale)
	n.CleanUp(t, sale)

	report, err := n.Reconciler.Reconcile(context.Background(), "")
	if err != nil || len(report.Sales) != 0 || report.CleanedUp != 1 {
		t.Errorf("all sales: got %+v, %v, want one left out", report, err)
	}
	report, err = n.Reconciler.Reconcile(context.Background(), sale)
	if err != nil || len(report.Sales) != 1 {
		t.Fatalf("the sale: got %+v, %v", report, err)
	}
	s := report.Sales[0]
	if !s.Cleaned || s.Note == "" || s.Drift != 0 || s.Released != 10 || s.Reserved != int64(len(orders)) || s.Available != 0 {
		t.Errorf("the sale: got %+v, want the log's account, a note and no finding", s)
	}
	testenv.Eventually(t, 30*time.Second, func() error { // the view has what is deleted below
		for order := range orders {
			if _, ok, err := n.Finder.View.Order(context.Background(), order); err != nil || !ok {
				return fmt.Errorf("order %s in the view: %t, %w", order, ok, err)
			}
		}
		return nil
	})
	n.Stop()
	env := r.Settings(t)
	if got := Run(t, env, "reconcile"); got.Code != 0 || !strings.Contains(got.Stdout, "1 sale is cleaned up and was left out.") || strings.Contains(got.Stdout, "agree") {
		t.Errorf("for people: got exit %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	if got := Run(t, env, "reconcile", "--sale", sale); got.Code != 0 || !strings.Contains(got.Stdout, "cleaned up") || strings.Contains(got.Stdout, "Gate, log and views agree") {
		t.Errorf("for people, of that sale: got exit %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
	for order := range orders {
		p := &plant{t: t, rig: r}
		p.sql(`delete from order_view where order_id = $1`, order)
		break
	}
	if got := Run(t, env, "reconcile", "--sale", sale); got.Code != 3 || !strings.Contains(got.Stdout, "view_row_missing") {
		t.Errorf("a view that was changed: got exit %d, want 3\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}
