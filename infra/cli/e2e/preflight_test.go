package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/infra/testenv"
)

// ahead is what `preflight --json` prints.
type ahead struct {
	Go     bool
	Checks []struct{ Check, State, Seen, Do string }
}

func (a ahead) of(check string) (state, seen string) {
	for _, row := range a.Checks {
		if row.Check == check {
			return row.State, row.Seen
		}
	}
	return "missing", ""
}

func preflight(t *testing.T, env []string, args ...string) (Finished, ahead) {
	t.Helper()
	done := Run(t, env, append([]string{"preflight", "--json"}, args...)...)
	var report ahead
	if err := json.Unmarshal([]byte(done.Stdout), &report); err != nil {
		t.Fatalf("exit %d, %v\n%s%s", done.Code, err, done.Stdout, done.Stderr)
	}
	if (done.Code == 0) != report.Go {
		t.Errorf("exit %d with go %t", done.Code, report.Go)
	}
	return done, report
}

// saleIn creates a sale that opens later.
func saleIn(t *testing.T, c *Client, d time.Duration) string {
	t.Helper()
	body := saleBody(100)
	body["opens_at"], body["closes_at"] = time.Now().Add(d).Format(time.RFC3339), time.Now().Add(d+time.Hour).Format(time.RFC3339)
	answer, err := c.Call(http.MethodPost, "/api/v1/admin/sales", "boss", "admin", body)
	if err != nil || answer.Status != http.StatusCreated {
		t.Fatalf("create a sale: %d %s %v", answer.Status, answer.Raw, err)
	}
	return answer.Text("id")
}

func TestAPreflightSeesWhoServesAndWhatIsSetWrong(t *testing.T) {
	rig := NewRig(t)
	env := rig.Settings(t)
	child := Serve(t, ChildOptions{Env: env})
	node := NewClient(child.URL)
	sale := saleIn(t, node, 30*time.Minute)
	if answer, err := node.Call(http.MethodPost, "/api/v1/admin/sales/"+sale+"/preheat", "boss", "admin", nil); err != nil || answer.Status != http.StatusOK {
		t.Fatalf("preheat: %d %s %v", answer.Status, answer.Raw, err)
	}
	// The tests' PostgreSQL syncs nothing, so it is a no-go for that, and for nothing else.
	testenv.Eventually(t, 60*time.Second, func() error {
		_, seen := preflight(t, env, "--sale", sale, "--url", child.URL, "--page", child.URL+"/s/"+sale)
		for _, row := range seen.Checks {
			if row.State == "no-go" && row.Check != "postgres.fsync" && row.Check != "postgres.connections" { // other tests share them
				return fmt.Errorf("%+v", row)
			}
		}
		for _, check := range []string{"sale.state", "switches", "gate.preheat", "redis.policy", "redis.aof", "redis.memory", "clock.redis", "clock.postgres",
			"postgres.schema", "postgres.deadlines", "views.fresh", "role.recorder", "role.leads", "node.ready", "page.version", "tokens.keys"} {
			if state, says := seen.of(check); state != "ok" {
				return fmt.Errorf("%s: %s %s", check, state, says)
			}
		}
		return nil
	})
	child.Stop()
	_, seen := preflight(t, env, "--sale", sale, "--url", child.URL)
	for _, check := range []string{"role.recorder", "role.leads", "node.ready"} {
		if state, says := seen.of(check); state != "no-go" {
			t.Errorf("%s without a process: %s %s", check, state, says)
		}
	}
	evicting(t, rig)
	_, seen = preflight(t, env, "--sale", sale)
	for _, check := range []string{"stores.open", "redis.policy"} {
		if state, says := seen.of(check); state != "no-go" {
			t.Errorf("%s of an evicting Redis: %s %s", check, state, says)
		}
	}
	if state, says := seen.of("postgres.schema"); state != "ok" {
		t.Errorf("the schema: %s %s, want it looked at all the same", state, says)
	}
	if state, _ := seen.of("gate.preheat"); state != "not known" {
		t.Errorf("the gate: got %s, want not known", state)
	}
}

// evicting lets the rig's Redis throw keys away when it is full.
func evicting(t *testing.T, rig *Rig) {
	t.Helper()
	o, err := redis.ParseURL(rig.Redis.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(o)
	defer func() { _ = c.Close() }()
	if err := c.ConfigSet(context.Background(), "maxmemory-policy", "allkeys-lru").Err(); err != nil {
		t.Fatal(err)
	}
}

// A pool whose connections are all in use shows as such in what a running node says of
// itself, and stacks asks as an operator.
func TestStacksOfARunningNode(t *testing.T) {
	rig := NewRig(t)
	env := rig.Settings(t)
	child := Serve(t, ChildOptions{Env: env})
	done := Run(t, env, "stacks", "--url", child.URL, "--every", "1s", "--dumps", "2", "--json")
	var report struct {
		Dumps  []struct{ Goroutines int }
		Groups []struct {
			WaitsFor   string `json:"waits_for"`
			Goroutines []int
		}
	}
	if err := json.Unmarshal([]byte(done.Stdout), &report); err != nil || done.Code != 0 {
		t.Fatalf("exit %d, %v\n%s%s", done.Code, err, done.Stdout, done.Stderr)
	}
	if len(report.Dumps) != 2 || report.Dumps[0].Goroutines < 10 || len(report.Groups) < 4 {
		t.Errorf("got %s", done.Stdout)
	}
}
