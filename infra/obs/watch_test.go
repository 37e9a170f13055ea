package obs

import (
	"testing"
	"time"
)

func watched() *Metrics {
	k := known()
	k.Outcomes, k.Accepted, k.Failures = []string{"reserved", "sold_out", "busy"}, []string{"reserved"}, []string{"busy"}
	return New(k)
}

func TestEveryPurchaseIsAcceptedRefusedOrFailed(t *testing.T) {
	m := watched()
	for outcome, times := range map[string]int{"reserved": 3, "sold_out": 4, "busy": 2, "made up": 1} {
		for range times {
			m.Purchase(outcome, time.Millisecond)
		}
	}
	got := scrape(t, m)
	for result, want := range map[string]string{"accepted": "3", "refused": "4", "failed": "3"} { // what nobody knows has failed
		if value := got[`seckill_purchase_results_total{result="`+result+`"}`]; value != want {
			t.Errorf("%s: got %s, want %s", result, value, want)
		}
	}
	if by := m.PurchasesBy(); by["reserved"] != 3 || by["other"] != 1 || by["sold_out"] != 4 || !m.Failed("other") || m.Failed("sold_out") {
		t.Errorf("got %v", by)
	}
}

func TestWhatIsWatchedIsShown(t *testing.T) {
	m := watched()
	at := time.UnixMilli(1_800_000_000_500)
	m.Watching(at.Add(-time.Hour))
	m.Redis(RedisSeen{At: at, Clients: 40, Blocked: 3, FullestShare: .25, SlowCommands: 7, SlowLength: 128})
	m.Redis(RedisSeen{At: at, Clients: 41, Blocked: 3, FullestShare: .25, SlowCommands: 2, SlowLength: 128})
	m.Postgres(PostgresSeen{At: at, Active: 2, Idle: 9, IdleInTransaction: 1, Other: 4, Max: 100, LockWaits: 1, Slow: 5, Oldest: 3 * time.Second})
	m.Backlog(StageJournal, 12, -1.5)
	m.BacklogSeen(true, at)
	m.Stock(at, []StockLeft{{"s1", "shoe", 5}, {"s2", "shoe", 6}}, 1)
	m.Stock(at, []StockLeft{{"s2", "shoe", 4}}, 1)
	m.Baseline(.97)
	got := scrape(t, m)
	for name, want := range map[string]string{
		`seckill_redis_connected_clients`: "41", `seckill_redis_slow_commands_total`: "9", `seckill_redis_clients_share`: "0.25", `seckill_redis_slow_log_length`: "128",
		`seckill_postgres_sessions{state="idle_in_transaction"}`: "1", `seckill_postgres_sessions{state="other"}`: "4", `seckill_postgres_slow_statements`: "5",
		`seckill_postgres_oldest_transaction_seconds`: "3", `seckill_backlog{stage="journal"}`: "12", `seckill_backlog_growth_per_second{stage="journal"}`: "-1.5",
		`seckill_stock_left{sale="s2",sku="shoe"}`: "4", `seckill_stock_left{sale="s1",sku="shoe"}`: "", `seckill_drift_paused_sales`: "1", `seckill_purchase_success_baseline`: "0.97",
		`seckill_watch_seen_timestamp_seconds{part="journal"}`: "1.8000000005e+09", `seckill_watch_seen_timestamp_seconds{part="views"}`: "1.7999964005e+09",
	} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
}
