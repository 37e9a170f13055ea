package e2e

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"seckill/infra/embedded"
)

// demoKeys are the keys of demo --json, as the contract lists them.
var demoKeys = []string{
	"sale_id", "strategy", "stock", "buyers", "accepted", "placed", "sold_out", "refused", "errors", "oversold", "undersold",
	"drift", "accept_per_s", "placed_per_s", "p50_ms", "p99_ms", "drain_ms",
	"paid", "cancelled", "returned",
}

// runDemo runs a demo to its end and gives its result, once what it left has
// passed the standing checks.
func runDemo(t *testing.T, o ObserveOptions, args ...string) map[string]any {
	t.Helper()
	env := []string{"SECKILL_HTTP_ADDR=127.0.0.1:0", "SECKILL_DATA_DIR=" + o.Dir, "SECKILL_REDIS_BIN=" + o.RedisBin}
	done := Run(t, env, append([]string{"demo", "--exit", "--json"}, args...)...)
	if done.Code != 0 {
		t.Fatalf("exit code %d, want 0:\n%s", done.Code, done.Stderr)
	}
	var result map[string]any
	if err := json.Unmarshal([]byte(done.Stdout), &result); err != nil {
		t.Fatalf("stdout is not one JSON object: %v in %q", err, done.Stdout)
	}
	got, want := slices.Sorted(maps.Keys(result)), slices.Sorted(slices.Values(demoKeys))
	if !slices.Equal(got, want) {
		t.Errorf("got keys %v, want %v", got, want)
	}
	if strings.Contains(done.Stderr, "\x1b") {
		t.Errorf("stderr holds cursor codes although it is no terminal: %q", done.Stderr)
	}
	o.Alone = true
	observer := Observe(t, o)
	sale := result["sale_id"].(string)
	observer.AwaitOpen(t, sale)
	orders := ordersOf(t, observer, sale)
	if accepted := result["accepted"].(float64); float64(len(orders)) != accepted {
		t.Errorf("the log decided %d orders, and %v purchases were accepted", len(orders), accepted)
	}
	StandingChecks(t, observer, sale, orders)
	return result
}

func wantNumbers(t *testing.T, result map[string]any, want map[string]float64) {
	t.Helper()
	for key, n := range want {
		if got, ok := result[key].(float64); !ok || got != n {
			t.Errorf("%s: got %v, want %v", key, result[key], n)
		}
	}
}

func TestADemoSellsExactlyItsStockAndProvesIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	result := runDemo(t, ObserveOptions{Dir: dir}, "--stock", "200", "--buyers", "1000")
	wantNumbers(t, result, map[string]float64{
		"stock": 200, "buyers": 1000, "accepted": 200, "placed": 200, "sold_out": 800, "errors": 0,
		"oversold": 0, "undersold": 0, "drift": 0, "paid": 100, "cancelled": 40, "returned": 40,
	})
	if p99 := result["p99_ms"].(float64); p99 <= 0 || result["p50_ms"].(float64) > p99 {
		t.Errorf("got p50 %v and p99 %v ms", result["p50_ms"], p99)
	}

	// The data is left: what was sold then still agrees, and is in the log.
	sale := result["sale_id"].(string)
	if done := Run(t, nil, "replay", "--json", "--sale", sale, "--type", "order.placed", "--data", dir); strings.Count(done.Stdout, "\n") != 200 {
		t.Errorf("got %d lines of placed orders (exit %d), want 200:\n%s", strings.Count(done.Stdout, "\n"), done.Code, done.Stderr)
	}
}

func TestADemoWithMoreStockThanBuyersSellsToEveryBuyer(t *testing.T) {
	t.Parallel()
	result := runDemo(t, ObserveOptions{Dir: t.TempDir()}, "--stock", "500", "--buyers", "100")
	wantNumbers(t, result, map[string]float64{"accepted": 100, "placed": 100, "sold_out": 0, "oversold": 0, "undersold": 0, "drift": 0})
}

func TestADemoWithoutAGateSellsExactlyItsStock(t *testing.T) {
	t.Parallel()
	result := runDemo(t, ObserveOptions{Dir: t.TempDir()}, "--strategy", "postgres", "--stock", "200", "--buyers", "1000")
	wantNumbers(t, result, map[string]float64{
		"accepted": 200, "placed": 200, "sold_out": 800, "errors": 0, "oversold": 0, "undersold": 0, "drift": 0, "paid": 100, "cancelled": 40, "returned": 40,
	})
}

func TestADemoInBucketsSellsExactlyItsStock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	result := runDemo(t, ObserveOptions{Dir: dir}, "--buckets", "16", "--stock", "100", "--buyers", "600")
	wantNumbers(t, result, map[string]float64{
		"placed": 100, "errors": 0, "oversold": 0, "undersold": 0, "drift": 0,
	})
	sale := result["sale_id"].(string)
	if done := Run(t, nil, "sale", "show", sale, "--json", "--data", dir); !strings.Contains(done.Stdout, `"buckets":16`) {
		t.Errorf("exit %d: %s%s, want a sale of 16 buckets", done.Code, done.Stdout, done.Stderr)
	}
}

func TestADemoWorksOnAnImitatedRedis(t *testing.T) {
	t.Parallel()
	result := runDemo(t, ObserveOptions{Dir: t.TempDir(), RedisBin: embedded.InProcessRedis}, "--stock", "50", "--buyers", "300")
	wantNumbers(t, result, map[string]float64{
		"accepted": 50, "placed": 50, "sold_out": 250, "errors": 0, "oversold": 0, "undersold": 0, "drift": 0,
	})
}
