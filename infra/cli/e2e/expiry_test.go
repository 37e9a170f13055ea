package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/testenv"
	"seckill/projections"
)

// holds lets so many buyers buy one unit each and pay nothing.
func holds(t *testing.T, c *Client, sale string, buyers int) map[string]string {
	t.Helper()
	orders := map[string]string{}
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range buyers {
		buyer := fmt.Sprintf("holder-%d", i)
		all.Go(func() {
			answer, err := c.Buy(sale, buyer, "key")
			if err != nil || answer.Status != http.StatusAccepted {
				t.Errorf("%s buys: %d %s, %v", buyer, answer.Status, answer.Raw, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			orders[answer.Text("order_id")] = buyer
		})
	}
	all.Wait()
	return orders
}

// shortSale makes a sale over HTTP whose orders wait 2 s for their payment.
func shortSale(t *testing.T, c *Client, stock int) string {
	t.Helper()
	body := saleBody(stock)
	body["payment_window"] = 2
	answer, err := c.Call(http.MethodPost, "/api/v1/admin/sales", "operator", "admin", body)
	if err != nil || answer.Status != http.StatusCreated {
		t.Fatalf("create a sale: %d %s %v", answer.Status, answer.Raw, err)
	}
	return answer.Text("id")
}

// latestExpiry gives by how much the last of the orders outlived its time.
func latestExpiry(t *testing.T, n *Node, orders map[string]string) time.Duration {
	t.Helper()
	var late time.Duration
	for order, buyer := range orders {
		payBy := n.AwaitStatus(t, buyer, order, domain.OrderStatusExpired).PayBy
		records, err := n.Store.Find(context.Background(), eventstore.Filter{Type: "order.expired", OrderID: order}, 0, 2)
		if err != nil || len(records) != 1 {
			t.Fatalf("order %s has %d order.expired (%v), want 1", order, len(records), err)
		}
		late = max(late, records[0].RecordedAt.Sub(payBy))
		if early := records[0].RecordedAt.Sub(payBy); early < 0 {
			t.Errorf("order %s expired %s before its time", order, -early)
		}
	}
	return late
}

// TestB33AbandonedHoldsReturnAlthoughTheWorkerIsKilled runs the built program: it
// fails if nothing there sweeps.
func TestB33AbandonedHoldsReturnAlthoughTheWorkerIsKilled(t *testing.T) {
	const held = 50
	rig := NewRig(t)
	child := ServeRig(t, rig)
	observer := rig.Node(t, NodeOptions{APIOnly: true})
	t.Run("nobody is killed", func(t *testing.T) {
		client := NewClient(child.URL)
		sale := shortSale(t, client, held)
		orders := holds(t, client, sale, held)
		late := latestExpiry(t, observer, orders)
		if late > 5*time.Second { // a sweep a second, and a machine that does other things too
			t.Errorf("the last hold came back %s after its time", late)
		}
		t.Logf("the last hold came back %s after its time", late)
		wantEndedOnce(t, observer, orders)
		observer.WantLeft(t, sale, held)
		metrics, err := client.Call(http.MethodGet, "/metrics", "", "", nil)
		if err != nil || !strings.Contains(metrics.Raw, fmt.Sprintf("seckill_orders_expired_total %d\n", held)) {
			t.Errorf("the metrics do not show %d expired orders (%v)", held, err)
		}
		StandingChecks(t, observer, sale, orders)
	})
	for _, point := range []string{"orders.before-commit:20", "append.after-commit:1", "orders.after-commit:1", "orders.after-push:1", ""} {
		t.Run("killed at "+point, func(t *testing.T) {
			child.Restart()
			client := NewClient(child.URL)
			sale := shortSale(t, client, held)
			orders := holds(t, client, sale, held)
			observer.AwaitDecided(t, orders)
			child.Kill()
			if point != "" {
				child.Start("SECKILL_CRASH_AT=" + point)
				child.AwaitEnd(60 * time.Second)
			}
			child.Start()
			child.AwaitReady()
			t.Logf("the last hold came back %s after its time", latestExpiry(t, observer, orders))
			wantEndedOnce(t, observer, orders)
			observer.WantLeft(t, sale, held)
			StandingChecks(t, observer, sale, orders)
		})
	}
}

// brokenLog does not give the streams of some orders.
type brokenLog struct {
	commands.OrdersLog
	mu     sync.Mutex
	broken map[string]bool
}

func (l *brokenLog) ReadStream(ctx context.Context, stream string, after int64, max int) ([]eventstore.Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken[stream] {
		return nil, errors.New("this stream cannot be read")
	}
	return l.OrdersLog.ReadStream(ctx, stream, after, max)
}

func TestAnOrderThatCannotBeEndedStopsNoOtherAndIsTriedAgain(t *testing.T) {
	t.Parallel()
	n, sale := opened(t, 10, func(terms *domain.SaleTerms) { terms.PaymentWindow = 1 })
	orders, all := map[string]string{}, []string{}
	for i := range 5 {
		buyer := fmt.Sprintf("u%d", i)
		all = append(all, n.Placed(t, sale, buyer, 1))
		orders[all[i]] = buyer
	}
	n.AwaitDue(t, all...)
	log := &brokenLog{OrdersLog: n.Store, broken: map[string]bool{domain.OrderStream(all[0]): true, domain.OrderStream(all[2]): true}}
	broken := *n.Orders
	broken.Log = log
	var sweeps []commands.ExpirySweep
	expirer := commands.NewExpirer(n.Env, &broken, n.Views, commands.ExpirerOptions{
		Page: 2, AtOnce: 1, Alarm: n.Alarms.Raise, Swept: func(s commands.ExpirySweep) { sweeps = append(sweeps, s) },
	})
	sweep := func() commands.ExpirySweep {
		s, err := expirer.Sweep(t.Context())
		if err != nil {
			t.Fatalf("sweep: %v", err)
		}
		return s
	}
	if s := sweep(); s.Expired != 3 || s.Failed != 2 || s.Overdue <= 0 {
		t.Errorf("first sweep: %+v, want 3 expired and 2 that failed", s)
	}
	n.WantLeft(t, sale, 8)
	if s := sweep(); s.Failed != 2 || n.Alarms.Count(commands.AlarmExpiry) != 1 {
		t.Errorf("second sweep: %+v and %d alarms, want the same 2 and one alarm", s, n.Alarms.Count(commands.AlarmExpiry))
	}
	log.mu.Lock()
	clear(log.broken)
	log.mu.Unlock()
	testenv.Eventually(t, 30*time.Second, func() error {
		if s := sweep(); s.Failed > 0 {
			return fmt.Errorf("%d still fail", s.Failed)
		}
		return nil
	})
	if len(sweeps) < 3 {
		t.Errorf("told of %d sweeps, want each", len(sweeps))
	}
	wantEndedOnce(t, n, orders)
	n.WantLeft(t, sale, 10)
	StandingChecks(t, n, sale, orders)
}

func TestAnOrderThatTheViewDoesNotFollowExpiresAllTheSame(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	n := r.Node(t, NodeOptions{})
	terms := Terms(3)
	terms.PaymentWindow = 1
	sale := n.Schedule(t, terms)
	order, seen := n.Placed(t, sale, "u", 1), n.Placed(t, sale, "v", 1)
	n.AwaitDue(t, order, seen)
	// As if its first event had never been applied.
	place, err := n.Store.Find(t.Context(), eventstore.Filter{OrderID: order, Type: "order.placed"}, 0, 1)
	if err != nil || len(place) != 1 {
		t.Fatalf("find the order: %v", err)
	}
	aside(t, r, place[0])
	expirer := commands.NewExpirer(n.Env, n.Orders, n.Views, commands.ExpirerOptions{})
	if s, err := expirer.Sweep(t.Context()); err != nil || s.Expired != 2 {
		t.Errorf("sweep: %+v, %v; want 2 expired", s, err)
	}
	n.WantLeft(t, sale, 3)
	wantEndedOnce(t, n, map[string]string{order: "u", seen: "v"})
}

// aside takes an order out of the view and puts its event into the dead letters.
func aside(t *testing.T, r *Rig, e eventstore.Record) {
	t.Helper()
	if _, err := r.Pool.Exec(t.Context(), `delete from order_view where order_id = $1`, e.OrderID); err != nil {
		t.Fatal(err)
	}
	const park = `
insert into dead_letters (projection, version, store, shard, sequence, position, hash, type, state, reason, tries, parked_at)
values ('order_view', 1, 1, $1, $2, $3, $4, $5, $6, 'test', 1, clock_timestamp())`
	shard := eventstore.ShardOf(e.SequenceKey(), eventstore.DefaultShards)
	if _, err := r.Pool.Exec(t.Context(), park, shard, e.OrderID, e.Position, e.Hash[:], e.Type, projections.StateParked); err != nil {
		t.Fatal(err)
	}
}
