package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"seckill/api/client"
)

// A node that takes one purchase at once tells the others to come again, and all of
// them buy.
func TestABusyNodeSellsToEveryPatientClient(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	child := ServeRig(t, r, "SECKILL_ADMISSION_FLOOR=1", "SECKILL_ADMISSION_CAP=1", "SECKILL_ADMISSION_QUEUE=0")
	crowd := crowdOfClients(t, child.URL, NewClient(child.URL).CreateSale(t, 1000), 32)
	for range 20 {
		crowd.round()
		if crowd.told(client.CodeBusy) > 0 {
			break
		}
	}
	if crowd.told(client.CodeBusy) == 0 {
		t.Error("nobody was told that the node is busy")
	}
	StandingChecks(t, r.Node(t, NodeOptions{APIOnly: true}), crowd.sale, crowd.promised)
}

// Nodes behind a balancer, and one that clients ask by itself, are told to stop and are
// started again: no client sees an error.
func TestARollingRestartIsNothingToTheGoClient(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	nodes := []*Child{ServeRig(t, r), ServeRig(t, r)}
	sale := NewClient(nodes[0].URL).CreateSale(t, 100_000)
	for _, url := range []string{newBalancer(t, nodes).url, nodes[0].URL} {
		crowd := crowdOfClients(t, url, sale, 4)
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			for ctx.Err() == nil || crowd.rounds < 3 {
				crowd.round()
			}
		})
		for _, node := range nodes {
			if code := node.Stop(); code != 0 {
				t.Errorf("a node ends with %d when it is told to stop", code)
			}
			node.Start()
			node.AwaitReady()
		}
		nodes[0].Kill() // and one dies
		nodes[0].Start()
		nodes[0].AwaitReady()
		stop()
		all.Wait()
		node := r.Node(t, NodeOptions{APIOnly: true})
		node.AwaitDecided(t, crowd.promised)
		if len(crowd.promised) < 10 {
			t.Errorf("only %d orders", len(crowd.promised))
		}
		StandingChecks(t, node, sale, crowd.promised)
		node.Stop()
	}
}

// clients are a crowd of buyers who each buy one unit in every round.
type clients struct {
	t         *testing.T
	url, sale string
	n, rounds int

	mu       sync.Mutex
	spies    []*spy
	promised map[string]string
}

func crowdOfClients(t *testing.T, url, sale string, n int) *clients {
	return &clients{t: t, url: url, sale: sale, n: n, promised: map[string]string{}}
}

// round lets n new buyers buy and follow their orders.
func (c *clients) round() {
	c.rounds++
	var all sync.WaitGroup
	for i := range c.n {
		buyer := fmt.Sprintf("%s-%d-%d", c.url[len(c.url)-5:], c.rounds, i)
		buys, s := behaving(c.t, c.url, buyer, client.Options{Tries: 100})
		c.spies = append(c.spies, s)
		all.Go(func() {
			bought, err := buys.Purchase(patience(c.t), c.sale, oneUnit)
			if err != nil {
				c.t.Errorf("%s buys: %v", buyer, err)
				return
			}
			c.mu.Lock()
			c.promised[bought.OrderID] = buyer
			c.mu.Unlock()
			if order, err := buys.AwaitOrder(patience(c.t), bought.OrderID); err != nil || order.Status != client.StatusPlaced {
				c.t.Errorf("%s waits: got %+v, %v; want it placed", buyer, order, err)
			}
			s.obeyed(c.t)
		})
	}
	all.Wait()
}

// told counts answers with a code.
func (c *clients) told(code string) int {
	n := 0
	for _, s := range c.spies {
		n += s.codes()[code]
	}
	return n
}
