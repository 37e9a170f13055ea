package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/testenv"
)

// TestAnEventThatCannotBeReadIsAFindingAndHidesNothingElse: the sale it belongs
// to, and all others, are reconciled all the same.
func TestAnEventThatCannotBeReadIsAFindingAndHidesNothingElse(t *testing.T) {
	rig := NewRig(t)
	node := rig.Node(t, NodeOptions{})
	sale, other := node.Schedule(t, Terms(10)), node.Schedule(t, Terms(10))
	c := newTally()
	sell(t, node, sale, "b", 3, c)
	node.AwaitDecided(t, c.accepted)
	place := domain.Place{Store: node.Env.Store, Sale: sale}
	order, err := domain.NewOrderID(node.Env.Keys, place, "poisoned", [10]byte{1})
	if err != nil {
		t.Fatal(err)
	}
	bad := eventstore.NewEvent{ID: uuid.New(), Type: "order.placed", Schema: 1, SaleID: sale, OrderID: order, Payload: []byte(`{"oops`), Metadata: []byte(`{}`)}
	_, err = node.Store.Submit(context.Background(), eventstore.Work{
		Needs: eventstore.Needs{Streams: []string{domain.OrderStream(order)}},
		Decide: func(eventstore.Look) (*eventstore.Group, error) {
			return &eventstore.Group{Appends: []eventstore.Append{{Stream: domain.OrderStream(order), Events: []eventstore.NewEvent{bad}}}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var report commands.ReconcileReport
	testenv.Eventually(t, 30*time.Second, func() error {
		report, err = node.Reconciler.Reconcile(context.Background(), "")
		return err
	})
	for _, s := range report.Sales {
		switch {
		case s.Sale == other && s.Drift != 0:
			t.Errorf("the other sale has findings: %+v", s.Findings)
		case s.Sale == sale && (s.Drift != 1 || s.Findings[0].Kind != commands.FindingUnread || s.Findings[0].OrderID != order):
			t.Errorf("findings %+v, want the event that cannot be read and nothing else", s.Findings)
		case s.Sale == sale && (s.Reserved != 3 || s.Available != 7):
			t.Errorf("reserved %d, available %d; want 3 and 7", s.Reserved, s.Available)
		}
	}
	if len(report.Sales) != 2 {
		t.Errorf("%d sales reconciled, want 2", len(report.Sales))
	}
}
