package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"seckill/infra/embedded"
	"seckill/infra/pg"
)

// ObserveOptions say where a program under test keeps its private stores.
type ObserveOptions struct {
	Env []string // the program's settings; SECKILL_DATA_DIR is read
	Dir string   // its --data
	// RedisBin is its --redis-bin.
	RedisBin string
	// Alone: the program has ended, so the observer records and keeps lanes itself.
	Alone bool
}

// Observe gives a node on the private stores of a program: those that run now, or
// the same ones started again. Its Stop gives them up.
func Observe(t testing.TB, o ObserveOptions) *Node {
	t.Helper()
	for _, kv := range o.Env {
		if dir, ok := strings.CutPrefix(kv, "SECKILL_DATA_DIR="); ok {
			o.Dir = dir
		}
	}
	stores, err := embedded.Start(t.Context(), embedded.Options{DataDir: o.Dir, NeedPostgres: true, NeedRedis: true, RedisBin: o.RedisBin})
	if err != nil {
		t.Fatalf("open the private stores of %s: %v", o.Dir, err)
	}
	leave := func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := stores.Stop(ctx); err != nil {
			t.Errorf("close the private stores of %s: %v", o.Dir, err)
		}
	}
	t.Cleanup(leave)
	rig := &Rig{URL: stores.DatabaseURL, Namespace: pg.DefaultNamespace}
	n := rig.Node(t, NodeOptions{RedisURL: stores.RedisURL, ProcessToken: stores.ProcessToken, APIOnly: !o.Alone})
	stop := n.stop
	n.stop = func() { stop(); leave() }
	return n
}

// ordersOf gives the orders of a sale by the log, with their buyers.
func ordersOf(t testing.TB, n *Node, sale string) map[string]string {
	t.Helper()
	orders := map[string]string{}
	for id, o := range readFold(t, n.Store).orders {
		if o.SaleID == sale {
			orders[id] = o.BuyerID
		}
	}
	return orders
}
