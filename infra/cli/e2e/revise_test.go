package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"seckill/domain"
	"seckill/infra/testenv"
)

func TestOfTwoAdminsWhoReviseAtOnceOneIsToldThatItChanged(t *testing.T) {
	n, sale := opened(t, 5, func(terms *domain.SaleTerms) { terms.OpensAt = time.Now().Add(20 * time.Minute) })
	for round := range 5 {
		version := n.version(t, sale)
		errs := make([]error, 4)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() {
				_, errs[i] = n.revise(sale, version, func(terms *domain.SaleTerms) {
					terms.Items[0].Price.Minor = int64(1000*(round+1) + i)
				})
			})
		}
		all.Wait()
		won := -1
		for i, err := range errs {
			switch {
			case err == nil && won >= 0:
				t.Fatalf("round %d: %d and %d both won", round, won, i)
			case err == nil:
				won = i
			case !isProblem(err, domain.CodeVersionConflict):
				t.Errorf("round %d: %d lost with %v; want version_conflict", round, i, err)
			}
		}
		folded, err := n.Sales.Fold(context.Background(), sale)
		if err != nil || won < 0 || folded.Version != version+1 || folded.Terms.Items[0].Price.Minor != int64(1000*(round+1)+won) {
			t.Fatalf("round %d: won by %d, got version %d and price %d, %v", round, won, folded.Version, folded.Terms.Items[0].Price.Minor, err)
		}
	}
	// The losers' holds are gone: it is too early, not paused.
	testenv.Eventually(t, 2*time.Second, func() error {
		if result, err := n.Buy(sale, "u"); err != nil || result.Outcome != domain.TooEarly {
			return fmt.Errorf("got %v, %v; want too_early", result.Outcome, err)
		}
		return nil
	})
	if report, err := n.preheats().Verify(context.Background(), sale); err != nil || !report.Verified {
		t.Errorf("after the races: %+v, %v; want the gate as the log says", report.Differences, err)
	}
}

// B67 with an opening that is moved while buyers wait: nobody buys before the
// opening that stands, and everybody who asks after it does.
func TestB67AnOpeningThatIsMovedWhileBuyersWait(t *testing.T) {
	n, sale := opened(t, 1000, func(terms *domain.SaleTerms) { terms.OpensAt = time.Now().Add(30 * time.Minute) })
	ctx, stop := context.WithCancel(context.Background())
	type win struct {
		order, buyer string
		at           time.Time
	}
	var mu sync.Mutex
	var wins []win
	var crowd sync.WaitGroup
	for c := range 4 {
		crowd.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				buyer := fmt.Sprintf("u%d-%d", c, i)
				result, err := n.Buy(sale, buyer)
				switch {
				case err != nil:
					t.Errorf("%s: %v", buyer, err)
				case result.Outcome == domain.Reserved:
					mu.Lock()
					wins = append(wins, win{result.Order.ID, buyer, time.Now()})
					mu.Unlock()
				case result.Outcome != domain.TooEarly && result.Outcome != domain.Paused:
					t.Errorf("%s: got %s; want too_early, or paused for the moment of a revision", buyer, result.Outcome)
				}
			}
		})
	}
	move := func(by time.Duration) time.Time {
		t.Helper()
		at := time.Now().Add(by).Truncate(time.Microsecond)
		if _, err := n.revise(sale, n.version(t, sale), func(terms *domain.SaleTerms) { terms.OpensAt = at }); err != nil {
			t.Fatalf("move the opening by %s: %v", by, err)
		}
		return at
	}
	move(2 * time.Second)
	move(30 * time.Minute)
	opens := move(1500 * time.Millisecond)
	testenv.Eventually(t, 20*time.Second, func() error {
		mu.Lock()
		defer mu.Unlock()
		if len(wins) < 20 {
			return fmt.Errorf("%d bought", len(wins))
		}
		return nil
	})
	stop()
	crowd.Wait()
	accepted := map[string]string{}
	for _, w := range wins {
		accepted[w.order] = w.buyer
		if w.at.Before(opens) {
			t.Errorf("%s bought at %s, before %s", w.buyer, w.at, opens)
		}
	}
	StandingChecks(t, n, sale, accepted)
}

func TestARevisionOfAnOpenSaleChangesItsEndAndTextsAlone(t *testing.T) {
	n, sale := opened(t, 5, nil)
	order := n.Placed(t, sale, "u", 1)
	for field, change := range map[string]func(*domain.SaleTerms){
		"opens_at":        func(terms *domain.SaleTerms) { terms.OpensAt = time.Now().Add(time.Minute) },
		"items[0].price":  func(terms *domain.SaleTerms) { terms.Items[0].Price.Minor = 1 },
		"items[0].stock":  func(terms *domain.SaleTerms) { terms.Items[0].Stock = 6 },
		"limit_per_buyer": func(terms *domain.SaleTerms) { terms.LimitPerBuyer = 9 },
		"closes_at": func(terms *domain.SaleTerms) {
			terms.Title, terms.ClosesAt = "over", time.Now().Add(-time.Second)
		},
	} {
		_, err := n.revise(sale, n.version(t, sale), change)
		if !isProblem(err, domain.CodeInvalidRequest) {
			t.Errorf("%s: got %v; want it refused", field, err)
		}
	}
	if result, err := n.Buy(sale, "v"); err != nil || result.Outcome != domain.Reserved {
		t.Fatalf("after what was refused: got %v, %v; want reserved", result.Outcome, err)
	} else {
		defer StandingChecks(t, n, sale, map[string]string{order: "u", result.Order.ID: "v"})
	}
	later := time.Now().Add(2 * time.Hour).Truncate(time.Microsecond).UTC()
	folded, err := n.revise(sale, n.version(t, sale), func(terms *domain.SaleTerms) { terms.Title, terms.ClosesAt = "Longer", later })
	if err != nil || folded.Terms.Title != "Longer" || !folded.Terms.ClosesAt.Equal(later) {
		t.Fatalf("a later end: got %+v, %v", folded.Terms, err)
	}
	soon := time.Now().Add(400 * time.Millisecond)
	if _, err := n.revise(sale, folded.Version, func(terms *domain.SaleTerms) { terms.ClosesAt = soon }); err != nil {
		t.Fatalf("an earlier end: %v", err)
	}
	testenv.Eventually(t, 10*time.Second, func() error {
		if result, err := n.Buy(sale, "u"); err != nil || result.Outcome != domain.Repeat || result.Order.ID != order {
			t.Fatalf("the owner: got %v, %v; want the own order", result.Outcome, err)
		}
		if result, err := n.Buy(sale, fmt.Sprintf("w%d", time.Now().UnixNano())); err != nil || result.Outcome != domain.Ended {
			return fmt.Errorf("got %v, %v; want ended", result.Outcome, err)
		}
		return nil
	})
	if _, err := n.revise(sale, n.version(t, sale), func(terms *domain.SaleTerms) { terms.ClosesAt = later }); !isProblem(err, domain.CodeSaleEnded) {
		t.Errorf("what is over: got %v; want sale_ended", err)
	}
}

func TestAnEndInThePastClosesTheSale(t *testing.T) {
	n, sale := opened(t, 5, nil)
	folded, err := n.revise(sale, n.version(t, sale), func(terms *domain.SaleTerms) { terms.ClosesAt = time.Now().Add(-time.Second) })
	if err != nil || !folded.Closed {
		t.Fatalf("got %+v, %v; want it closed", folded.Sale, err)
	}
	if result, err := n.Buy(sale, "u"); err != nil || result.Outcome != domain.Ended {
		t.Errorf("got %v, %v; want ended", result.Outcome, err)
	}
	StandingChecks(t, n, sale, nil)
}

func TestAnOperatorPreheatsConfirmsAndRevisesFromTheCommandLine(t *testing.T) {
	rig := NewRig(t)
	client := NewClient(ServeRig(t, rig).URL)
	body := saleBody(3)
	body["auto_open"] = false
	answer, err := client.Call(http.MethodPost, "/api/v1/admin/sales", "operator", "admin", body)
	if err != nil || answer.Status != http.StatusCreated {
		t.Fatalf("create: %d %s %v", answer.Status, answer.Raw, err)
	}
	sale, env := answer.Text("id"), rig.Settings(t)
	purchase(t, client, sale, "u", oneItem, http.StatusServiceUnavailable)
	wantOneSentence(t, Run(t, env, "sale", "confirm", sale), 1, "Preheat the sale first")
	if shown, err := client.Call(http.MethodGet, "/api/v1/sales/"+sale, "", "", nil); err != nil || shown.Text("state") != "scheduled" {
		t.Errorf("unconfirmed: got %s, %v; want scheduled", shown.Raw, err)
	}
	type report struct {
		Keys        int
		Values      map[string]string
		Verified    bool
		Differences []struct{ Key, Want, Got string }
	}
	for _, args := range [][]string{{}, {"--verify"}, {}} {
		got := wantJSON[report](t, Run(t, env, append([]string{"preheat", "--sale", sale, "--json"}, args...)...))
		if !got.Verified || got.Keys != len(got.Values) || got.Values[stockKeyOf(sale, "available")] != "3" || got.Differences == nil {
			t.Errorf("preheat %v: got %+v", args, got)
		}
	}
	type shown struct {
		Version   int64
		Title     string
		Confirmed bool
	}
	revised := wantJSON[shown](t, Run(t, env, "sale", "revise", sale, "--title", "Renamed", "--price", "item=21.00", "--json"))
	if revised.Title != "Renamed" {
		t.Errorf("revise: got %+v", revised)
	}
	wantOneSentence(t, Run(t, env, "sale", "revise", sale, "--version", fmt.Sprint(revised.Version-1), "--title", "Late"), 1, "in the meantime")
	wantOneSentence(t, Run(t, env, "sale", "revise", sale), 2, "say what changes")
	wantOneSentence(t, Run(t, env, "sale", "revise", sale, "--price", "none=1.00"), 2, "no item")
	wantOneSentence(t, Run(t, env, "sale", "confirm", sale), 1, "Preheat the sale first") // the price changed
	wantJSON[report](t, Run(t, env, "preheat", "--sale", sale, "--json"))
	if got := wantJSON[shown](t, Run(t, env, "sale", "confirm", sale, "--note", "looked", "--json")); !got.Confirmed {
		t.Errorf("confirm: got %+v", got)
	}
	first := purchase(t, client, sale, "u", oneItem, http.StatusAccepted)
	if told := await(t, client, "u", first.Text("order_id")); told.Text("amount") != "21.00" {
		t.Errorf("the order: got %s, want the new price", told.Raw)
	}
	StandingChecks(t, rig.Node(t, NodeOptions{APIOnly: true}), sale, map[string]string{first.Text("order_id"): "u"})
}
