package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/testenv"
)

// TestWhatABuyerWasToldIsNotTakenBackByAViewThatIsBehind: nothing moves the views
// any more, and a cancellation is read as one all the same.
func TestWhatABuyerWasToldIsNotTakenBackByAViewThatIsBehind(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	r := NewRig(t)
	all, desk := r.Node(t, NodeOptions{}), r.Node(t, NodeOptions{APIOnly: true})
	sale := all.Schedule(t, Terms(2))
	paid, cancelled := all.Placed(t, sale, "alice", 1), all.Placed(t, sale, "bob", 1)
	for _, order := range []string{paid, cancelled} {
		testenv.Eventually(t, 60*time.Second, func() error {
			if seen, ok, err := desk.Views.Order(ctx, order); err != nil || !ok {
				return fmt.Errorf("the view of order %s: %+v, %v", order, seen, err)
			}
			return nil
		})
	}
	all.Stop()

	if _, err := desk.Orders.Cancel(ctx, "bob", cancelled, ""); err != nil {
		t.Fatalf("cancel: %v", err)
	}
	if _, err := desk.Pay(paid, "pay-1", 1); err != nil {
		t.Fatalf("pay: %v", err)
	}
	if seen, _, err := desk.Views.Order(ctx, cancelled); err != nil || seen.Status != domain.OrderStatusPlaced {
		t.Fatalf("the view has %s, %v; this test wants it behind", seen.Status, err)
	}
	for order, want := range map[string]domain.OrderStatus{cancelled: domain.OrderStatusCancelled, paid: domain.OrderStatusPaid} {
		buyer := map[bool]string{true: "bob", false: "alice"}[order == cancelled]
		if told, err := desk.Finder.Find(ctx, buyer, order); err != nil || told.Status != want || told.Version != 2 {
			t.Errorf("told %s in version %d, %v; want %s in version 2", told.Status, told.Version, err, want)
		}
	}
}
