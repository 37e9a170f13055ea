package e2e

import (
	"context"
	"testing"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/testenv"
)

// replaceRedis lets a copy of Redis take the place of what it holds.
func (r *Rig) replaceRedis(copied testenv.Snapshot) {
	r.Redis.Kill()
	r.Redis.Restore(copied)
	r.Redis.Restart()
}

// A Redis from before the clean-up comes back: its keys belong to nobody.
func TestARedisFromBeforeTheCleanUpBringsNothingBack(t *testing.T) {
	t.Parallel()
	r, n, sale := selling(t, 10)
	beside := n.ScheduleBeside(t, sale, 10)
	n.soldAndPaid(t, sale, "buyer", 4)
	accepted := n.soldAndPaid(t, beside, "beside", 2)
	older := r.Redis.Snapshot()
	n.CloseSale(t, sale)
	n.CleanUp(t, sale)
	for order, buyer := range n.soldAndPaid(t, beside, "later", 2) {
		accepted[order] = buyer
	}
	r.replaceRedis(older)
	if res, err := n.Buy(sale, "too-late"); err != nil || res.Outcome != domain.Ended {
		t.Errorf("a purchase while it recovers: got %s, %v; want ended", res.Outcome, err)
	}
	n.AwaitOpen(t, beside)
	n.WantGone(t, sale)
	StandingChecks(t, n, beside, accepted)
	// The journal came back too: it is cut again with the next clean-up.
	n.CloseSale(t, beside)
	n.CleanUp(t, beside)
	if left := n.journalOf(t, domain.Place{Store: n.Env.Store, Sale: sale}.Lane()); len(left) != 0 {
		t.Errorf("%d entries are left in the journal, want none", len(left))
	}
}

// No sale is left in the lane, so nobody recovers it: what came back goes all the
// same.
func TestWhatComesBackIntoALaneThatNobodyNeedsIsTakenAway(t *testing.T) {
	t.Parallel()
	r, n, sale := selling(t, 10)
	n.soldAndPaid(t, sale, "buyer", 2)
	older := r.Redis.Snapshot()
	n.CloseSale(t, sale)
	n.CleanUp(t, sale)
	r.replaceRedis(older)
	n.WantGone(t, sale)
	n.wantIssuedButUnknownIsLost(t, sale)
}

// A copy of Redis that was thought gone holds a purchase that nobody recorded. It
// comes back after the sale was cleaned up: the books stay closed, and the buyer
// is told.
func TestAPurchaseThatComesToLightAfterTheCleanUpIsLost(t *testing.T) {
	t.Parallel()
	r, full, sale := selling(t, 10)
	beside := full.ScheduleBeside(t, sale, 10)
	full.soldAndPaid(t, sale, "buyer", 2)
	full.Stop()
	without := r.Redis.Snapshot()
	node := r.Node(t, NodeOptions{APIOnly: true})
	order := node.accepted(t, sale, "unlucky", 1) // nobody records
	with := r.Redis.Snapshot()
	node.Stop()
	r.replaceRedis(without)
	full = r.Node(t, NodeOptions{})
	full.AwaitOpen(t, sale)
	full.CloseSale(t, sale)
	full.CleanUp(t, sale)
	r.replaceRedis(with)
	full.AwaitOpen(t, beside)
	answer := full.AwaitStatus(t, "unlucky", order, domain.OrderStatusRejected)
	if answer.Reason != domain.RejectedLost {
		t.Errorf("got reason %s, want lost", answer.Reason)
	}
	f := readFold(t, full.Store)
	if f.placed(sale) != 2 || f.decided[order] != 1 {
		t.Errorf("the log: %d placed and %d decisions about it, want 2 and 1", f.placed(sale), f.decided[order])
	}
	full.WantGone(t, sale)
	StandingChecks(t, full, beside, full.soldAndPaid(t, beside, "beside", 2))
	if claims, err := full.Store.SaleClaims(context.Background(), sale, eventstore.Claim{}, 10); err != nil || len(claims) != 2 {
		t.Errorf("claims: got %v, %v; want those of the two buyers", claims, err)
	}
}
