package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"testing"

	"seckill/commands"
	"seckill/domain"
)

// TestACleanUpRightAfterTheCloseKeepsWhatTheNodesCounted: the statement knows
// who was refused, however soon after the end the sale is cleaned up, and by how
// many at once.
func TestACleanUpRightAfterTheCloseKeepsWhatTheNodesCounted(t *testing.T) {
	t.Parallel()
	c := openCheckout(t)
	sale := c.saleWith(2, nil)
	for _, buyer := range []string{"a", "b"} {
		c.heard(event(c.placed(sale, buyer)))
	}
	purchase(t, c.Client, sale, "late", oneItem, http.StatusConflict)
	c.check(sale)
	operator := func(what string) Answer {
		answer, err := c.Call(http.MethodPost, "/api/v1/admin/sales/"+sale+what, "operator", "admin", map[string]any{})
		if err != nil || answer.Status != http.StatusOK {
			t.Errorf("%s: %d %s %v", what, answer.Status, answer.Raw, err)
		}
		return answer
	}
	operator("/close")
	var several sync.WaitGroup
	for range 3 {
		several.Go(func() { operator("/cleanup") })
	}
	several.Wait()
	n := c.rig.Node(t, NodeOptions{APIOnly: true})
	page, err := n.Store.ReadStream(context.Background(), domain.SaleStream(sale), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var asked, won int64
	for _, r := range page {
		if r.Type != "sale.tallied" {
			continue
		}
		var e domain.SaleTallied
		if err := json.Unmarshal(r.Payload, &e); err != nil {
			t.Fatal(err)
		}
		asked, won = asked+e.Asked, won+e.Won
	}
	if asked != 3 || won != 2 || page[len(page)-1].Type != "sale.cleaned" {
		t.Errorf("told: %d asked, %d won, and the sale ends with %s; want 3, 2 and sale.cleaned", asked, won, page[len(page)-1].Type)
	}
}

// TestARepairEndsThePauseForDrift: whoever mends a sale does not wait for the next
// round of the scheduler.
func TestARepairEndsThePauseForDrift(t *testing.T) {
	t.Parallel()
	n, sale := opened(t, 5, nil)
	if _, err := n.Operator.Pause(context.Background(), sale, domain.PausedByDrift, commands.Actor{By: "test"}); err != nil {
		t.Fatal(err)
	}
	report, err := n.Repairer.Repair(context.Background(), sale, commands.Actor{By: "test"})
	if err != nil || report.Drift() != 0 {
		t.Fatalf("repair: %d findings, %v; want none", report.Drift(), err)
	}
	folded, err := n.Sales.Fold(context.Background(), sale)
	if err != nil || len(folded.Pauses) != 0 {
		t.Errorf("paused by %v, %v; want by nothing", folded.Pauses, err)
	}
	StandingChecks(t, n, sale, map[string]string{})
}
