package obs

import (
	"bufio"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// scrape gives the series of m by name and labels.
func scrape(t *testing.T, m *Metrics) map[string]string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	series := map[string]string{}
	for lines := bufio.NewScanner(w.Body); lines.Scan(); {
		line := lines.Text()
		if i := strings.LastIndexByte(line, ' '); i > 0 && !strings.HasPrefix(line, "#") {
			series[line[:i]] = line[i+1:]
		}
	}
	return series
}

func known() Known {
	return Known{
		Outcomes:    []string{"accepted", "sold_out"},
		Scripts:     []string{"reserve", "apply"},
		Projections: []string{"order_view"}, Shards: 2, Alarms: []string{"poison"},
		Endpoints: []string{"purchases"},
	}
}

// serving gives metrics that know the purchase route.
func serving() *Metrics {
	m := New(known())
	m.Serve([]string{"/api/v1/sales/{sale}/purchases"})
	return m
}

func TestEveryFamilyIsThereFromTheStartAtZero(t *testing.T) {
	got := scrape(t, serving())
	want := []string{
		`seckill_purchases_total{outcome="accepted"}`, `seckill_purchases_total{outcome="sold_out"}`, `seckill_purchase_seconds_count`,
		`seckill_http_requests_total{route="/api/v1/sales/{sale}/purchases",status="5xx"}`,
		`seckill_http_request_seconds_count{route="/api/v1/sales/{sale}/purchases"}`,
		`seckill_gate_script_seconds_count{script="reserve"}`,
		`seckill_gate_script_batch_count{script="reserve"}`,
		`seckill_gate_script_longest_seconds{script="apply"}`,
		`seckill_recorder_pages_total`, `seckill_recorder_purchases_total`, `seckill_recorder_lag_entries`, `seckill_recorder_lanes`,
		`seckill_alarms_total{kind="poison"}`,
		`seckill_append_batches_total`, `seckill_append_events_total`, `seckill_append_retries_total`, `seckill_append_batch_seconds_count`,
		`seckill_log_position`, `seckill_relay_position`,
		`seckill_seal_position`, `seckill_projection_lag_seconds{projection="order_view"}`,
		`seckill_projection_newest_event_age_seconds{projection="order_view"}`,
		`seckill_projection_parked_sequences{projection="order_view"}`, `seckill_projection_parked_oldest_seconds{projection="order_view"}`,
		`seckill_projection_shard_lag_events{projection="order_view",shard="1"}`, `seckill_projection_shard_lag_seconds{projection="order_view",shard="0"}`,
		`seckill_projection_position{projection="order_view"}`, `seckill_projection_lag_events{projection="order_view"}`,
		`seckill_lanes{state="selling"}`, `seckill_lanes{state="closed"}`, `seckill_lanes{state="missing"}`, `seckill_kept_purchases`,
		`seckill_tranches_released_total`, `seckill_tranche_late_seconds`,
		`seckill_bucket_moves_total`, `seckill_bucket_moved_units_total`, `seckill_bucket_looks_total`, `seckill_bucket_units_in_flight`,
		`seckill_orders_expired_total`, `seckill_orders_overdue_seconds`,
		`seckill_limited_total{endpoint="purchases"}`, `seckill_endpoint_full_total{endpoint="purchases"}`, `seckill_limit_store_up`,
		`seckill_purchase_results_total{result="accepted"}`, `seckill_purchase_results_total{result="refused"}`, `seckill_purchase_results_total{result="failed"}`,
		`seckill_purchase_success_baseline`, `seckill_redis_connected_clients`, `seckill_redis_slow_commands_total`, `seckill_backlog{stage="journal"}`,
		`seckill_backlog_growth_per_second{stage="relay"}`, `seckill_backlog{stage="order_view"}`, `seckill_postgres_sessions{state="active"}`, `seckill_postgres_slow_statements`,
		`seckill_stock_left{sale="other",sku="other"}`, `seckill_drift_paused_sales`, `seckill_watch_seen_timestamp_seconds{part="redis"}`,
		`seckill_limited_buyers`, `seckill_limit_store_calls_total`, `seckill_limit_store_attempts_total`,
	}
	for _, name := range want {
		if value, ok := got[name]; !ok || value != "0" {
			t.Errorf("%s: got %q, want 0", name, value)
		}
	}
	for name := range got {
		if !strings.HasPrefix(name, "seckill_") {
			t.Errorf("%s does not begin with seckill_", name)
		}
	}
}

func TestWhatIsHandedInIsShown(t *testing.T) {
	m := serving()
	m.Purchase("sold_out", time.Millisecond)
	m.Request("/api/v1/sales/{sale}/purchases", 409, time.Millisecond)
	m.Script("reserve", 64, 700*time.Microsecond)
	m.Script("reserve", 64, 200*time.Microsecond)
	m.Recorded(64)
	m.Alarm("poison")
	m.Appended(192, 3, 5*time.Millisecond)
	m.LogAt(1000)
	m.SealedAt(800)
	m.ProjectionAt("order_view", ProjectionPlace{
		Position: 900, LagEvents: 100, Lag: 2 * time.Second, NewestAge: time.Second, Parked: 3, OldestParked: time.Minute,
	})
	m.ShardAt("order_view", 1, 100, 2*time.Second)
	m.Lanes(62, 1, 1)
	m.JournalLag(17)
	m.Kept(5)
	m.Queued(8, 90*time.Second)
	m.Limited("purchases")
	m.EndpointFull("purchases")
	m.LimitStore(true)
	m.LimitCall(64)
	m.LimitedBuyers(3)
	got := scrape(t, m)
	for name, want := range map[string]string{
		`seckill_purchases_total{outcome="sold_out"}`:                                      "1",
		`seckill_http_requests_total{route="/api/v1/sales/{sale}/purchases",status="4xx"}`: "1",
		`seckill_gate_script_batch_sum{script="reserve"}`:                                  "128",
		`seckill_gate_script_longest_seconds{script="reserve"}`:                            "0.0007",
		`seckill_recorder_purchases_total`:                                                 "64",
		`seckill_alarms_total{kind="poison"}`:                                              "1",
		`seckill_append_events_total`:                                                      "192",
		`seckill_append_retries_total`:                                                     "2",
		`seckill_log_position`:                                                             "1000",
		`seckill_seal_position`:                                                            "800",
		`seckill_projection_position{projection="order_view"}`:                             "900",
		`seckill_projection_lag_events{projection="order_view"}`:                           "100",
		`seckill_projection_lag_seconds{projection="order_view"}`:                          "2",
		`seckill_projection_newest_event_age_seconds{projection="order_view"}`:             "1",
		`seckill_projection_parked_sequences{projection="order_view"}`:                     "3",
		`seckill_projection_parked_oldest_seconds{projection="order_view"}`:                "60",
		`seckill_projection_shard_lag_events{projection="order_view",shard="1"}`:           "100",
		`seckill_projection_shard_lag_seconds{projection="order_view",shard="1"}`:          "2",
		`seckill_lanes{state="selling"}`:                                                   "62",
		`seckill_queued_orders`:                                                            "8",
		`seckill_oldest_queued_seconds`:                                                    "90",
		`seckill_recorder_lag_entries`:                                                     "17",
		`seckill_kept_purchases`:                                                           "5",
		`seckill_limited_total{endpoint="purchases"}`:                                      "1",
		`seckill_endpoint_full_total{endpoint="purchases"}`:                                "1",
		`seckill_limit_store_up`:                                                           "1",
		`seckill_limit_store_calls_total`:                                                  "1",
		`seckill_limit_store_attempts_total`:                                               "64",
		`seckill_limited_buyers`:                                                           "3",
	} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
}

func TestWhatACallerMakesUpAddsNoSeries(t *testing.T) {
	m := serving()
	before := len(scrape(t, m))
	m.Request("/made/up", 999, time.Second)
	m.Alarm("made up")
	m.Script("made up", 1, time.Second)
	m.ProjectionAt("made up", ProjectionPlace{Position: 1})
	m.ShardAt("made up", 0, 1, 0)
	m.ShardAt("order_view", 2, 1, 0)
	m.Purchase("made up", time.Second)
	m.Limited("made up")
	m.EndpointFull("made up")
	if after := len(scrape(t, m)); after != before {
		t.Errorf("got %d series after %d", after, before)
	}
}
