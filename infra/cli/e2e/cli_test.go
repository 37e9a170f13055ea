package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/infra/testenv"
)

// wantOneSentence checks an end with an exit code and one line that says why.
func wantOneSentence(t *testing.T, done Finished, code int, says string) {
	t.Helper()
	if done.Code != code {
		t.Errorf("exit code %d, want %d", done.Code, code)
	}
	if done.Stdout != "" {
		t.Errorf("stdout: got %q, want nothing", done.Stdout)
	}
	var lines []string
	for line := range strings.Lines(done.Stderr) {
		if !strings.HasPrefix(line, "Using ") { // what was started, said before
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 || !strings.Contains(lines[0], says) || strings.Contains(done.Stderr, "goroutine ") {
		t.Errorf("got %q, want one line that says %q", done.Stderr, says)
	}
}

// wantJSON checks that stdout is one JSON value and reads it.
func wantJSON[T any](t *testing.T, done Finished) T {
	t.Helper()
	var v T
	decoder := json.NewDecoder(strings.NewReader(done.Stdout))
	if err := decoder.Decode(&v); err != nil || done.Code != 0 {
		t.Fatalf("exit code %d, stdout %q (%v); stderr:\n%s", done.Code, done.Stdout, err, done.Stderr)
	}
	if _, err := decoder.Token(); err != io.EOF {
		t.Fatalf("stdout holds more than one JSON value: %q", done.Stdout)
	}
	return v
}

// buy asks for one unit and gives status and body.
func buy(t *testing.T, base, sale, sku, token string) (int, map[string]any) {
	t.Helper()
	return call(t, http.MethodPost, base+"/api/v1/sales/"+sale+"/purchases", token, fmt.Sprintf(`{"sku":%q,"quantity":1}`, sku))
}

func call(t *testing.T, method, url, token, body string) (int, map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var v map[string]any
	if err := json.NewDecoder(answer.Body).Decode(&v); err != nil {
		t.Fatalf("%s %s: status %d: %v", method, url, answer.StatusCode, err)
	}
	return answer.StatusCode, v
}

// awaitStatus polls an order until it has a status.
func awaitStatus(t *testing.T, base, order, token, status string) {
	t.Helper()
	testenv.Eventually(t, 20*time.Second, func() error {
		code, v := call(t, http.MethodGet, base+"/api/v1/orders/"+order, token, "")
		if code != http.StatusOK || v["status"] != status {
			return fmt.Errorf("got %d %v, want status %s", code, v, status)
		}
		return nil
	})
}

type saleLine struct {
	ID    string `json:"id"`
	State string `json:"state"`
}

func TestAnOperatorSteersASaleFromTheCommandLine(t *testing.T) {
	t.Parallel()
	data := "SECKILL_DATA_DIR=" + t.TempDir()
	env := []string{data}
	server := Serve(t, ChildOptions{Env: env})

	sale := wantJSON[saleLine](t, Run(t, env, "sale", "create", "--sku", "pen", "--stock", "3", "--price", "1.50", "--json"))
	list := wantJSON[struct{ Sales []saleLine }](t, Run(t, env, "sale", "list", "--json"))
	if len(list.Sales) != 1 || list.Sales[0].ID != sale.ID {
		t.Errorf("got sales %v, want the one that was made, %s", list.Sales, sale.ID)
	}
	if shown := Run(t, env, "sale", "show", sale.ID); shown.Code != 0 || !strings.Contains(shown.Stdout, "1.50 CNY") {
		t.Errorf("exit code %d and %q, want a table with the price", shown.Code, shown.Stdout)
	}

	token := strings.TrimSpace(Run(t, env, "token", "--buyer", "alice").Stdout)
	code, bought := buy(t, server.URL, sale.ID, "pen", token)
	if code != http.StatusAccepted {
		t.Fatalf("buy: got %d %v, want 202", code, bought)
	}
	awaitStatus(t, server.URL, bought["order_id"].(string), token, "placed")

	if paused := wantJSON[saleLine](t, Run(t, env, "sale", "pause", sale.ID, "--note", "lunch", "--json")); paused.State != "paused" {
		t.Errorf("state %q after a pause", paused.State)
	}
	other := strings.TrimSpace(Run(t, env, "token", "--buyer", "bob").Stdout)
	if code, v := buy(t, server.URL, sale.ID, "pen", other); code != http.StatusServiceUnavailable || v["code"] != "paused" {
		t.Errorf("buy while paused: got %d %v, want 503 paused", code, v)
	}
	if resumed := wantJSON[saleLine](t, Run(t, env, "sale", "resume", sale.ID, "--json")); resumed.State != "open" {
		t.Errorf("state %q after resuming", resumed.State)
	}
	report := wantJSON[struct {
		Sales []struct{ Released, Available, Reserved, Drift int64 }
	}](t, Run(t, env, "reconcile", "--json"))
	if s := report.Sales[0]; s.Released != 3 || s.Available != 2 || s.Reserved != 1 || s.Drift != 0 {
		t.Errorf("got %+v, want 3 released, 2 left, 1 reserved, no drift", s)
	}
	if closed := wantJSON[saleLine](t, Run(t, env, "sale", "close", sale.ID, "--json")); closed.State != "ended" {
		t.Errorf("state %q after closing", closed.State)
	}
	wantOneSentence(t, Run(t, env, "sale", "show", "zzzzzzzz"), 1, "no such sale")
	wantOneSentence(t, Run(t, append(env, "SECKILL_HTTP_ADDR="+server.addr), "serve"), 1, "is taken")

	checkSaidTwice(t, env, sale.ID)
	checkReplay(t, env, sale.ID)
	checkMetrics(t, server.URL)
	observer := Observe(t, ObserveOptions{Env: env})
	StandingChecks(t, observer, sale.ID, map[string]string{bought["order_id"].(string): "alice"})
	observer.Stop()
	checkAfterwards(t, env, server)
}

// checkSaidTwice checks that an action which finds everything done says so.
func checkSaidTwice(t *testing.T, env []string, sale string) {
	t.Helper()
	for range 2 {
		again := Run(t, env, "sale", "close", sale)
		if again.Code != 0 || !strings.Contains(again.Stderr, "Nothing changed") {
			t.Errorf("closing a closed sale: exit code %d, stderr %q; want 0 and that nothing changed", again.Code, again.Stderr)
		}
	}
}

// checkMetrics checks that what happened is counted, and where everything stands.
func checkMetrics(t *testing.T, base string) {
	t.Helper()
	testenv.Eventually(t, 10*time.Second, func() error {
		answer, err := http.Get(base + "/metrics")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		raw, err := io.ReadAll(answer.Body)
		if err != nil {
			return err
		}
		for _, want := range []string{
			`seckill_purchases_total{outcome="reserved"} 1`, `seckill_purchases_total{outcome="paused"} 1`, `seckill_lanes{state="selling"} 1`,
			`seckill_log_position 8`, `seckill_relay_position 8`, `seckill_projection_position{projection="order_view"} 8`,
			`seckill_recorder_purchases_total 1`, `seckill_kept_purchases 0`, `seckill_gate_script_batch_count{script="reserve"} 2`,
		} {
			if !strings.Contains(string(raw), want+"\n") {
				return fmt.Errorf("no line %q in /metrics", want)
			}
		}
		return nil
	})
}

// checkAfterwards stops serving: what was stored is there at the next start.
func checkAfterwards(t *testing.T, env []string, server *Child) {
	t.Helper()
	if code := server.Stop(); code != 0 {
		t.Errorf("serve ended with %d after a signal, want 0", code)
	}
	listed := Run(t, env, "sale", "list", "--json")
	if again := wantJSON[struct{ Sales []saleLine }](t, listed); len(again.Sales) != 1 {
		t.Errorf("got sales %v after a restart, want one", again.Sales)
	}
	if !strings.Contains(listed.Stderr, "No process serves") {
		t.Errorf("nobody serves, and the list says only %q", listed.Stderr)
	}
	wantOneSentence(t, Run(t, env, "reconcile"), 1, "No process serves")
}

// checkReplay checks the names of stored events and the filters.
func checkReplay(t *testing.T, env []string, sale string) {
	t.Helper()
	done := Run(t, env, "replay", "--json", "--sale", sale)
	want := []string{"sale.scheduled", "stock.released", "sale.preheated", "stock.reserved", "order.placed", "sale.paused", "sale.resumed", "sale.closed"}
	var got []string
	for line := range strings.Lines(done.Stdout) {
		var e struct {
			Position, Version                   int64
			Event_ID, Stream, Type, Recorded_at string
			Payload, Metadata                   map[string]any
			Hash                                string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("a line is no event: %v in %q", err, line)
		}
		if e.Position != int64(len(got)+1) || e.Version < 1 || e.Event_ID == "" || e.Stream == "" || e.Recorded_at == "" || e.Payload == nil || e.Metadata == nil || len(e.Hash) != 64 {
			t.Errorf("event %d lacks something: %s", len(got)+1, line)
		}
		got = append(got, e.Type)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("got events %v, want %v", got, want)
	}
	if some := Run(t, env, "replay", "--from", "2", "--to", "4"); strings.Count(some.Stdout, "\n") != 3 {
		t.Errorf("positions 2 to 4 gave %q", some.Stdout)
	}
	if some := Run(t, env, "replay", "--since", "1h", "--stream", "sale-"+sale); strings.Count(some.Stdout, "\n") != 5 {
		t.Errorf("the sale's stream gave %q, want 5 events", some.Stdout)
	}
	list := wantJSON[struct {
		Head        int64
		Projections []struct{ Behind int64 }
	}](t, Run(t, env, "checkpoints", "--json"))
	if list.Head != int64(len(want)) || len(list.Projections) == 0 {
		t.Errorf("checkpoints: got head %d and %d lines, want head %d", list.Head, len(list.Projections), len(want))
	}
}

func TestASchemaIsMadeByMigrateAndANewerOneIsRefused(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	ns := testenv.Namespace(t)
	env := append(r.Settings(t), "SECKILL_NAMESPACE="+ns, "SECKILL_HTTP_ADDR=127.0.0.1:0")
	type schema struct {
		Version, Latest int
		Pending         []string
	}
	before := wantJSON[schema](t, Run(t, env, "migrate", "status", "--json"))
	if before.Version != 0 || len(before.Pending) != before.Latest {
		t.Errorf("before: got %+v, want version 0 and everything pending", before)
	}
	after := wantJSON[schema](t, Run(t, env, "migrate", "up", "--json"))
	if after.Version != after.Latest || len(after.Pending) != 0 {
		t.Errorf("after: got %+v, want the latest version", after)
	}
	set := func(version int) {
		t.Helper()
		if _, err := r.Pool.Exec(context.Background(), fmt.Sprintf("reset role; update %s.schema_version set version = %d", ns, version)); err != nil {
			t.Fatal(err)
		}
	}
	set(after.Latest + 1)
	wantOneSentence(t, Run(t, env, "serve"), 1, "newer seckill")
	if status := Run(t, env, "migrate", "status"); status.Code != 1 || !strings.Contains(status.Stderr, "newer seckill") || !strings.Contains(status.Stdout, "version") {
		t.Errorf("status of a newer schema: exit code %d, %q and %q; want 1, the version and a warning", status.Code, status.Stdout, status.Stderr)
	}
	set(after.Latest - 1)
	wantOneSentence(t, Run(t, env, "serve"), 1, "seckill migrate up")
}

func TestAFindingOfReconcileIsExitCodeThree(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	env := r.Settings(t)
	ServeRig(t, r)
	sale := wantJSON[saleLine](t, Run(t, env, "sale", "create", "--sku", "pen", "--stock", "3", "--json"))
	if done := Run(t, env, "reconcile", "--sale", sale.ID); done.Code != 0 {
		t.Fatalf("exit code %d before anything was broken:\n%s", done.Code, done.Stdout)
	}
	StandingChecks(t, r.Node(t, NodeOptions{APIOnly: true}), sale.ID, nil)
	inventUnit(t, r)
	done := Run(t, env, "reconcile", "--sale", sale.ID, "--json")
	var report struct {
		Sales []struct {
			Drift    int
			Findings []struct{ Kind string }
		}
	}
	if err := json.Unmarshal([]byte(done.Stdout), &report); err != nil || done.Code != 3 {
		t.Fatalf("exit code %d, want 3; stdout %q (%v)", done.Code, done.Stdout, err)
	}
	if s := report.Sales[0]; s.Drift != 1 || s.Findings[0].Kind != "gate_above_log" {
		t.Errorf("got %+v, want one finding of kind gate_above_log", s)
	}
}

// inventUnit gives the gate a unit that the log does not know.
func inventUnit(t *testing.T, r *Rig) {
	t.Helper()
	opts, err := redis.ParseURL(r.Redis.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(opts)
	defer client.Close()
	ctx := context.Background()
	keys, err := client.Keys(ctx, "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if has, err := client.HExists(ctx, key, "available").Result(); err == nil && has {
			if err := client.HIncrBy(ctx, key, "available", 1).Err(); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("no stock hash among %v", keys)
}

func TestRolesInSeparateProcessesServeOneSale(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	env := r.Settings(t)
	front := Serve(t, ChildOptions{Env: env, Args: []string{"--roles", "api"}})
	back := NewChild(t, ChildOptions{Env: env, Args: []string{"--roles", "recorder,relay,projector,scheduler"}})
	back.Start()
	sale := wantJSON[saleLine](t, Run(t, env, "sale", "create", "--sku", "pen", "--stock", "3", "--json"))
	token := strings.TrimSpace(Run(t, env, "token", "--buyer", "alice").Stdout)
	var order string
	testenv.Eventually(t, 20*time.Second, func() error {
		code, v := buy(t, front.URL, sale.ID, "pen", token)
		if code != http.StatusAccepted && code != http.StatusOK {
			return fmt.Errorf("got %d %v", code, v)
		}
		order = v["order_id"].(string)
		return nil
	})
	awaitStatus(t, front.URL, order, token, "placed")
	StandingChecks(t, r.Node(t, NodeOptions{APIOnly: true}), sale.ID, map[string]string{order: "alice"})
	// A process without the api role answers for its health and metrics alone.
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/api/v1/sales": 404} {
		answer, err := NewClient(back.URL).Call(http.MethodGet, path, "", "", nil)
		if err != nil || answer.Status != want {
			t.Errorf("%s of the back: %d, %v; want %d", path, answer.Status, err, want)
		}
	}
	if code := back.Stop(); code != 0 {
		t.Errorf("the back ended with %d after a signal, want 0", code)
	}
	// Redis runs on, so the books can be compared; that nobody records is said.
	if done := Run(t, env, "reconcile"); done.Code != 0 || !strings.Contains(done.Stderr, "No process serves") {
		t.Errorf("reconcile with nobody recording: exit code %d, stderr %q; want 0 and that nobody serves", done.Code, done.Stderr)
	}
}
