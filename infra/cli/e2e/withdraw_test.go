package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/testenv"
)

// withdraw takes units of a sale's item off sale.
func (n *Node) withdraw(sale, key string, units int64) (commands.Released, error) {
	return n.Operator.Release(context.Background(), commands.Release{Sale: sale, SKU: "item", Quantity: -units, Key: key}, commands.Actor{By: "test"})
}

// withdrawals counts what the log says of withdrawals of a sale.
func (n *Node) withdrawals(t testing.TB, sale string) (events int, units int64) {
	t.Helper()
	records, err := n.Store.Find(context.Background(), eventstore.Filter{SaleID: sale, Type: "stock.withdrawn"}, 0, 1000)
	if err != nil {
		t.Fatalf("find withdrawals: %v", err)
	}
	for _, r := range records {
		ev, err := domain.Decode(r.Type, r.Schema, r.Payload)
		if err != nil {
			t.Fatal(err)
		}
		units += ev.(*domain.StockWithdrawn).Quantity
	}
	return len(records), units
}

func TestUnitsAreWithdrawnOnceUnderAKeyAndNeverThoseThatAreSold(t *testing.T) {
	rig, n, sale := selling(t, 10)
	c := newTally()
	sell(t, n, sale, "first", 3, c)
	for range 2 {
		if done, err := n.withdraw(sale, "one", 4); err != nil || done != (commands.Released{Released: 10, Available: 3}) {
			t.Fatalf("withdraw 4 of 10 with 3 sold: got %+v, %v; want 3 left", done, err)
		}
	}
	if _, err := n.withdraw(sale, "one", 1); !isProblem(err, domain.CodeIdempotencyMismatch) {
		t.Errorf("another quantity under the key: got %v, want idempotency_mismatch", err)
	}
	if _, err := n.withdraw(sale, "", 4); !isProblem(err, domain.CodeBelowReserved) {
		t.Errorf("more than is left: got %v, want below_reserved", err)
	}
	more := commands.Release{Sale: sale, SKU: "item", Quantity: 2, Key: "more"}
	for range 2 {
		if done, err := n.Operator.Release(context.Background(), more, commands.Actor{By: "test"}); err != nil || done != (commands.Released{Released: 12, Available: 5}) {
			t.Fatalf("release 2 under a key: got %+v, %v; want 12 released and 5 left", done, err)
		}
	}
	more.Quantity = 3
	if _, err := n.Operator.Release(context.Background(), more, commands.Actor{By: "test"}); !isProblem(err, domain.CodeIdempotencyMismatch) {
		t.Errorf("another quantity under the key of a release: got %v, want idempotency_mismatch", err)
	}
	rig.deleteKeys(t, rig.Namespace+":*") // the gate forgets everything
	n.AwaitOpen(t, sale)
	n.WantLeft(t, sale, 5)
	if done, err := n.withdraw(sale, "one", 4); err != nil || done.Available != 5 {
		t.Errorf("the same again after a recovery: got %+v, %v; want 5 left", done, err)
	}
	if events, units := n.withdrawals(t, sale); events != 1 || units != 4 {
		t.Errorf("the log has %d withdrawals of %d units, want one of 4", events, units)
	}
	rest := crowd(sale, []*Node{n}, 20)
	rest.want(t, domain.Reserved, 5)
	for order, buyer := range rest.accepted {
		c.accepted[order] = buyer
	}
	StandingChecks(t, n, sale, c.accepted)
}

func TestAWithdrawalBesideACrowdTakesWhatNobodyGot(t *testing.T) {
	_, n, sale := selling(t, 60)
	var all sync.WaitGroup
	var mu sync.Mutex
	var taken int64
	for i := range 20 {
		all.Go(func() {
			_, err := n.withdraw(sale, fmt.Sprint("key-", i), 2)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				taken += 2
			case !isProblem(err, domain.CodeBelowReserved):
				t.Errorf("withdraw: %v", err)
			}
		})
	}
	c := crowd(sale, []*Node{n}, 80)
	all.Wait()
	if _, units := n.withdrawals(t, sale); units != taken {
		t.Errorf("the log has %d units withdrawn, %d were told", units, taken)
	}
	n.AwaitDecided(t, c.accepted)
	if placed := readFold(t, n.Store).placed(sale); int64(placed)+taken > 60 || int64(placed)+taken < 59 {
		t.Errorf("%d sold and %d withdrawn of 60", placed, taken)
	}
	StandingChecks(t, n, sale, c.accepted)
}

func TestAWithdrawalThatTheLogHasNotTheUnitsForComesBack(t *testing.T) {
	rig, n, sale := selling(t, 10)
	p := &plant{t: t, rig: rig, node: n, sale: sale, place: domain.Place{Store: n.Env.Store, Sale: sale}, orders: map[string]string{}}
	p.connect()
	p.do("HINCRBY", p.stockKey(), "available", 5) // a gate that forgot five units
	for range 2 {
		if _, err := n.withdraw(sale, "k", 12); !isProblem(err, domain.CodeBelowReserved) {
			t.Errorf("12 of the 10 that the log has: got %v, want below_reserved", err)
		}
	}
	if events, _ := n.withdrawals(t, sale); events != 0 {
		t.Errorf("the log has %d withdrawals, want none", events)
	}
	n.WantLeft(t, sale, 15)
	p.do("HINCRBY", p.stockKey(), "available", -5)
	rig.deleteKeys(t, rig.Namespace+":*")
	n.AwaitOpen(t, sale)
	n.WantLeft(t, sale, 10)
	StandingChecks(t, n, sale, nil)
}

func TestAWithdrawalBeforeTheOpeningLeavesPricesFree(t *testing.T) {
	n, sale := opened(t, 10, func(terms *domain.SaleTerms) { terms.OpensAt = time.Now().Add(20 * time.Minute) })
	if done, err := n.withdraw(sale, "", 9); err != nil || done.Available != 1 {
		t.Fatalf("withdraw before the opening: got %+v, %v", done, err)
	}
	if _, err := n.revise(sale, n.version(t, sale), func(terms *domain.SaleTerms) { terms.Items[0].Price.Minor = 5 }); err != nil {
		t.Errorf("another price after a withdrawal: %v", err)
	}
	StandingChecks(t, n, sale, nil)
}

// TestAWithdrawalIsFoundOutAlthoughTheProcessIsKilled kills the process at each point of
// a withdrawal; the operator asks again under the same key.
func TestAWithdrawalIsFoundOutAlthoughTheProcessIsKilled(t *testing.T) {
	for _, point := range []string{"operator.after-withdrawal", "recorder.before-withdrawal", "recorder.after-withdrawal"} {
		t.Run(point, func(t *testing.T) {
			rig := NewRig(t)
			child := NewChild(t, ChildOptions{Env: rig.Settings(t)})
			child.Start("SECKILL_CRASH_AT=" + point)
			child.AwaitReady()
			client := NewClient(child.URL)
			sale := client.CreateSale(t, 10)
			ask := func() (Answer, error) {
				return client.Call(http.MethodPost, "/api/v1/admin/sales/"+sale+"/items/item/releases", "operator", "admin", `{"quantity":-6}`, "Idempotency-Key", "k")
			}
			if answer, err := ask(); err == nil {
				t.Fatalf("answered %d %s: the point was not met", answer.Status, answer.Raw)
			}
			child.AwaitEnd(60 * time.Second)
			child.Start()
			child.AwaitReady()
			testenv.Eventually(t, 60*time.Second, func() error {
				answer, err := ask()
				if err == nil && (answer.Status != http.StatusOK || answer.Body["available"] != 4.0) {
					err = errStatus(answer)
				}
				return err
			})
			promised, wait := clicks(t, child.URL, sale, 10)
			wait()
			observer := rig.Node(t, NodeOptions{APIOnly: true})
			observer.AwaitOpen(t, sale)
			StandingChecks(t, observer, sale, promised)
			if events, units := observer.withdrawals(t, sale); events != 1 || units != 6 {
				t.Errorf("the log has %d withdrawals of %d units, want one of 6", events, units)
			}
			if len(promised) != 4 {
				t.Errorf("%d units sold, want the 4 that were left", len(promised))
			}
		})
	}
}

func TestAKeyIsOfOneReleaseOrOneWithdrawalAndIsAnsweredAlsoWhenTheSaleIsOver(t *testing.T) {
	_, n, sale := selling(t, 10)
	ask := func(key string, units int64) (commands.Released, error) {
		return n.Operator.Release(context.Background(), commands.Release{Sale: sale, SKU: "item", Quantity: units, Key: key}, commands.Actor{By: "test"})
	}
	if _, err := ask("more", 5); err != nil {
		t.Fatal(err)
	}
	if _, err := ask("less", -3); err != nil {
		t.Fatal(err)
	}
	mixed := func() {
		t.Helper()
		for key, units := range map[string]int64{"more": -5, "less": 3} {
			if _, err := ask(key, units); !isProblem(err, domain.CodeIdempotencyMismatch) {
				t.Errorf("%d under the key %q of the opposite: got %v, want idempotency_mismatch", units, key, err)
			}
		}
	}
	mixed()
	n.WantLeft(t, sale, 12)
	if _, err := n.Operator.Close(context.Background(), sale, commands.Actor{By: "test"}); err != nil {
		t.Fatal(err)
	}
	mixed()
	for key, units := range map[string]int64{"more": 5, "less": -3} { // as after a lost answer
		if done, err := ask(key, units); err != nil || done != (commands.Released{Released: 15, Available: 12}) {
			t.Errorf("%d again under its key, the sale closed: got %+v, %v; want 15 released and 12 left", units, done, err)
		}
	}
	for _, units := range []int64{1, -1} {
		if _, err := ask("new", units); !isProblem(err, domain.CodeSaleEnded) {
			t.Errorf("%d under a new key, the sale closed: got %v, want sale_ended", units, err)
		}
	}
}
