package e2e

import (
	"fmt"
	"strings"
	"testing"

	"seckill/api"
)

// TestABacklogThatNobodyRecordsIsSeenToGrow kills the process that records beside the one
// that is asked, and starts it again.
func TestABacklogThatNobodyRecordsIsSeenToGrow(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	env := rig.Settings(t)
	worker := Serve(t, ChildOptions{Env: env, Args: []string{"--roles", "recorder,relay,projector,scheduler"}})
	front := Serve(t, ChildOptions{Env: env, Args: []string{"--roles", "api"}})
	client := NewClient(front.URL)
	sale := client.CreateSale(t, 500)
	accepted := map[string]string{}
	buyAll(t, client, sale, "recorded", 10, accepted)
	awaitOverview(t, client, func(o api.Overview) error {
		for _, s := range o.Backlog {
			if s.Waiting == nil || *s.Waiting != 0 {
				return fmt.Errorf("stage %s is not at its end", s.Stage)
			}
		}
		return nil
	})

	worker.Kill()
	round, most := 0, int64(0)
	awaitOverview(t, client, func(o api.Overview) error {
		buyAll(t, client, sale, fmt.Sprint("waiting-", round), 2, accepted)
		round++
		journal := stageOf(o, "journal")
		if journal.Waiting != nil {
			most = max(most, *journal.Waiting)
		}
		if journal.Waiting == nil || journal.AtMost || journal.GrowthPerSecond == nil || *journal.GrowthPerSecond <= 0 || *journal.LagSeconds <= 1 || *journal.Orders < 2 {
			return fmt.Errorf("the journal is not seen to grow")
		}
		return nil
	})
	if most < 1 {
		t.Errorf("%d entries were seen to wait", most)
	}

	worker.Restart()
	awaitOverview(t, client, func(o api.Overview) error {
		if journal := stageOf(o, "journal"); journal.Waiting == nil || *journal.Waiting != 0 || *journal.LagSeconds != 0 {
			return fmt.Errorf("the journal is not recorded")
		}
		return nil
	})
}

// TestTheOverviewShowsEachDatabaseByItself kills one of two databases.
func TestTheOverviewShowsEachDatabaseByItself(t *testing.T) {
	t.Parallel()
	d := newTwoDatabases(t)
	child := Serve(t, ChildOptions{Env: d.env})
	client := NewClient(child.URL)
	main, _ := saleOn(t, client, "main", "redis-async", 50)
	other, _ := saleOn(t, client, "b", "redis-async", 50)
	for _, sale := range []string{main, other} {
		awaitPlaced(t, client, "buyer", buyUntilAnswered(t, client, sale, "buyer").Text("order_id"))
	}
	left := func(o api.Overview) map[string]int64 {
		units := map[string]int64{}
		for _, s := range o.Sales.Sales {
			if l := s.Items[0].Left; l != nil {
				units[s.ID] = *l
			}
		}
		return units
	}
	awaitOverview(t, client, func(o api.Overview) error {
		if len(o.Postgres) != 2 || o.Postgres[0].Database != "main" || o.Postgres[1].Database != "b" || o.Postgres[0].Connections == nil || o.Postgres[1].Connections == nil {
			return fmt.Errorf("two databases are not seen")
		}
		if units := left(o); o.Sales.UnknownSince != nil || units[main] != 49 || units[other] != 49 || o.Purchases.Answered < 2 {
			return fmt.Errorf("two sales are not seen")
		}
		if len(o.Backlog) != 10 || o.Backlog[0].Database != "main" || o.Backlog[5].Database != "b" || len(o.Redis.Servers) != 1 || len(o.Redis.Pools) < 4 {
			return fmt.Errorf("two ways from the gate to the views are not seen")
		}
		return nil
	})

	d.b.Kill()
	awaitOverview(t, client, func(o api.Overview) error {
		if o.Postgres[0].Connections == nil || o.Postgres[1].Connections != nil || o.Postgres[1].UnknownSince == nil || o.Backlog[6].UnknownSince == nil || o.Backlog[1].UnknownSince != nil {
			return fmt.Errorf("one of two is not unknown")
		}
		if units := left(o); units[main] != 49 || units[other] != 49 {
			return fmt.Errorf("the gate does not tell what is left of both")
		}
		return nil
	})
	scraped, err := client.Call("GET", "/metrics", "", "", nil)
	for _, want := range []string{"seckill_purchase_success_baseline 0\n", `seckill_backlog{database="b",stage="journal"}`, `seckill_purchase_results_total{result="accepted"} `} {
		if err != nil || strings.Count(scraped.Raw, "\n"+want) != 1 {
			t.Errorf("metrics have %q %d times, want once (%v)", want, strings.Count(scraped.Raw, "\n"+want), err)
		}
	}
}
