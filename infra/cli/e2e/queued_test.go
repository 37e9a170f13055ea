package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/infra/testenv"
)

func TestTheAgeOfTheOldestQueuedOrderGrowsUntilItIsRecorded(t *testing.T) {
	rig, full, sale := selling(t, 100)
	full.Stop()
	api := rig.Node(t, NodeOptions{APIOnly: true}) // nobody records
	ctx := context.Background()
	ahead := func() time.Time { return time.Now().Add(time.Minute) }
	env := *api.Env
	alarms := &Alarms{}
	for name, kept := range map[string]*commands.Kept{"its own purchases": api.Kept, "purchases of others": nil} {
		queue := &commands.Queue{Env: &env, Journal: api.Gate, Log: api.Store, Kept: kept, Alarm: alarms.Raise}
		lanes := []int{domain.Place{Store: env.Store, Sale: sale}.Lane()}
		look := func() commands.Queued {
			t.Helper()
			seen, err := queue.Look(ctx, lanes)
			if err != nil {
				t.Fatalf("look: %v", err)
			}
			return seen
		}
		before := look()
		c := newTally()
		sell(t, api, sale, strings.ReplaceAll(name, " ", "-"), 20, c)
		first := look()
		testenv.Eventually(t, 10*time.Second, func() error {
			if now := look(); now.Oldest <= first.Oldest {
				return fmt.Errorf("the age stays at %s", now.Oldest)
			}
			return nil
		})
		if got := look(); got.Orders != before.Orders+20 || got.Oldest <= 0 || got.Oldest > time.Minute {
			t.Errorf("%s: got %+v after %+v, want 20 more that wait", name, got, before)
		}
		raised := alarms.Count(commands.AlarmQueued)
		env.Now = ahead
		look()
		if late := look(); late.Oldest < time.Minute || alarms.Count(commands.AlarmQueued) != raised+1 {
			t.Errorf("%s: after a minute %+v and %d alarms, want one", name, late, alarms.Count(commands.AlarmQueued)-raised)
		}
		env.Now = time.Now
		full = rig.Node(t, NodeOptions{})
		testenv.Eventually(t, 30*time.Second, func() error {
			if now := look(); now != (commands.Queued{Read: true}) {
				return fmt.Errorf("still %+v", now)
			}
			return nil
		})
		StandingChecks(t, full, sale, c.accepted)
		full.Stop()
	}
}

// waits asks for an order until it is told that it waits for something.
func waits(t *testing.T, c *Client, buyer, order string, want domain.Waiting) {
	t.Helper()
	testenv.Eventually(t, 30*time.Second, func() error {
		told, err := c.Call(http.MethodGet, "/api/v1/orders/"+order, buyer, "", nil, "Accept-Language", "zh")
		if err == nil && (told.Status != http.StatusOK || told.Text("status") != "queued" ||
			told.Text("waiting_for") != string(want) || told.Text("detail") != want.Sentence("zh")) {
			err = fmt.Errorf("%s of %s, want it to wait for %s", told.Raw, buyer, want)
		}
		return err
	})
}

// TestAQueuedOrderSaysWhatItWaitsForAndEndsDecided: while the recorder, the gate
// and the log are away, one after the other.
func TestAQueuedOrderSaysWhatItWaitsForAndEndsDecided(t *testing.T) {
	t.Parallel()
	postgres := testenv.PrivatePostgres(t)
	rig := rigOn(t, postgres.URL, testenv.PrivateRedis(t, testenv.RedisOptions{}))
	settings := rig.Settings(t)
	client := NewClient(Serve(t, ChildOptions{Env: settings, Args: []string{"--roles", "api"}}).URL)
	machines := NewChild(t, ChildOptions{Env: settings, Args: []string{"--roles", "recorder,relay,projector,scheduler"}})
	machines.Start()
	machines.AwaitReady()
	sale := client.CreateSale(t, 50)
	accepted := map[string]string{}
	bought := func(buyer string, want domain.Waiting) string {
		t.Helper()
		answer, err := client.Buy(sale, buyer, buyer)
		if err != nil || answer.Status != http.StatusAccepted || answer.Text("waiting_for") != string(want) {
			t.Fatalf("%s: got %d %s, %v; want 202 that waits for %s", buyer, answer.Status, answer.Raw, err, want)
		}
		accepted[answer.Text("order_id")] = buyer
		return answer.Text("order_id")
	}
	machines.Stop()
	order := bought("alice", domain.WaitingForRecorder)
	waits(t, client, "alice", order, domain.WaitingForRecorder)
	testenv.Eventually(t, 20*time.Second, func() error {
		if n := metric(t, client.URL, "seckill_queued_orders"); n != 1 {
			return fmt.Errorf("%d orders are queued by the metric, want 1", n)
		}
		return nil
	})
	rig.Redis.Kill()
	waits(t, client, "alice", order, domain.WaitingForGate)
	rig.Redis.Restart()
	waits(t, client, "alice", order, domain.WaitingForGate) // nobody recovers its lane
	machines.Start()
	machines.AwaitReady()
	if told := await(t, client, "alice", order); told.Text("status") != "placed" || told.Body["waiting_for"] != nil {
		t.Errorf("in the end: %s, want placed", told.Raw)
	}
	testenv.Eventually(t, 30*time.Second, func() error { // the gate sells again
		answer, err := client.Buy(sale, "bob", "bob")
		if err == nil && answer.Status != http.StatusAccepted {
			err = errStatus(answer)
		}
		accepted[answer.Text("order_id")] = "bob"
		return err
	})
	thaw := postgres.Freeze()
	order = bought("carol", domain.WaitingForRecorder)
	waits(t, client, "carol", order, domain.WaitingForLog)
	testenv.Eventually(t, 30*time.Second, func() error {
		told, err := client.Call(http.MethodGet, "/api/v1/orders/"+order, "carol", "", nil)
		if err == nil && (told.Text("trace_id") == "" || told.Text("amount") == "") {
			err = fmt.Errorf("while the log is away: %s; want what was bought, which the gate knows", told.Raw)
		}
		return err
	})
	thaw()
	if told := await(t, client, "carol", order); told.Text("status") != "placed" {
		t.Errorf("in the end: %s, want placed", told.Raw)
	}
	delete(accepted, "")
	StandingChecks(t, rig.Node(t, NodeOptions{APIOnly: true}), sale, accepted)
}
