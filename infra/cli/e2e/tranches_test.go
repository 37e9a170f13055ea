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

// releasesOf gives the releases of a sale's item by their tranche.
func releasesOf(t testing.TB, n *Node, sale string) map[int][]eventstore.Record {
	t.Helper()
	records, err := n.Store.Find(context.Background(), eventstore.Filter{SaleID: sale, Type: "stock.released"}, 0, 1000)
	if err != nil {
		t.Fatalf("find releases: %v", err)
	}
	byTranche := map[int][]eventstore.Record{}
	for _, r := range records {
		ev, err := domain.Decode(r.Type, r.Schema, r.Payload)
		if err != nil {
			t.Fatal(err)
		}
		number := ev.(*domain.StockReleased).Tranche
		byTranche[number] = append(byTranche[number], r)
	}
	return byTranche
}

// inTranches is terms of 10 units of which 3 and 4 come so much later.
func inTranches(first, second time.Duration) func(*domain.SaleTerms) {
	return func(terms *domain.SaleTerms) {
		now := time.Now().Truncate(time.Microsecond)
		terms.Items[0].Release = []domain.Tranche{{At: now.Add(first), Quantity: 3}, {At: now.Add(second), Quantity: 4}}
	}
}

func TestTranchesComeAtTheirTimesAndBuyersWhoMetSoldOutBuy(t *testing.T) {
	n, sale := opened(t, 10, inTranches(time.Hour/2, time.Hour*2/3))
	ctx := context.Background()
	c := newTally()
	sell(t, n, sale, "first", 3, c)
	if res, err := n.Buy(sale, "late"); err != nil || res.Outcome != domain.SoldOut {
		t.Fatalf("a late buyer: got %v, %v; want sold out", res.Outcome, err)
	}
	n.AwaitDecided(t, c.accepted)
	if next, err := n.tranches().Sweep(ctx); err != nil || time.Until(next) < time.Minute || time.Until(next) > time.Hour/2 {
		t.Fatalf("before the first: next at %s, %v", next, err)
	}
	n.WantLeft(t, sale, 0)

	m, again := opened(t, 10, inTranches(-20*time.Second, -10*time.Second))
	var all sync.WaitGroup
	for range 4 { // several at once, as leaders that do not know of each other
		all.Go(func() {
			for range 3 {
				if _, err := m.tranches().Sweep(ctx); err != nil {
					t.Errorf("sweep: %v", err)
				}
			}
		})
	}
	all.Wait()
	m.WantLeft(t, again, 10)
	for number, records := range releasesOf(t, m, again) {
		if len(records) != 1 {
			t.Errorf("tranche %d was released %d times, want once", number, len(records))
		}
	}
	rest := crowd(again, []*Node{m}, 20)
	rest.want(t, domain.Reserved, 10)
	StandingChecks(t, m, again, rest.accepted)
}

func TestATrancheIsKeptBackBeforeTheOpeningAndAfterTheEnd(t *testing.T) {
	ctx, actor := context.Background(), commands.Actor{By: "test"}
	n, paused := opened(t, 10, inTranches(-2*time.Second, -time.Second))
	waits := n.Schedule(t, func() domain.SaleTerms {
		terms := Terms(10)
		terms.AutoOpen = false
		inTranches(-2*time.Second, -time.Second)(&terms)
		return terms
	}())
	closed := n.Schedule(t, func() domain.SaleTerms {
		terms := Terms(10)
		inTranches(-2*time.Second, -time.Second)(&terms)
		return terms
	}())
	if _, err := n.Operator.Close(ctx, closed, actor); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Operator.Pause(ctx, paused, domain.PausedByOperator, actor); err != nil {
		t.Fatal(err)
	}
	if _, err := n.tranches().Sweep(ctx); err != nil {
		t.Fatalf("sweep: %v", err)
	}
	for sale, want := range map[string]int{paused: 3, waits: 1, closed: 1} {
		if got := releasesOf(t, n, sale); len(got) != want {
			t.Errorf("sale %s: %d parts are on sale, want %d", sale, len(got), want)
		}
	}
	if n.Alarms.Count(commands.AlarmTranche) != 0 {
		t.Error("an alarm about tranches that are kept back")
	}
}

func TestASaleWithTranchesMayEndBeforeTheyCome(t *testing.T) {
	n, sale := opened(t, 10, inTranches(10*time.Minute, 20*time.Minute))
	ends := time.Now().Add(5 * time.Minute)
	if _, err := n.revise(sale, n.version(t, sale), func(terms *domain.SaleTerms) { terms.ClosesAt = ends }); err != nil {
		t.Errorf("an earlier end of a sale that has opened: %v", err)
	}
	_, err := n.revise(sale, n.version(t, sale), func(terms *domain.SaleTerms) { terms.Items[0].Release[0].At = ends.Add(-time.Minute) })
	if !isProblem(err, domain.CodeInvalidRequest) {
		t.Errorf("another time for a tranche of a sale that has opened: got %v, want invalid_request", err)
	}
	soon := n.Schedule(t, func() domain.SaleTerms {
		terms := Terms(10)
		terms.OpensAt = time.Now().Add(10 * time.Minute)
		inTranches(20*time.Minute, 30*time.Minute)(&terms)
		return terms
	}())
	later := func(terms *domain.SaleTerms) {
		terms.OpensAt = terms.OpensAt.Add(15 * time.Minute)
	}
	if _, err := n.revise(soon, n.version(t, soon), later); !isProblem(err, domain.CodeInvalidRequest) {
		t.Errorf("an opening after the first tranche: got %v, want invalid_request", err)
	}
	if _, err := n.revise(soon, n.version(t, soon), func(terms *domain.SaleTerms) {
		later(terms)
		terms.Items[0].Release[0].At = terms.OpensAt.Add(time.Minute)
	}); err != nil {
		t.Errorf("an opening and a tranche that move together: %v", err)
	}
}

// saleInTranches makes a sale over HTTP of 12 units, of which 4 and 4 come so much later.
func saleInTranches(t *testing.T, c *Client, first, second time.Duration) string {
	t.Helper()
	body := saleBody(12)
	at := func(d time.Duration) string { return time.Now().Add(d).Format(time.RFC3339Nano) }
	body["items"].([]any)[0].(map[string]any)["release"] = []any{
		map[string]any{"at": at(first), "quantity": 4}, map[string]any{"at": at(second), "quantity": 4},
	}
	answer, err := c.Call(http.MethodPost, "/api/v1/admin/sales", "operator", "admin", body)
	if err != nil || answer.Status != http.StatusCreated {
		t.Fatalf("create a sale: %d %s %v", answer.Status, answer.Raw, err)
	}
	return answer.Text("id")
}

// TestTranchesComeOnceAlthoughTheProcessIsKilled runs the built program: it fails if
// nothing there releases. Each kill is at a point around the second tranche.
func TestTranchesComeOnceAlthoughTheProcessIsKilled(t *testing.T) {
	for _, point := range []string{"", "tranche.before-append:2", "tranche.after-append:2", "tranche.after-push:2"} {
		t.Run("killed at "+point, func(t *testing.T) {
			rig := NewRig(t)
			child := NewChild(t, ChildOptions{Env: rig.Settings(t)})
			child.Start("SECKILL_CRASH_AT=" + point)
			child.AwaitReady()
			client := NewClient(child.URL)
			sale := saleInTranches(t, client, 2*time.Second, 4*time.Second)
			promised, wait := clicks(t, child.URL, sale, 4)
			wait()
			wantMoreToCome(t, client, sale)
			if point != "" {
				child.AwaitEnd(60 * time.Second)
				child.Start()
				child.AwaitReady()
			}
			observer := rig.Node(t, NodeOptions{APIOnly: true})
			observer.WantLeft(t, sale, 8)
			testenv.Eventually(t, 10*time.Second, func() error { return wantSoldOut(client, sale, false) })
			for number, records := range releasesOf(t, observer, sale) {
				if len(records) != 1 {
					t.Errorf("tranche %d was released %d times, want once", number, len(records))
				}
				t.Logf("tranche %d at %s", number, records[0].RecordedAt)
			}
			more, wait := clicks(t, child.URL, sale, 20)
			wait()
			for order, buyer := range more {
				promised[order] = buyer
			}
			observer.AwaitOpen(t, sale)
			StandingChecks(t, observer, sale, promised)
			if got := readFold(t, observer.Store).placed(sale); got != 12 {
				t.Errorf("%d orders placed, want every one of 12 units sold", got)
			}
		})
	}
}

// wantMoreToCome waits until the sale says that it is sold out, and when more comes.
func wantMoreToCome(t *testing.T, c *Client, sale string) {
	t.Helper()
	testenv.Eventually(t, 2*time.Second, func() error { return wantSoldOut(c, sale, true) })
}

// wantSoldOut tells whether a sale's item says so. While it does, it says when more comes.
func wantSoldOut(c *Client, sale string, want bool) error {
	answer, err := c.Call(http.MethodGet, "/api/v1/sales/"+sale, "", "", nil)
	if err != nil || answer.Status != http.StatusOK {
		return fmt.Errorf("look at the sale: %d, %v", answer.Status, err)
	}
	item := answer.Body["items"].([]any)[0].(map[string]any)
	_, more := item["next_release_at"]
	if item["sold_out"] != want || (want && !more) {
		return fmt.Errorf("got %v, want sold_out %v", item, want)
	}
	return nil
}
