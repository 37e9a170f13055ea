package e2e

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// traffic is everything that can happen to a sale, all of it at once and as fast
// as the machine lets it: purchases of ever new buyers, cancellations, payments,
// failed payments, expiries, releases, and gates built again from the log.
type traffic struct {
	t     testing.TB
	node  *Node
	sale  string
	until chan struct{}
	all   sync.WaitGroup

	buyers      atomic.Int64
	withdrawals atomic.Int64
	accepted    sync.Map // order → buyer
	did         [trafficKinds]atomic.Int64
}

// What traffic counts.
const (
	didBuy = iota
	didCancel
	didPay
	didFail
	didExpire
	didRelease
	didWithdraw
	didTranche
	didRehydrate
	trafficKinds
)

// newTraffic begins; stop ends it. Without rehydration the lanes stay open.
func newTraffic(t testing.TB, n *Node, sale string, rehydrate bool) *traffic {
	x := &traffic{t: t, node: n, sale: sale, until: make(chan struct{})}
	for range 24 {
		x.run(0, x.buy)
	}
	x.run(50*time.Millisecond, x.release)
	x.run(70*time.Millisecond, x.withdraw)
	tranches := n.tranches()
	x.run(50*time.Millisecond, func(ctx context.Context) error { _, err := tranches.Sweep(ctx); return x.tolerated(err) })
	x.run(200*time.Millisecond, x.expire)
	if rehydrate {
		x.run(3*time.Second, x.rehydrate)
	}
	return x
}

// run does something again and again until the traffic stops.
func (x *traffic) run(every time.Duration, do func(ctx context.Context) error) {
	x.all.Go(func() {
		for {
			select {
			case <-x.until:
				return
			case <-time.After(every):
			}
			if err := do(context.Background()); err != nil {
				x.t.Errorf("traffic: %v", err)
				return
			}
		}
	})
}

// stop ends the traffic and gives what was accepted.
func (x *traffic) stop() map[string]string {
	close(x.until)
	x.all.Wait()
	all := map[string]string{}
	x.accepted.Range(func(order, buyer any) bool {
		all[order.(string)] = buyer.(string)
		return true
	})
	return all
}

// buy lets a new buyer buy, and then decides by chance what becomes of the order.
func (x *traffic) buy(ctx context.Context) error {
	buyer := fmt.Sprintf("soak-%d", x.buyers.Add(1))
	res, err := x.node.BuyByTicket(x.sale, buyer)
	switch {
	case err != nil:
		return nil // the gate was closed in this moment; nothing was promised
	case res.Outcome != domain.Reserved:
		return nil
	}
	x.accepted.Store(res.Order.ID, buyer)
	x.did[didBuy].Add(1)
	return x.fate(ctx, buyer, res.Order.ID)
}

func (x *traffic) fate(ctx context.Context, buyer, order string) error {
	var err error
	kind := -1
	try := func(k int, do func() error) {
		kind = k
		for range 50 { // it is accepted before it is recorded
			var p *domain.Problem
			if err = do(); !errors.As(err, &p) || p.Code != domain.CodeInProgress {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	switch rand.IntN(5) {
	case 0, 1:
		try(didCancel, func() error { _, err := x.node.Orders.Cancel(ctx, buyer, order, ""); return err })
	case 2:
		try(didPay, func() error { _, err := x.node.Pay(order, "pay-"+order, 1); return err })
	case 3:
		try(didFail, func() error { _, err := x.node.FailPay(order, "fail-"+order); return err })
	}
	var wrong *commands.WrongStateError
	var p *domain.Problem
	if kind < 0 || errors.As(err, &wrong) || errors.As(err, &p) {
		return nil // it expired or was rejected before, or its lane recovers
	}
	if err == nil {
		x.did[kind].Add(1)
	}
	return err
}

func (x *traffic) release(ctx context.Context) error {
	_, err := x.node.Operator.Release(ctx, commands.Release{Sale: x.sale, SKU: "item", Quantity: 5}, commands.Actor{By: "soak"})
	if err == nil {
		x.did[didRelease].Add(1)
	}
	var p *domain.Problem
	if errors.As(err, &p) {
		return nil // somebody else changed the sale
	}
	return err
}

// tranches are a node's releases by plan.
func (n *Node) tranches() *commands.Tranches {
	return commands.NewTranches(n.Env, n.Sales, n.Store, n.Follower, commands.TrancheOptions{Alarm: n.Alarms.Raise})
}

// withdraw takes units off sale that nobody has, every other time under a key that was
// used before.
func (x *traffic) withdraw(ctx context.Context) error {
	key := fmt.Sprint("withdrawal-", x.withdrawals.Add(1)/2)
	asked := commands.Release{Sale: x.sale, SKU: "item", Quantity: -2, Key: key}
	_, err := x.node.Operator.Release(ctx, asked, commands.Actor{By: "soak"})
	if err == nil {
		x.did[didWithdraw].Add(1)
	}
	return x.tolerated(err)
}

// tolerated leaves out what says that nothing was done now.
func (x *traffic) tolerated(err error) error {
	var p *domain.Problem
	var away *commands.GateError
	if errors.As(err, &p) || errors.As(err, &away) || errors.Is(err, commands.ErrHashMissing) || errors.Is(err, commands.ErrNotPrefix) {
		return nil // fewer are left, or the lane recovers
	}
	return err
}

// tranched gives terms whose stock comes in parts of 50 units, two in a second.
func tranched(terms domain.SaleTerms) domain.SaleTerms {
	item := &terms.Items[0]
	for i := range domain.MaxTranches {
		item.Release = append(item.Release, domain.Tranche{At: time.Now().Truncate(time.Microsecond).Add(time.Duration(i) * time.Second / 2), Quantity: 50})
	}
	item.Stock += 50 * domain.MaxTranches
	return terms
}

func (x *traffic) expire(ctx context.Context) error {
	s, err := commands.NewExpirer(x.node.Env, x.node.Orders, x.node.Views, commands.ExpirerOptions{}).Sweep(ctx)
	x.did[didExpire].Add(int64(s.Expired))
	return err
}

func (x *traffic) rehydrate(ctx context.Context) error {
	_, err := x.node.Keeper.Rehydrate(ctx, x.sale, nil)
	if err == nil {
		x.did[didRehydrate].Add(1)
	}
	var away *commands.GateError
	if errors.Is(err, commands.ErrOvertaken) || errors.As(err, &away) {
		return nil // the lane keeper finishes it
	}
	return err
}

// told says what happened, for a test's log.
func (x *traffic) told() string {
	names := [trafficKinds]string{"purchases", "cancels", "payments", "failed payments", "expiries", "releases", "withdrawals", "tranches", "rehydrates"}
	text := ""
	for i, name := range names {
		text += fmt.Sprintf("%d %s, ", x.did[i].Load(), name)
	}
	return text
}
