package obs

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Label values of how a purchase ended for the one who asked.
const (
	resultAccepted = "accepted"
	resultRefused  = "refused"
	resultFailed   = "failed"
)

// Label values of what is watched.
var (
	watchedParts  = [...]string{"redis", "postgres", "journal", "views", "sales"}
	sessionStates = [...]string{"active", "idle", "idle_in_transaction", "other"}
)

// Stages of the backlog beside the projections.
const (
	StageJournal = "journal"
	StageRelay   = "relay"
)

// watchSide are the families of the five things to watch, as far as no other side has
// them.
type watchSide struct {
	results  *prometheus.CounterVec
	result   map[string]prometheus.Counter // by result
	baseline prometheus.Gauge

	clients, blocked, clientShare, slowLength prometheus.Gauge
	slow                                      prometheus.Counter

	backlog, growth *prometheus.GaugeVec // by stage

	sessions                                            *prometheus.GaugeVec // by state
	maxSessions, lockWaits, slowStatements, oldestTrans prometheus.Gauge

	stock       *prometheus.GaugeVec // by sale and SKU
	driftPaused prometheus.Gauge
	seen        *prometheus.GaugeVec // by part
}

func newWatchSide(f factory) watchSide {
	return watchSide{
		results:        f.counters("purchase_results_total", "Purchases answered: accepted (an order came of it, or was there), refused for a reason that the sale or the request has, or failed (busy, not_ready, internal).", "result"),
		result:         map[string]prometheus.Counter{},
		baseline:       f.gauge("purchase_success_baseline", "Share of purchases that did not fail in the rehearsal that recorded it; 0 where none did."),
		clients:        f.gauge("redis_connected_clients", "Clients of the gate's Redis servers, of all of them together."),
		blocked:        f.gauge("redis_blocked_clients", "Clients that wait in a command, of all of the gate's Redis servers together; recorders wait so for journals."),
		clientShare:    f.gauge("redis_clients_share", "Clients of a Redis server of the gate as a share of its maxclients: of the fullest one."),
		slow:           f.counter("redis_slow_commands_total", "Commands that came to the slow logs of the gate's Redis servers while this process looked."),
		slowLength:     f.gauge("redis_slow_log_length", "Length of the slow logs of the gate's Redis servers, together."),
		backlog:        f.gauges("backlog", "What waits on the way from gate to views: entries of the journal, events before the relay and before each projection's slowest shard.", "stage"),
		growth:         f.gauges("backlog_growth_per_second", "How much seckill_backlog grew a second over the last ten seconds.", "stage"),
		sessions:       f.gauges("postgres_sessions", "Sessions of clients of the log's database, of all processes, by state.", "state"),
		maxSessions:    f.gauge("postgres_max_sessions", "max_connections of the log's database server."),
		lockWaits:      f.gauge("postgres_lock_waits", "Statements of the log's database that wait for a lock; those that wait for their turn to write to the log are among them."),
		slowStatements: f.gauge("postgres_slow_statements", "Statements of the log's database that have run for longer than the setting slow-statement."),
		oldestTrans:    f.gauge("postgres_oldest_transaction_seconds", "Age of the oldest open transaction of the log's database."),
		stock:          f.gauges("stock_left", "Units of an item that may still be sold, of the ten sales shown in the overview, by sale and SKU; other stands for none.", "sale", "sku"),
		driftPaused:    f.gauge("drift_paused_sales", "Sales that are paused because their books disagree."),
		seen:           f.gauges("watch_seen_timestamp_seconds", "When this process last saw what it watches, by part. Where it is old, the numbers of that part are.", "part"),
	}
}

// start brings known label values to 0.
func (s watchSide) start(projections []string) {
	for _, r := range []string{resultAccepted, resultRefused, resultFailed} {
		s.result[r] = s.results.WithLabelValues(r)
	}
	for _, stage := range append([]string{StageJournal, StageRelay}, projections...) {
		s.backlog.WithLabelValues(stage)
		s.growth.WithLabelValues(stage)
	}
	for _, state := range sessionStates {
		s.sessions.WithLabelValues(state)
	}
	s.stock.WithLabelValues(other, other)
	for _, part := range watchedParts {
		s.seen.WithLabelValues(part)
	}
}

// Watching says that watching begins: nothing is old yet.
func (m *Metrics) Watching(at time.Time) {
	for _, part := range watchedParts {
		m.watch.seen.WithLabelValues(part).Set(seconds(at))
	}
}

func seconds(at time.Time) float64 { return float64(at.UnixMilli()) / 1000 }

// RedisSeen is what the gate's Redis servers told together.
type RedisSeen struct {
	At                       time.Time
	Clients, Blocked         int64
	FullestShare             float64
	SlowCommands, SlowLength int64
}

// Redis shows what the gate's Redis servers told.
func (m *Metrics) Redis(s RedisSeen) {
	w := m.watch
	w.clients.Set(float64(s.Clients))
	w.blocked.Set(float64(s.Blocked))
	w.clientShare.Set(s.FullestShare)
	w.slow.Add(float64(max(s.SlowCommands, 0)))
	w.slowLength.Set(float64(s.SlowLength))
	w.seen.WithLabelValues("redis").Set(seconds(s.At))
}

// PostgresSeen is what the sessions of the log's database do.
type PostgresSeen struct {
	At                                     time.Time
	Active, Idle, IdleInTransaction, Other int
	Max, LockWaits, Slow                   int
	Oldest                                 time.Duration
}

// Postgres shows what the sessions of the log's database do.
func (m *Metrics) Postgres(s PostgresSeen) {
	w := m.watch
	for i, n := range [...]int{s.Active, s.Idle, s.IdleInTransaction, s.Other} {
		w.sessions.WithLabelValues(sessionStates[i]).Set(float64(n))
	}
	w.maxSessions.Set(float64(s.Max))
	w.lockWaits.Set(float64(s.LockWaits))
	w.slowStatements.Set(float64(s.Slow))
	w.oldestTrans.Set(s.Oldest.Seconds())
	w.seen.WithLabelValues("postgres").Set(seconds(s.At))
}

// Backlog shows what waits at a stage, a projection or one of the constants above, and
// how much that grows a second.
func (m *Metrics) Backlog(stage string, waiting int64, growth float64) {
	m.watch.backlog.WithLabelValues(stage).Set(float64(waiting))
	m.watch.growth.WithLabelValues(stage).Set(growth)
}

// BacklogSeen tells when the journal, or the views, were seen.
func (m *Metrics) BacklogSeen(journal bool, at time.Time) {
	part := "views"
	if journal {
		part = "journal"
	}
	m.watch.seen.WithLabelValues(part).Set(seconds(at))
}

// StockLeft is what is left of an item.
type StockLeft struct {
	Sale, SKU string
	Left      int64
}

// Stock shows what is left of the items that are watched, and how many sales drift
// pauses. Items that are watched no more are not shown any more.
func (m *Metrics) Stock(at time.Time, items []StockLeft, driftPaused int) {
	m.watch.stock.Reset()
	m.watch.stock.WithLabelValues(other, other)
	for _, i := range items {
		m.watch.stock.WithLabelValues(i.Sale, i.SKU).Set(float64(i.Left))
	}
	m.watch.driftPaused.Set(float64(driftPaused))
	m.watch.seen.WithLabelValues("sales").Set(seconds(at))
}

// Baseline shows the success rate of the rehearsal; 0 for none.
func (m *Metrics) Baseline(rate float64) { m.watch.baseline.Set(rate) }

// PurchasesBy gives how many purchases were answered so far, by outcome.
func (m *Metrics) PurchasesBy() map[string]float64 {
	counts := make(map[string]float64, len(m.bought))
	for outcome, counter := range m.bought {
		var now dto.Metric
		if err := counter.Write(&now); err != nil {
			continue // a counter of this package always writes itself
		}
		counts[outcome] = now.GetCounter().GetValue()
	}
	return counts
}

// Failed tells whether an outcome of a purchase is a failure.
func (m *Metrics) Failed(outcome string) bool { return m.resultOf(outcome) == resultFailed }

func (m *Metrics) resultOf(outcome string) string {
	switch {
	case slices.Contains(m.known.Failures, outcome) || !slices.Contains(m.known.Outcomes, outcome):
		return resultFailed
	case slices.Contains(m.known.Accepted, outcome):
		return resultAccepted
	}
	return resultRefused
}

// PoolsNow gives how the pools stand, by name.
func (m *Metrics) PoolsNow() map[string]PoolStats {
	m.guards.mu.Lock()
	defer m.guards.mu.Unlock()
	stats := map[string]PoolStats{}
	for name, ask := range m.guards.pools {
		stats[name] = ask()
	}
	return stats
}
