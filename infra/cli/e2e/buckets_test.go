package e2e

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"seckill/commands"
	"seckill/domain"
)

func TestEveryUnitOfManyBucketsIsSoldToTheBuyersOfOne(t *testing.T) {
	n, sale := opened(t, 300, buckets(8))
	buyers := buyersOf(sale, 8, 400, 3)
	c := buyUntilTold(t, []*Node{n}, sale, buyers, 50)
	c.want(t, domain.Reserved, 300)
	c.want(t, domain.SoldOut, 100)
	if left, each := n.unitsLeft(t, sale); left != 0 {
		t.Errorf("%d units left in %v, want none", left, each)
	}
	out, in, _, units := n.movesOf(t, sale)
	if out != in || out == 0 {
		t.Errorf("%d moves out and %d in, want as many of both and some", out, in)
	}
	t.Logf("%d moves of %d units", out, units)
	StandingChecks(t, n, sale, c.accepted)
}

func TestUnitsOfManyBucketsAreWithdrawnTogetherOrNotAtAll(t *testing.T) {
	n, sale := opened(t, 100, buckets(8))
	c := buyUntilTold(t, []*Node{n}, sale, buyersOf(sale, 8, 30, 2, 5), 10)
	c.want(t, domain.Reserved, 30)
	for range 2 {
		if done, err := n.withdraw(sale, "one", 60); err != nil || done != (commands.Released{Released: 100, Available: 10}) {
			t.Fatalf("withdraw 60 of 100 with 30 sold: got %+v, %v; want 10 left", done, err)
		}
	}
	if _, err := n.withdraw(sale, "two", 11); !isProblem(err, domain.CodeBelowReserved) {
		t.Errorf("11 of the 10 left: got %v, want below_reserved", err)
	}
	done, err := n.Operator.Release(context.Background(), commands.Release{Sale: sale, SKU: "item", Quantity: 7, Key: "more"}, commands.Actor{By: "test"})
	if err != nil || done != (commands.Released{Released: 107, Available: 17}) {
		t.Errorf("release 7: got %+v, %v; want 107 released and 17 left", done, err)
	}
	if events, units := n.withdrawals(t, sale); events != 1 || units != 60 {
		t.Errorf("the log has %d withdrawals of %d units, want one of 60", events, units)
	}
	rest := buyUntilTold(t, []*Node{n}, sale, buyersOf(sale, 8, 40, 0), 10)
	rest.want(t, domain.Reserved, 17)
	rest.want(t, domain.SoldOut, 23)
	for order, buyer := range rest.accepted {
		c.accepted[order] = buyer
	}
	StandingChecks(t, n, sale, c.accepted)
	report, err := n.Reconciler.Reconcile(context.Background(), sale)
	if err != nil || len(report.Sales) != 1 || report.Sales[0].Totals != (commands.Totals{Released: 107, Reserved: 107}) {
		t.Errorf("reconciled: got %+v, %v; want 107 released and as many taken, moves on neither side", report.Sales, err)
	}
}

func TestSeveralUnitsAndLinesComeTogether(t *testing.T) {
	n, sale := opened(t, 10, buckets(10, func(terms *domain.SaleTerms) {
		other := terms.Items[0]
		other.SKU, other.Stock = "other", 6
		terms.Items = append(terms.Items, other)
		terms.LimitPerBuyer = 10
	}))
	lines := []domain.Line{{SKU: "item", Quantity: 3}, {SKU: "other", Quantity: 2}}
	c := buyUntilTold(t, []*Node{n}, sale, buyersOf(sale, 10, 8, 1, 7), 8, lines...)
	c.want(t, domain.Reserved, 3)
	c.want(t, domain.SoldOut, 5)
	if left, each := n.unitsLeft(t, sale); left != 1 {
		t.Errorf("%v left of 10 after three times three, want 1", each)
	}
	last := buyUntilTold(t, []*Node{n}, sale, []string{"last"}, 1)
	last.want(t, domain.Reserved, 1)
	for order, buyer := range last.accepted {
		c.accepted[order] = buyer
	}
	StandingChecks(t, n, sale, c.accepted)
}

func TestLimitsHoldAcrossBucketsAndProcesses(t *testing.T) {
	rig := NewRig(t)
	nodes := []*Node{rig.Node(t, NodeOptions{}), rig.Node(t, NodeOptions{APIOnly: true})}
	terms := Terms(40)
	terms.Buckets = 6
	sale := nodes[0].Schedule(t, terms)
	var buyers []string
	for i := range 200 { // each of 20 buyers ten times
		buyers = append(buyers, buyersOf(sale, 6, 20, 0, 4)[i%20])
	}
	c := buyUntilTold(t, nodes, sale, buyers, 20)
	if len(c.accepted) != 20 || c.outcomes[domain.SoldOut] != 0 {
		t.Errorf("%d orders of 20 buyers, %v told; want one each", len(c.accepted), c.outcomes)
	}
	more := buyUntilTold(t, nodes, sale, buyersOf(sale, 6, 60, 0, 4)[20:], 20)
	more.want(t, domain.Reserved, 20)
	more.want(t, domain.SoldOut, 20)
	for order, buyer := range more.accepted {
		c.accepted[order] = buyer
	}
	StandingChecks(t, nodes[0], sale, c.accepted)
}

func TestUnitsOnTheirWayAreBusyAndNeverSoldOut(t *testing.T) {
	rig := NewRig(t)
	first := rig.Node(t, NodeOptions{})
	terms := Terms(4) // one in each of the first four buckets
	terms.Buckets = 8
	sale := first.Schedule(t, terms)
	buyers := buyersOf(sale, 8, 8, 6)
	first.Stop() // from now nobody records
	n := rig.Node(t, NodeOptions{APIOnly: true})
	for _, buyer := range buyers {
		if res, err := n.Buy(sale, buyer); !isProblem(err, domain.CodeBusy) {
			t.Errorf("%s, while nothing lands: got %v, %v; want busy", buyer, res.Outcome, err)
		}
	}
	shower := &commands.Shower{Env: n.Env, Sales: n.Sales, Gate: n.Gate, Guards: n.Store}
	if shown, err := shower.Show(context.Background(), sale); err != nil || shown.SoldOut["item"] {
		t.Errorf("shown %+v, %v; want not sold out while units are on their way", shown.SoldOut, err)
	}
	last := rig.Node(t, NodeOptions{})
	c := buyUntilTold(t, []*Node{n, last}, sale, buyers, 4)
	c.want(t, domain.Reserved, 4)
	c.want(t, domain.SoldOut, 4)
	StandingChecks(t, last, sale, c.accepted)
	shower = &commands.Shower{Env: n.Env, Sales: n.Sales, Gate: n.Gate, Guards: n.Store}
	if shown, err := shower.Show(context.Background(), sale); err != nil || !shown.SoldOut["item"] {
		t.Errorf("shown %+v, %v; want sold out", shown.SoldOut, err)
	}
}

func TestASaleIsSoldOutAlthoughOthersInItsLanesSell(t *testing.T) {
	n := NewRig(t).Node(t, NodeOptions{})
	terms := Terms(50)
	terms.Buckets = 16
	small := n.Schedule(t, terms)
	terms = Terms(1_000_000)
	terms.Buckets = 128 // in most lanes
	large := n.Schedule(t, terms)
	over := make(chan struct{})
	var others sync.WaitGroup
	var sold atomic.Int64
	for worker := range 2 {
		others.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-over:
					return
				default:
				}
				if res, err := n.Buy(large, fmt.Sprintf("other-%d-%d", worker, i)); err == nil && res.Outcome == domain.Reserved {
					sold.Add(1)
				}
			}
		})
	}
	c := buyUntilTold(t, []*Node{n}, small, buyersOf(small, 16, 200, 9, 10), 20)
	before := sold.Load()
	late := buyUntilTold(t, []*Node{n}, small, buyersOf(small, 16, 400, 9, 10)[200:], 20)
	if n := sold.Load() - before; n == 0 {
		t.Error("the other sale sold nothing meanwhile")
	}
	close(over)
	others.Wait()
	c.want(t, domain.Reserved, 50)
	c.want(t, domain.SoldOut, 150)
	late.want(t, domain.SoldOut, 200)
}

func TestASaleOfManyBucketsIsCleanedUp(t *testing.T) {
	n, sale := opened(t, 30, buckets(5))
	c := buyUntilTold(t, []*Node{n}, sale, buyersOf(sale, 5, 40, 4), 10)
	c.want(t, domain.Reserved, 30)
	n.AwaitDecided(t, c.accepted)
	if out, in, _, _ := n.movesOf(t, sale); out == 0 || out != in {
		t.Fatalf("%d moves out and %d in, want some", out, in)
	}
	n.payAll(t, c.accepted)
	head, err := n.Store.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	past, err := commands.AsOf(context.Background(), n.Store, commands.AsOfScope{Sale: sale}, head.Number)
	if err != nil {
		t.Fatal(err)
	}
	var left int64
	for _, stock := range past.Stocks {
		left += stock.Left()
	}
	if left != 0 || len(past.Stocks) != 5 {
		t.Errorf("as of now %d left in %d buckets, want none in 5", left, len(past.Stocks))
	}
	n.CloseSale(t, sale)
	n.CleanUp(t, sale)
	n.WantGone(t, sale)
	checkAudit(t, n)
}
