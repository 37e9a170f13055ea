package e2e

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/testenv"
)

func TestASaleIsCleanedUpOnceNothingOfItIsUnderWay(t *testing.T) {
	t.Parallel()
	_, n, sale := selling(t, 10)
	paid, over := n.Placed(t, sale, "payer", 1), n.Placed(t, sale, "idler", 1)
	clean := func() error {
		_, err := n.cleanup().Clean(context.Background(), sale, commands.Actor{By: "test"})
		return err
	}
	wantProblem(t, clean(), domain.CodeNotEnded) // it is open
	n.CloseSale(t, sale)
	wantProblem(t, clean(), domain.CodeNotEnded) // two orders wait
	if _, err := n.Pay(paid, "payment", 1); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, clean(), domain.CodeNotEnded) // one does
	if _, err := n.Orders.Cancel(context.Background(), "idler", over, "trace"); err != nil {
		t.Fatal(err)
	}
	lane := domain.Place{Store: n.Env.Store, Sale: sale}.Lane()
	last := n.lane(t, sale).Last
	found := n.CleanUp(t, sale)
	for _, name := range []string{"ended", "reconciled", "recorded", "log", "gate", "journal", "partition"} {
		if found[name] == "" {
			t.Errorf("item %s: got nothing, in %v", name, found)
		}
	}
	if left := n.journalOf(t, lane); len(left) != 0 || n.lane(t, sale).Cut.ID != last || n.lane(t, sale).Last != last {
		t.Errorf("the journal: got %d entries and cut %s, want none behind %s", len(left), n.lane(t, sale).Cut.ID, last)
	}
	n.WantGone(t, sale)
	n.wantOwnersMeetTheirOrders(t, sale, map[string]domain.OrderStatus{"payer": domain.OrderStatusPaid, "idler": domain.OrderStatusCancelled})
	n.wantIssuedButUnknownIsLost(t, sale)
	head := readFold(t, n.Store)
	if !head.sales[sale].Cleaned || countOf(t, n, "sale.cleaned", "") != 1 {
		t.Errorf("the log: got %+v, want it cleaned up once", head.sales[sale])
	}
	again := n.CleanUp(t, sale)
	if again["ended"] != found["ended"] || again["gate"] != "nothing of the sale is there" || readFold(t, n.Store).head != head.head {
		t.Errorf("again: got %v and head %v, want the same ticks, nothing to do, and head %v", again, readFold(t, n.Store).head, head.head)
	}
	shower := &commands.Shower{Env: n.Env, Sales: n.Sales, Gate: n.Gate, Guards: n.Store}
	if shown, err := shower.Show(context.Background(), sale); err != nil || shown.State != domain.SaleStateCleaned {
		t.Errorf("the sale shows %v, %v; want cleaned", shown.State, err)
	}
	// Two sweeps later nobody has recovered its lane or brought it back.
	epoch := n.lane(t, sale).Epoch
	next := n.ScheduleBeside(t, sale, 3)
	StandingChecks(t, n, next, n.soldAndPaid(t, next, "next", 3))
	n.WantGone(t, sale)
	if got := n.lane(t, sale); got.Epoch != epoch {
		t.Errorf("the lane has epoch %d, want no recovery since %d", got.Epoch, epoch)
	}
	if left := n.journalOf(t, lane); len(left) == 0 || domain.NextDigest(n.lane(t, sale).Cut.Digest, left[0].Body) != left[0].Digest {
		t.Errorf("the journal goes on with %d entries, want the first to follow the cut", len(left))
	}
}

func (n *Node) wantOwnersMeetTheirOrders(t *testing.T, sale string, owners map[string]domain.OrderStatus) {
	t.Helper()
	for buyer, status := range owners {
		testenv.Eventually(t, 20*time.Second, func() error { // the view is a moment behind
			res, err := n.Buy(sale, buyer)
			if err == nil && (res.Outcome != domain.Repeat || res.Order.Status != status) {
				err = fmt.Errorf("%s buys again: got %s, %s; want the own order, %s", buyer, res.Outcome, res.Order.Status, status)
			}
			return err
		})
	}
}

// wantIssuedButUnknownIsLost: an order id that we issued and no store knows is
// lost by knowledge, not queued for ever.
func (n *Node) wantIssuedButUnknownIsLost(t *testing.T, sale string) {
	t.Helper()
	order := n.issued(t, sale, "forgotten")
	answer, err := n.Finder.Find(context.Background(), "forgotten", order)
	if err != nil || answer.Status != domain.OrderStatusRejected || answer.Reason != domain.RejectedLost {
		t.Errorf("an order that no store knows: got %s %s, %v; want rejected as lost", answer.Status, answer.Reason, err)
	}
	n.AwaitStatus(t, "forgotten", order, domain.OrderStatusRejected)
}

// issued makes an order id as the API does.
func (n *Node) issued(t *testing.T, sale, buyer string) string {
	t.Helper()
	var random [10]byte
	if _, err := rand.Read(random[:]); err != nil {
		t.Fatal(err)
	}
	order, err := domain.NewOrderID(n.Env.Keys, domain.Place{Store: n.Env.Store, Sale: sale}, buyer, random)
	if err != nil {
		t.Fatal(err)
	}
	return order
}

func TestASaleWhoseBooksDoNotAgreeIsNotCleanedUp(t *testing.T) {
	t.Parallel()
	r, n, sale := selling(t, 10)
	n.soldAndPaid(t, sale, "buyer", 3)
	n.CloseSale(t, sale)
	stock := fmt.Sprintf("%s:{s%dl%d}:stock:%s:item:0", r.Namespace, n.Env.Store, domain.Place{Store: n.Env.Store, Sale: sale}.Lane(), sale)
	client := r.client(t)
	change := func(units int64) {
		t.Helper()
		if err := client.HIncrBy(context.Background(), stock, "available", units).Err(); err != nil {
			t.Fatal(err)
		}
	}
	change(2)
	_, err := n.cleanup().Clean(context.Background(), sale, commands.Actor{By: "test"})
	wantProblem(t, err, domain.CodeNotReconciled)
	if seen := readFold(t, n.Store).sales[sale]; seen.Cleaned || n.available(t, sale) != 9 {
		t.Errorf("refused: got %+v with %d left, want nothing changed", seen, n.available(t, sale))
	}
	change(-2)
	n.CleanUp(t, sale)
	n.WantGone(t, sale)
}

// client is a connection of the test's own to the rig's Redis.
func (r *Rig) client(t testing.TB) *redis.Client {
	t.Helper()
	opts, err := redis.ParseURL(r.Redis.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(opts)
	t.Cleanup(func() { _ = client.Close() }) // a test's own connection
	return client
}

// A sale whose window is over is closed first, so that no clock opens it again.
func TestASaleThatEndedByItsWindowIsClosedBeforeItIsCleanedUp(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	n := r.Node(t, NodeOptions{})
	terms := Terms(5)
	terms.ClosesAt = time.Now().Add(3 * time.Second)
	sale := n.Schedule(t, terms)
	n.soldAndPaid(t, sale, "buyer", 2)
	testenv.Eventually(t, 20*time.Second, func() error {
		if time.Now().Before(terms.ClosesAt) {
			return fmt.Errorf("the window is open until %s", terms.ClosesAt)
		}
		return nil
	})
	n.CleanUp(t, sale)
	if folded := readFold(t, n.Store).sales[sale]; !folded.Closed || !folded.Cleaned {
		t.Errorf("got %+v, want it closed and cleaned up", folded)
	}
	n.WantGone(t, sale)
}

// The journal of a lane is shared: it is cut as far as no other sale needs it.
func TestTheJournalIsKeptFromTheFirstEntryThatAnotherSaleNeeds(t *testing.T) {
	t.Parallel()
	r, n, first := selling(t, 10)
	second := n.ScheduleBeside(t, first, 10)
	orders := n.soldAndPaid(t, first, "early", 3)
	for order, buyer := range n.soldAndPaid(t, second, "second", 2) {
		orders[order] = buyer
	}
	n.soldAndPaid(t, first, "late", 2)
	lane := domain.Place{Store: n.Env.Store, Sale: first}.Lane()
	before := n.journalOf(t, lane)
	n.CloseSale(t, first)
	n.CleanUp(t, first)
	left := n.journalOf(t, lane)
	if len(before) != 7 || len(left) != 4 || left[0] != before[3] {
		t.Errorf("the journal: got %d entries of %d left, want all but the first three", len(left), len(before))
	}
	// A recovery begins at the cut, by its digest.
	r.Redis.Kill()
	r.Redis.Restart()
	n.AwaitOpen(t, second)
	n.WantGone(t, first)
	if got := n.Alarms.Count(commands.AlarmJournalChain); got != 0 {
		t.Errorf("%d alarms about the journal's chain, want none", got)
	}
	StandingChecks(t, n, second, n.soldAndPaid(t, second, "after", 3))
	n.CloseSale(t, second)
	n.CleanUp(t, second)
	if left := n.journalOf(t, lane); len(left) != 0 {
		t.Errorf("after both: got %d entries, want none", len(left))
	}
	third := n.ScheduleBeside(t, first, 2)
	more := n.soldAndPaid(t, third, "third", 2)
	// Somebody touched the cut: a recovery must not take the rest for its continuation.
	client := r.client(t)
	key := fmt.Sprintf("%s:{s%dl%d}:lane", r.Namespace, n.Env.Store, lane)
	if err := client.HSet(context.Background(), key, "cut_digest", "0000000000000000000000000000000000000000").Err(); err != nil {
		t.Fatal(err)
	}
	r.Redis.Kill()
	r.Redis.Restart()
	n.AwaitOpen(t, third)
	if got := n.Alarms.Count(commands.AlarmJournalChain); got == 0 && n.journalOf(t, lane)[0].ID.N != 1 {
		t.Error("the digest of the cut was changed and nobody raised the alarm")
	}
	StandingChecks(t, n, third, more)
}
