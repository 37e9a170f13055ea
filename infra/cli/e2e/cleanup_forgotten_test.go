package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/testenv"
)

// keysOfSale names what Redis holds of a sale of one item.
func (r *Rig) keysOfSale(n *Node, sale string) []string {
	at := fmt.Sprintf("%s:{s%dl%d}:", r.Namespace, n.Env.Store, domain.Place{Store: n.Env.Store, Sale: sale}.Lane())
	return []string{at + "sale:" + sale + ":0", at + "stock:" + sale + ":item:0"}
}

// Nobody looked after the gate for so long that it forgot a sale which was never
// cleaned up. What it had accepted stands in the journal, and is recorded.
func TestASaleThatTheGateForgotIsBuiltAgainAndLosesNothing(t *testing.T) {
	t.Parallel()
	r, full, sale := selling(t, 10)
	orders := full.soldAndPaid(t, sale, "buyer", 3)
	client := r.client(t)
	testenv.Eventually(t, 20*time.Second, func() error { // the keeper has seen to it
		for _, key := range r.keysOfSale(full, sale) {
			left, err := client.PTTL(context.Background(), key).Result()
			if err == nil && left < 14*24*time.Hour {
				err = fmt.Errorf("%s goes in %s, want 14 days after the end", key, left)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	full.Stop()
	node := r.Node(t, NodeOptions{APIOnly: true})
	orders[node.accepted(t, sale, "unrecorded", 1)] = "unrecorded"
	node.Stop()
	for _, key := range r.keysOfSale(full, sale) {
		if err := client.PExpire(context.Background(), key, time.Millisecond).Err(); err != nil {
			t.Fatal(err)
		}
	}
	testenv.Eventually(t, 10*time.Second, func() error {
		if left, err := client.Exists(context.Background(), r.keysOfSale(full, sale)...).Result(); err != nil || left > 0 {
			return fmt.Errorf("%d keys are there, %v", left, err)
		}
		return nil
	})
	full = r.Node(t, NodeOptions{})
	full.AwaitOpen(t, sale)
	epoch := full.lane(t, sale).Epoch
	StandingChecks(t, full, sale, orders)
	if got := readFold(t, full.Store).placed(sale); got != 4 {
		t.Errorf("%d orders placed, want all 4", got)
	}
	if got := full.lane(t, sale).Epoch; got != epoch {
		t.Errorf("the lane has epoch %d, want no second recovery since %d", got, epoch)
	}
}

func TestASaleThatNobodyCleanedUpIsCleanedUpLongAfterItsEnd(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	n := r.Node(t, NodeOptions{})
	terms := Terms(5)
	terms.ClosesAt = time.Now().Add(4 * time.Second)
	sale, waiting := n.Schedule(t, terms), n.Schedule(t, terms)
	n.soldAndPaid(t, sale, "buyer", 2)
	open := n.Placed(t, waiting, "slow", 1)
	n.Schedule(t, Terms(5)) // it goes on
	auto := &commands.AutoCleanup{Env: n.Env, Sales: n.Sales, After: time.Second, Clean: n.cleanup().Clean}
	sweep := func(want int) {
		t.Helper()
		done := 0
		testenv.Eventually(t, 30*time.Second, func() error {
			cleaned, err := auto.Sweep(context.Background())
			if done += cleaned; err == nil && done < want {
				err = errors.New("not cleaned up yet")
			}
			return err
		})
		if done != want {
			t.Errorf("cleaned up %d sales, want %d", done, want)
		}
	}
	sweep(1)
	n.WantGone(t, sale)
	if seen := readFold(t, n.Store).sales[waiting]; seen.Cleaned {
		t.Error("a sale with an open order was cleaned up")
	}
	if _, err := n.Pay(open, "late", 1); err != nil {
		t.Fatal(err)
	}
	sweep(1)
	n.WantGone(t, waiting)
}
