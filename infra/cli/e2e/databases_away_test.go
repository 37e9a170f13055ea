package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"seckill/infra/testenv"
)

// A database that is away stops its own sales, and of those only what needs it.
func TestADatabaseThatIsAwayStopsItsOwnSalesOnly(t *testing.T) {
	t.Parallel()
	d := newTwoDatabases(t)
	child := Serve(t, ChildOptions{Env: d.env})
	client := NewClient(child.URL)
	here, _ := saleOn(t, client, "main", "postgres", 50)
	gated, _ := saleOn(t, client, "b", "redis-async", 50)
	direct, _ := saleOn(t, client, "b", "postgres", 50)
	orders := map[string]string{}
	for _, sale := range []string{here, gated, direct} {
		order := buyUntilAnswered(t, client, sale, "before").Text("order_id")
		awaitPlaced(t, client, "before", order)
	}

	d.b.Kill()
	for i := range 10 {
		buyer := fmt.Sprint("meanwhile-", i)
		if answer, err := client.Buy(here, buyer, buyer); err != nil || answer.Status != http.StatusCreated {
			t.Errorf("a sale on main: got %d %s, %v; want 201", answer.Status, answer.Raw, err)
		}
		answer, err := client.Buy(gated, buyer, buyer)
		if err != nil || answer.Status != http.StatusAccepted {
			t.Errorf("a sale with a gate: got %d %s, %v; want 202", answer.Status, answer.Raw, err)
		}
		orders[answer.Text("order_id")] = buyer
		if answer, err := client.Buy(direct, buyer, buyer); err != nil || answer.Status != http.StatusServiceUnavailable && answer.Status != http.StatusAccepted {
			t.Errorf("a sale without a gate: got %d %s, %v; want 503", answer.Status, answer.Raw, err)
		}
	}
	wantAway(t, client, "b")
	if answer, err := client.Call(http.MethodGet, "/api/v1/sales/zzzzzzzz", "", "", nil); err != nil || answer.Status != http.StatusServiceUnavailable {
		t.Errorf("a sale that b may have: got %d %s, %v; want 503", answer.Status, answer.Raw, err)
	}
	listed, err := client.Call(http.MethodGet, "/api/v1/sales", "", "", nil)
	if sales, _ := listed.Body["sales"].([]any); err != nil || listed.Status != http.StatusOK || !strings.Contains(listed.Raw, here) {
		t.Errorf("list: got %d with %d sales, %v", listed.Status, len(sales), err)
	}
	paused := map[string]any{"on": true, "reason": "test"}
	if answer, err := client.Call(http.MethodPut, "/api/v1/admin/switches/pause_purchases", "operator", "admin", paused); err != nil || answer.Status != http.StatusServiceUnavailable {
		t.Errorf("a switch that b cannot record: got %d %s, %v; want 503", answer.Status, answer.Raw, err)
	}
	for _, sale := range []string{here, gated} {
		if answer, err := client.Buy(sale, "paused", "paused"); err != nil || answer.Text("code") != "paused" {
			t.Errorf("sale %s is paused: got %d %s, %v", sale, answer.Status, answer.Raw, err)
		}
	}
	for _, args := range [][]string{{"audit", "verify"}, {"checkpoints"}, {"replay", "--sale", gated}} {
		if got := Run(t, d.env, args...); got.Code != 1 || !strings.Contains(got.Stderr, "database b: PostgreSQL at "+d.b.Addr()) {
			t.Errorf("%v: exit %d\n%s%s", args, got.Code, got.Stdout, got.Stderr)
		}
	}
	var proved struct {
		OK        bool
		Databases []struct {
			Database, Error string
			OK              bool
		}
	}
	d.ask(t, &proved, 1, "audit", "verify", "--json")
	if of := proved.Databases; proved.OK || len(of) != 2 || !of[0].OK || of[0].Error != "" || of[1].Database != "b" || of[1].Error == "" {
		t.Errorf("audit verify --json: got %+v, want main proved and b away", proved)
	}
	if got := Run(t, d.env, "replay", "--sale", here); got.Code != 0 {
		t.Errorf("replay of a sale on main: exit %d\n%s", got.Code, got.Stderr)
	}

	late := Serve(t, ChildOptions{Env: d.env}) // starts while b is away
	wantAway(t, NewClient(late.URL), "b")
	d.b.Start()
	child.AwaitReady()
	testenv.Eventually(t, 60*time.Second, func() error {
		answer, err := client.Call(http.MethodPut, "/api/v1/admin/switches/pause_purchases", "operator", "admin", map[string]any{"on": false, "reason": "test"})
		if err == nil && answer.Status != http.StatusOK {
			err = errStatus(answer)
		}
		return err
	})
	for order, buyer := range orders {
		awaitPlaced(t, client, buyer, order)
		awaitPlaced(t, NewClient(late.URL), buyer, order)
	}
	if answer := buyUntilAnswered(t, NewClient(late.URL), direct, "after"); answer.Status != http.StatusCreated {
		t.Errorf("a sale on b by the late node: got %d %s", answer.Status, answer.Raw)
	}
	if got := Run(t, d.env, "reconcile"); got.Code != 0 {
		t.Errorf("reconcile: exit %d\n%s%s", got.Code, got.Stdout, got.Stderr)
	}
}

// wantAway wants a node that takes requests and says that one database does not answer.
func wantAway(t *testing.T, c *Client, database string) {
	t.Helper()
	testenv.Eventually(t, 30*time.Second, func() error {
		answer, err := c.Call(http.MethodGet, "/readyz", "", "", nil)
		if err != nil || answer.Status != http.StatusOK {
			return fmt.Errorf("got %v, %w", errStatus(answer), err)
		}
		checks, _ := answer.Body["checks"].([]any)
		away := slices.ContainsFunc(checks, func(c any) bool {
			check, _ := c.(map[string]any)
			return check["database"] == database && check["name"] == "event_store" && check["ready"] == false
		})
		if !away || strings.Contains(answer.Raw, `"database":"main","ready":false`) {
			return fmt.Errorf("want event_store of %s alone away: %s", database, answer.Raw)
		}
		return nil
	})
}

func TestDatabasesThatWouldBeTakenForEachOtherAreRefused(t *testing.T) {
	t.Parallel()
	main, redis := testenv.PrivatePostgres(t), testenv.PrivateRedis(t, testenv.RedisOptions{})
	main.Run("createdb", "other")
	other := strings.Replace(main.URL, "/seckill?", "/other?", 1)
	env := func(database, further string) []string {
		return []string{"SECKILL_DATABASE_URL=" + database, "SECKILL_DATABASES=" + further, "SECKILL_REDIS_URL=" + redis.URL,
			"SECKILL_JWT_SECRET=" + TestSecret, "SECKILL_DATA_DIR=" + t.TempDir()}
	}
	refused := func(env []string, want string, args ...string) {
		t.Helper()
		if got := Run(t, env, args...); got.Code != 1 || !strings.Contains(got.Stderr, want) {
			t.Errorf("%v: exit %d\n%s%s, want %q", args, got.Code, got.Stdout, got.Stderr, want)
		}
	}
	for _, url := range []string{main.URL, other} { // two installations that were apart
		if got := Run(t, env(url, ""), "migrate", "up"); got.Code != 0 {
			t.Fatal(got.Stderr)
		}
	}
	both := env(main.URL, "b="+other)
	refused(both, "the databases main and b are both store 1", "serve", "--http-addr", "127.0.0.1:0")
	refused(both, "the databases main and b are both store 1", "audit", "verify")
	same := env(main.URL, "b="+main.URL+"&application_name=twice")
	refused(same, "main and b are the same database", "reconcile")
	refused(same, "main and b are the same database", "migrate", "up")
	if got := Run(t, env(other, ""), "sale", "create", "--sku", "item", "--stock", "1"); got.Code != 0 {
		t.Fatal(got.Stderr)
	}
	refused(both, "is store 1 and holds events already", "migrate", "up")
}
