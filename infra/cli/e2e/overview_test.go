package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/api"
	"seckill/infra/testenv"
)

// overviewOf asks for what a node sees.
func overviewOf(c *Client) (api.Overview, error) {
	var seen api.Overview
	answer, err := c.Call(http.MethodGet, "/api/v1/admin/overview", "operator", "admin", nil)
	if err != nil || answer.Status != http.StatusOK {
		return seen, fmt.Errorf("status %d, %w", answer.Status, err)
	}
	return seen, json.Unmarshal([]byte(answer.Raw), &seen)
}

// awaitOverview asks until check is content.
func awaitOverview(t *testing.T, c *Client, check func(api.Overview) error) api.Overview {
	t.Helper()
	var seen api.Overview
	testenv.Eventually(t, 90*time.Second, func() (err error) {
		if seen, err = overviewOf(c); err != nil {
			return err
		}
		if err = check(seen); err != nil {
			shown, _ := json.Marshal(seen)
			return fmt.Errorf("%w: %s", err, shown)
		}
		return nil
	})
	return seen
}

// stageOf finds a stage of the backlog.
func stageOf(o api.Overview, name string) api.OverviewStage {
	for _, s := range o.Backlog {
		if s.Stage == name {
			return s
		}
	}
	return api.OverviewStage{}
}

// TestTheOverviewFollowsASaleAndSaysWhatItCannotSee sells, freezes PostgreSQL under the
// sale, and kills Redis: what grows is seen to grow, and what is unknown has no number.
func TestTheOverviewFollowsASaleAndSaysWhatItCannotSee(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t)
	rig := rigOn(t, server.URL, testenv.PrivateRedis(t, testenv.RedisOptions{}))
	child := ServeRig(t, rig)
	client := NewClient(child.URL)
	sale := client.CreateSale(t, 40)
	accepted := map[string]string{}
	buyAll(t, client, sale, "first", 30, accepted)
	awaitOverview(t, client, func(o api.Overview) error { return wantQuiet(o, sale, 30) })
	// The list of sales may be younger than the last look at the journals: of a lane that
	// no look has met yet nobody can say how much waits in it while the log is away.
	awaitMetric(t, client, `seckill_lanes{state="selling"} 1`)

	thaw := server.Freeze()
	buyAll(t, client, sale, "frozen", 5, accepted)
	frozen := awaitOverview(t, client, func(o api.Overview) error {
		journal, postgres := stageOf(o, "journal"), o.Postgres[0]
		switch {
		case postgres.UnknownSince == nil || postgres.Connections != nil || postgres.SlowStatements != nil:
			return fmt.Errorf("PostgreSQL is not unknown")
		case stageOf(o, "relay").UnknownSince == nil || stageOf(o, "order_view").Waiting != nil:
			return fmt.Errorf("views are not unknown")
		case journal.Waiting == nil || *journal.Waiting < 1 || !journal.AtMost || *journal.Orders < 5:
			return fmt.Errorf("the journal has no backlog")
		case o.Redis.UnknownSince != nil || len(o.Redis.Servers) != 1:
			return fmt.Errorf("Redis is not seen")
		case len(o.Sales.Sales) != 1 || o.Sales.Sales[0].Items[0].Left == nil || *o.Sales.Sales[0].Items[0].Left != 5:
			return fmt.Errorf("what the gate has left is not seen")
		}
		return nil
	})
	before := *stageOf(frozen, "journal").Waiting
	buyAll(t, client, sale, "more", 5, accepted)
	awaitOverview(t, client, func(o api.Overview) error {
		journal := stageOf(o, "journal")
		if journal.Waiting == nil || *journal.Waiting <= before || journal.GrowthPerSecond == nil || *journal.GrowthPerSecond <= 0 {
			return fmt.Errorf("the journal is not seen to grow beyond %d", before)
		}
		return nil
	})
	thaw()
	awaitOverview(t, client, func(o api.Overview) error { return wantQuiet(o, sale, 40) })

	rig.Redis.Kill()
	awaitOverview(t, client, func(o api.Overview) error {
		if o.Redis.UnknownSince == nil || len(o.Redis.Servers) > 0 || o.Redis.SlowPerMinute != nil || stageOf(o, "journal").Waiting != nil || o.Postgres[0].UnknownSince != nil {
			return fmt.Errorf("Redis is not unknown")
		}
		return nil
	})
}

// wantQuiet wants everything known and recorded, and n accepted purchases.
func wantQuiet(o api.Overview, sale string, n int64) error {
	for _, s := range o.Backlog {
		if s.UnknownSince != nil || s.Waiting == nil || *s.Waiting != 0 {
			return fmt.Errorf("stage %s is not at its end", s.Stage)
		}
	}
	if len(o.Backlog) < 5 || o.Node == "" || time.Since(o.At) > time.Minute {
		return fmt.Errorf("something is missing")
	}
	if p := o.Purchases; p.Answered < 30 || p.SuccessRate == nil || *p.SuccessRate != 1 || p.Alarm || p.WindowSeconds <= 0 {
		return fmt.Errorf("purchases are not counted")
	}
	if s := o.Sales; s.UnknownSince != nil || len(s.Sales) != 1 || s.Sales[0].ID != sale || s.Sales[0].Items[0].Taken == nil || *s.Sales[0].Items[0].Taken != n {
		return fmt.Errorf("the sale is not seen")
	}
	if r := o.Redis; r.UnknownSince != nil || len(r.Servers) != 1 || *r.Servers[0].ConnectedClients < 1 || r.SlowPerMinute == nil || len(r.Pools) < 2 {
		return fmt.Errorf("Redis is not seen")
	}
	if p := o.Postgres[0]; p.UnknownSince != nil || p.Connections.Active < 1 || p.Connections.Idle < 1 || p.Connections.Other > 0 || p.Connections.Max < 1 || len(p.Pools) != 2 {
		return fmt.Errorf("PostgreSQL is not seen")
	}
	if p := o.Process; p.Goroutines < 1 || p.HeapBytes == 0 || p.HeapGoalBytes == 0 {
		return fmt.Errorf("the process is not seen")
	}
	return nil
}

// TestEveryBusyAnswerLowersTheSuccessRate keeps the gate away: purchases fail, and the
// share of the baseline falls under the bound.
func TestEveryBusyAnswerLowersTheSuccessRate(t *testing.T) {
	t.Parallel()
	rig := NewRig(t)
	child := ServeRig(t, rig, "SECKILL_SUCCESS_BASELINE=0.9")
	client := NewClient(child.URL)
	sale := client.CreateSale(t, 5)
	for i := range 10 { // five are accepted, five told that it is sold out: all as it should be
		if answer, err := client.Buy(sale, fmt.Sprint("buyer-", i), "k"); err != nil || answer.Status != http.StatusAccepted && answer.Status != http.StatusConflict {
			t.Fatalf("got %d %s, %v", answer.Status, answer.Raw, err)
		}
	}
	awaitOverview(t, client, func(o api.Overview) error {
		p := o.Purchases
		if p.Answered != 10 || p.Failed != 0 || p.SuccessRate == nil || *p.SuccessRate != 1 || p.Baseline == nil || p.Baseline.Rate != 0.9 || p.Alarm {
			return fmt.Errorf("all ten are not told as they were")
		}
		return nil
	})
	rig.Redis.Kill()
	for i := range 15 {
		if _, err := client.Buy(sale, fmt.Sprint("late-", i), "k"); err != nil {
			t.Fatal(err)
		}
	}
	awaitOverview(t, client, func(o api.Overview) error {
		if p := o.Purchases; p.Failed < 10 || !p.Alarm || p.ShareOfBaseline == nil || *p.ShareOfBaseline >= 0.8 {
			return fmt.Errorf("purchases do not fail")
		}
		return nil
	})
}

// TestAStreamOfTheOverviewEndsWithTheProcess reads a few seconds of it, then stops the
// process.
func TestAStreamOfTheOverviewEndsWithTheProcess(t *testing.T) {
	t.Parallel()
	child := ServeRig(t, NewRig(t))
	token, err := api.SignToken([]byte(TestSecret), "operator", "admin", "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, child.URL+"/api/v1/admin/overview/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(r)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("got %v, %v", res, err)
	}
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	frames, last := 0, ""
	stopped := make(chan int, 1)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		last = data
		var seen api.Overview
		if frames < 3 {
			if err := json.Unmarshal([]byte(data), &seen); err != nil || seen.Node == "" {
				t.Fatalf("got %s (%v)", data, err)
			}
		}
		if frames++; frames == 3 {
			go func() { stopped <- child.Stop() }()
		}
	}
	if last != `{"reason":"draining"}` || lines.Err() != nil {
		t.Errorf("the stream ended with %q, %v", last, lines.Err())
	}
	if status := <-stopped; status != 0 {
		t.Errorf("the process ended with %d", status)
	}
}
