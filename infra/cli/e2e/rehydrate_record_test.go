package e2e

import (
	"context"
	"errors"
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/testenv"
)

// A record that stands at the right version may still say what nobody decided.
func TestARehydrationMendsWhatAHandWroteIntoTheRecordOfASale(t *testing.T) {
	t.Parallel()
	p := newPlant(t, 4)
	p.do("HSET", p.saleKey(), "limit", "9", "paused", "1", "closes", "1", "b:zed", "no-order-of-ours", "o:made-up", "A|1-1.1|item|zed")
	p.do("HSET", p.stockKey(), "h:made-up", "T|1|zed")
	if _, err := p.node.Keeper.Rehydrate(context.Background(), p.sale, nil); err != nil {
		t.Fatal(err)
	}
	if s, _ := p.reconcile(); s.Drift != 0 {
		t.Errorf("after the rehydration: found %+v, want nothing", s.Findings)
	}
	if res, err := p.node.BuyByTicket(p.sale, "zed"); err != nil || res.Outcome != domain.Reserved {
		t.Errorf("zed buys: got %v, %v, want reserved", res.Outcome, err)
	} else {
		p.orders["zed"] = res.Order.ID
	}
	p.standing()
}

// What a gate has applied and nobody can read, no event follows: the keeper builds
// it again by itself.
func TestTheKeeperBuildsAgainWhatHasAppliedNobodyKnowsWhat(t *testing.T) {
	t.Parallel()
	p := newPlant(t, 4)
	p.do("HSET", p.saleKey(), "applied", "nonsense")
	p.do("HSET", p.stockKey(), "applied", "99:abcd")
	n := p.rig.Node(t, NodeOptions{})
	testenv.Eventually(t, 60*time.Second, func() error {
		report, err := n.Reconciler.Reconcile(context.Background(), p.sale)
		if err == nil && report.Drift() > 0 {
			err = errors.New("not built again yet")
		}
		return err
	})
	n.Stop()
	p.standing()
}
