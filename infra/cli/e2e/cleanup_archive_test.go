package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/testenv"
)

// TestThePartOfACleanedUpSaleLeavesTheLog goes the whole way: sold, paid or
// expired, cleaned up, its part of the log closed, sealed, exported and detached;
// and everything else goes on.
func TestThePartOfACleanedUpSaleLeavesTheLog(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	r.smallFirstPart(t)
	env := append(r.Settings(t), "SECKILL_SEAL_AFTER=300ms", "SECKILL_SEAL_EVERY=20")
	child := Serve(t, ChildOptions{Env: env})
	client := NewClient(child.URL)
	n := r.Node(t, NodeOptions{APIOnly: true})
	terms := Terms(40)
	terms.PaymentWindow = 15
	sale := n.Schedule(t, terms)
	living := n.Schedule(t, Terms(20))
	orders := n.soldAndPaid(t, sale, "buyer", 38)
	idle := n.Placed(t, sale, "idler", 1)
	alive := n.soldAndPaid(t, living, "beside", 2)

	n.CloseSale(t, sale)
	n.AwaitStatus(t, "idler", idle, domain.OrderStatusExpired)
	want := func(code int, says string, args ...string) {
		t.Helper()
		done := Run(t, env, args...)
		if done.Code != code || !strings.Contains(done.Stdout+done.Stderr, says) {
			t.Fatalf("seckill %s: got %d %s %s, want %d and %q", strings.Join(args, " "), done.Code, done.Stdout, done.Stderr, code, says)
		}
	}
	testenv.Eventually(t, 30*time.Second, func() error { // closed and sealed
		done := Run(t, env, "archive", "export", "--json")
		if done.Code != 0 || !strings.Contains(done.Stdout, `"first":1,`) {
			return fmt.Errorf("export: %d %s %s", done.Code, done.Stdout, done.Stderr)
		}
		return nil
	})
	want(1, "has records there and is ", "archive", "detach", "1")
	n.awaitNoDrift(t, sale)
	want(0, "seckill archive detach 1", "cleanup", "--sale", sale)
	want(1, "The sale "+living+" has records there and is open", "archive", "detach", "1")
	n.CloseSale(t, living)
	n.CleanUp(t, living)
	want(0, "out of the log", "archive", "detach", "1")

	archives := filepath.Join(dataDir(env), "archive")
	want(0, "positions 1 to 100 are archived and were not read", "audit", "verify")
	want(0, "from position 1 to", "audit", "verify", "--archive", archives)
	want(1, "give --archive", "rebuild", "order_view")
	want(0, "order_view", "rebuild", "order_view", "--archive", archives)

	// A fresh process knows of the sale only that it is over; the lane lives on.
	child.Restart()
	n = r.Node(t, NodeOptions{APIOnly: true})
	n.wantCleanedUp(t, child.URL, sale, orders)
	n.wantIssuedButUnknownIsLost(t, sale)
	next := n.ScheduleBeside(t, sale, 6)
	more := n.soldAndPaid(t, next, "next", 3)
	r.Redis.Kill()
	r.Redis.Wipe()
	r.Redis.Restart()
	n.AwaitOpen(t, next)
	for order, buyer := range n.soldAndPaid(t, next, "after", 3) {
		more[order] = buyer
	}
	n.wantAllPaid(t, more)
	n.wantAllPaid(t, alive)
	n.awaitNoDrift(t, next)
	n.WantGone(t, sale)
	if list, err := client.Call("GET", "/api/v1/sales", "", "", nil); err != nil || list.Status != 200 || !strings.Contains(list.Raw, next) {
		t.Errorf("the list of sales: got %+v, %v; want it answered", list, err)
	}
	n.CloseSale(t, next)
	n.CleanUp(t, next)
}

// smallFirstPart gives the log a first partition of 100 positions.
func (r *Rig) smallFirstPart(t *testing.T) {
	t.Helper()
	if _, err := r.Pool.Exec(context.Background(), "select ensure_partitions(1, 100)"); err != nil {
		t.Fatal(err)
	}
}

// wantAllPaid asks for orders as their buyers do.
func (n *Node) wantAllPaid(t *testing.T, orders map[string]string) {
	t.Helper()
	for order, buyer := range orders {
		n.AwaitStatus(t, buyer, order, domain.OrderStatusPaid)
	}
}
