package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/pg/pgtest"
	"seckill/infra/testenv"
)

// failing is an installation on Redis servers that fail under load: a node that does
// everything, one that only serves buyers, and a sale that is open.
type failing struct {
	full, api *Node
	sale      string
	laneKey   string
}

const failingStock = 400

func newFailing(t *testing.T, redisURL string, buckets int) failing {
	t.Helper()
	pool, url, namespace := pgtest.New(t)
	rig := &Rig{Pool: pool, URL: url, Namespace: namespace}
	f := failing{full: rig.Node(t, NodeOptions{RedisURL: redisURL}), api: rig.Node(t, NodeOptions{RedisURL: redisURL, APIOnly: true})}
	terms := Terms(failingStock)
	terms.Buckets = buckets
	f.sale = f.full.Schedule(t, terms)
	f.laneKey = fmt.Sprintf("%s:{s%dl%d}:lane", namespace, f.full.Env.Store, f.lane())
	return f
}

// sellThrough lets buyers buy one after the other at both nodes, each again until told,
// while break happens in the middle; and then until everything is sold.
func (f failing) sellThrough(t *testing.T, breakIt func()) *tally {
	t.Helper()
	c := newTally()
	var accepted, buyers atomic.Int64
	var soldOut atomic.Bool
	middle := make(chan struct{})
	var all sync.WaitGroup
	end := time.Now().Add(3 * time.Minute)
	for i := range 8 {
		node := []*Node{f.full, f.api}[i%2]
		all.Go(func() {
			for !soldOut.Load() && time.Now().Before(end) {
				buyer := fmt.Sprintf("b-%d", buyers.Add(1))
				res, err := node.Buy(f.sale, buyer)
				for err != nil && time.Now().Before(end) { // 503: the buyer presses again
					time.Sleep(20 * time.Millisecond)
					res, err = node.Buy(f.sale, buyer)
				}
				c.add(buyer, res, err)
				if err == nil && res.Outcome == domain.SoldOut {
					soldOut.Store(true)
				}
				if accepted.Add(1) == failingStock/4 {
					close(middle)
				}
				time.Sleep(10 * time.Millisecond) // so that some are left when it breaks
			}
		})
	}
	<-middle
	breakIt()
	all.Wait()
	return c
}

// check wants every unit sold, once, and to those who were told so.
func (f failing) check(t *testing.T, c *tally) {
	t.Helper()
	f.full.AwaitDecided(t, c.accepted)
	for i := range failingStock { // what came back from orders that nobody could be told of
		res, err := f.full.Buy(f.sale, fmt.Sprintf("late-%d", i))
		if err == nil && res.Outcome == domain.SoldOut {
			break
		}
		c.add(fmt.Sprintf("late-%d", i), res, err)
	}
	StandingChecks(t, f.full, f.sale, c.accepted)
	log := readFold(t, f.full.Store)
	if got := log.placed(f.sale); got != failingStock {
		t.Errorf("%d orders placed, want all %d units sold", got, failingStock)
	}
	for order := range c.accepted {
		if o := log.orders[order]; o.Status != domain.OrderStatusPlaced {
			t.Errorf("accepted order %s ended %s (%s), want placed", order, o.Status, o.Reason)
		}
	}
	if c.outcomes[domain.Reserved] < failingStock {
		t.Errorf("%d purchases were accepted, want %d or more", c.outcomes[domain.Reserved], failingStock)
	}
	for _, err := range c.errors {
		t.Errorf("a buyer was never told: %v", err)
	}
}

// lane is the lane of the sale's first bucket.
func (f failing) lane() int { return domain.Place{Store: f.full.Env.Store, Sale: f.sale}.Lane() }

// epoch is the epoch of that lane.
func (f failing) epoch(t *testing.T) int64 {
	t.Helper()
	state, err := f.full.Gate.Lane(context.Background(), f.lane())
	if err != nil {
		t.Fatal(err)
	}
	return state.Epoch
}

func TestAMasterOfAClusterDiesUnderLoad(t *testing.T) {
	t.Parallel()
	cluster := testenv.PrivateRedisCluster(t, 1)
	f := newFailing(t, cluster.URL, 1)
	before := f.epoch(t)
	c := f.sellThrough(t, func() { cluster.Fail(f.laneKey) })
	f.check(t, c)
	if f.epoch(t) <= before {
		t.Error("the lane sold on without a recovery")
	}
}

func TestPurchasesThatNoReplicaHeardOfAreNotForgotten(t *testing.T) {
	t.Parallel()
	cluster := testenv.PrivateRedisCluster(t, 1)
	f := newFailing(t, cluster.URL, 1)
	left := func() int64 { return f.full.available(t, f.sale) }
	var heard, unheard int64
	c := f.sellThrough(t, func() {
		cluster.CutOff(f.laneKey)
		heard = left()
		testenv.Eventually(t, 30*time.Second, func() error {
			if unheard = heard - left(); unheard < 30 {
				return fmt.Errorf("%d units were sold since the replica hears nothing", unheard)
			}
			return nil
		})
		cluster.Fail(f.laneKey)
	})
	f.check(t, c)
}

// TestASaleOfManyBucketsOutlivesTheDeathOfAMaster: some of its buckets die, and the
// others are levelled with them when they are back.
func TestASaleOfManyBucketsOutlivesTheDeathOfAMaster(t *testing.T) {
	t.Parallel()
	cluster := testenv.PrivateRedisCluster(t, 1)
	f := newFailing(t, cluster.URL, 6)
	masters := map[*testenv.RedisServer]bool{}
	for bucket := range 6 {
		place := domain.Place{Store: f.full.Env.Store, Sale: f.sale, Bucket: bucket}
		masters[cluster.Master(strings.Replace(f.laneKey, fmt.Sprintf("l%d}", f.lane()), fmt.Sprintf("l%d}", place.Lane()), 1))] = true
	}
	if len(masters) < 2 {
		t.Errorf("the buckets live on %d masters, want several", len(masters))
	}
	before := f.epoch(t)
	c := f.sellThrough(t, func() { cluster.Fail(f.laneKey) })
	f.check(t, c)
	if f.epoch(t) <= before {
		t.Error("the lane sold on without a recovery")
	}
}

func TestASlotOfAClusterMovesUnderLoad(t *testing.T) {
	t.Parallel()
	cluster := testenv.PrivateRedisCluster(t, 0)
	f := newFailing(t, cluster.URL, 1)
	before := f.epoch(t)
	moved := 0
	c := f.sellThrough(t, func() { moved = cluster.MoveSlot(f.laneKey) })
	f.check(t, c)
	if f.epoch(t) <= before || moved < 4 {
		t.Errorf("the lane of %d moved keys sold on without a recovery", moved)
	}
}

func TestAMasterThatASentinelWatchesDiesUnderLoad(t *testing.T) {
	t.Parallel()
	watched := testenv.PrivateSentinel(t)
	f := newFailing(t, watched.URL, 1)
	before := f.epoch(t)
	c := f.sellThrough(t, func() { watched.Fail(t) })
	f.check(t, c)
	if f.epoch(t) <= before {
		t.Error("the lane sold on without a recovery")
	}
}
