package obs

import (
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Known lists the label values that exist from the start. A value that is not
// listed is counted under "other".
type Known struct {
	Outcomes    []string // of purchases, as the HTTP server names them
	Accepted    []string // those of them by which there is an order
	Failures    []string // those of them that are neither that nor a refusal that the sale has
	Scripts     []string // of the gate
	Projections []string
	Shards      int      // of each projection
	Alarms      []string // kinds
	Findings    []string // kinds, of a reconciliation
	Switches    []string
	Endpoints   []string // that have limits
	Answers     []string // kinds, given without asking the gate to reserve
}

const other = "other"

// statusClasses are the label values of an HTTP status.
var statusClasses = [...]string{"1xx", "2xx", "3xx", "4xx", "5xx"}

// laneStates are the label values of seckill_lanes.
var laneStates = [...]string{"selling", "closed", "missing"}

// Metrics is what the process shows. All methods are safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	known    Known
	routes   map[string]routeSeries // by route; what is not served is under other

	purchases    *prometheus.CounterVec
	bought       map[string]prometheus.Counter // the known ones of purchases, by outcome
	results      map[string]prometheus.Counter // the same, by what came of it
	purchaseTime prometheus.Histogram
	requests     *prometheus.CounterVec
	requestTime  *prometheus.HistogramVec

	scriptTime    *prometheus.HistogramVec
	scriptBatch   *prometheus.HistogramVec
	scriptLongest *longest

	recorderPages, recorderPurchases prometheus.Counter
	recorderLag, recorderLanes       prometheus.Gauge
	alarms                           *prometheus.CounterVec

	appendBatches, appendEvents, appendRetries prometheus.Counter
	appendTime                                 prometheus.Histogram

	read     readSide
	books    booksSide
	preheat  preheatSide
	tranches trancheSide
	moved    moveSide
	limits   limitSide
	lanes    *prometheus.GaugeVec
	kept     prometheus.Gauge

	answers answersSide

	queuedOrders, queuedOldest prometheus.Gauge

	expired prometheus.Counter
	overdue prometheus.Gauge

	guards *guards

	switches *prometheus.GaugeVec

	members *prometheus.GaugeVec

	watch watchSide
}

// gcPauses adds the pauses of the garbage collector as a histogram.
var gcPauses = collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/sched/pauses/total/gc:seconds$`)}

// times are the buckets of durations in seconds, from a tenth of a millisecond.
var times = [...]float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// New makes every family.
func New(known Known) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), known: known}
	f := factory{m.registry}
	m.serving(f)
	m.answers = newAnswersSide(f)
	m.recording(f)
	m.following(f)
	m.guards = newGuards()
	m.switches = newSwitches(f)
	m.members = newMemberLists(f)
	m.watch = newWatchSide(f)
	m.registry.MustRegister(m.guards)
	m.start()
	prefixed := prometheus.WrapRegistererWithPrefix("seckill_", m.registry)
	prefixed.MustRegister(collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(gcPauses)), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *Metrics) serving(f factory) {
	m.purchases = f.counters("purchases_total", "Purchases answered, by outcome.", "outcome")
	m.purchaseTime = f.histogram("purchase_seconds", "Time from a purchase's arrival to its answer.", times[:])
	m.requests = f.counters("http_requests_total", "HTTP requests answered, by route and class of status.", "route", "status")
	m.requestTime = f.histograms("http_request_seconds", "Time from the request's head to the end of its answer, by route.", times[:], "route")
	m.scriptTime = f.histograms("gate_script_seconds", "Time of one script call of the gate as its caller sees it.", times[:], "script")
	m.scriptBatch = f.histograms("gate_script_batch", "Purchases or pages in one script call of the gate.", prometheus.ExponentialBuckets(1, 2, 10), "script")
	m.scriptLongest = &longest{gauge: f.gauges("gate_script_longest_seconds", "The longest script call of the gate since the start.", "script")}
}

func (m *Metrics) recording(f factory) {
	m.recorderPages = f.counter("recorder_pages_total", "Pages of the journal recorded by this process.")
	m.recorderPurchases = f.counter("recorder_purchases_total", "Purchases recorded by this process.")
	m.recorderLanes = f.gauge("recorder_lanes", "Lanes whose journals this process records: its share among the recorders that live.")
	m.recorderLag = f.gauge("recorder_lag_entries", "Journal entries that the gate wrote and the log has not recorded, over all lanes.")
	m.alarms = f.counters("alarms_total", "What a person must look at, by kind.", "kind")
	m.appendBatches = f.counter("append_batches_total", "Batches committed to the event store by this process.")
	m.appendEvents = f.counter("append_events_total", "Events stored by this process.")
	m.appendRetries = f.counter("append_retries_total", "Batches that had to be tried again.")
	m.appendTime = f.histogram("append_batch_seconds", "Time of a batch from asking for the log lock to the end of its commit.", times[:])
}

func (m *Metrics) following(f factory) {
	m.read = newReadSide(f)
	m.books = newBooksSide(f)
	m.preheat = newPreheatSide(f)
	m.tranches = newTrancheSide(f)
	m.moved = newMoveSide(f)
	m.limits = newLimitSide(f)
	m.lanes = f.gauges("lanes", "Lanes of the gate by state.", "state")
	m.queuedOrders = f.gauge("queued_orders", "Accepted purchases that the log has not decided; estimated where many journal entries wait.")
	m.queuedOldest = f.gauge("oldest_queued_seconds", "Age of the oldest accepted purchase that the log has not decided, as this process sees it; 0 where there is none.")
	m.kept = f.gauge("kept_purchases", "Acknowledged purchases that this process holds until the log has them.")
	m.expired = f.counter("orders_expired_total", "Orders that this process ended because nobody paid in time.")
	m.overdue = f.gauge("orders_overdue_seconds", "For how long the oldest order that could not be ended has been due.")
}

// start brings known label values to 0.
func (m *Metrics) start() {
	m.watch.start(m.known.Projections)
	m.bought, m.results = map[string]prometheus.Counter{}, map[string]prometheus.Counter{}
	for _, outcome := range append(slices.Clone(m.known.Outcomes), other) {
		m.bought[outcome] = m.purchases.WithLabelValues(outcome)
		m.results[outcome] = m.watch.result[m.resultOf(outcome)]
	}
	m.Serve(nil)
	for _, script := range append(slices.Clone(m.known.Scripts), other) {
		m.scriptTime.WithLabelValues(script)
		m.scriptBatch.WithLabelValues(script)
		m.scriptLongest.gauge.WithLabelValues(script)
	}
	for _, kind := range append(slices.Clone(m.known.Alarms), other) {
		m.alarms.WithLabelValues(kind)
	}
	m.answers.start(m.known.Answers)
	m.SwitchedOn(nil)
	m.read.start(m.known.Projections, m.known.Shards)
	for _, kind := range append(slices.Clone(m.known.Findings), other) {
		m.books.findings.WithLabelValues(kind)
	}
	m.limits.start(m.known.Endpoints)
	for _, state := range laneStates {
		m.lanes.WithLabelValues(state)
	}
}

// Serve names the routes of the HTTP server, before it serves: the server is made
// after the metrics that it counts with.
func (m *Metrics) Serve(routes []string) {
	m.routes = map[string]routeSeries{}
	for _, route := range append(slices.Clone(routes), other) {
		series := routeSeries{took: m.requestTime.WithLabelValues(route)}
		for i, class := range statusClasses {
			series.answered[i] = m.requests.WithLabelValues(route, class)
		}
		m.routes[route] = series
	}
}

// routeSeries are the series of one route, found once.
type routeSeries struct {
	answered [len(statusClasses)]prometheus.Counter
	took     prometheus.Observer
}

// Handler serves /metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Purchase counts a purchase by what it was told.
func (m *Metrics) Purchase(outcome string, took time.Duration) {
	if _, ok := m.bought[outcome]; !ok {
		outcome = other
	}
	m.bought[outcome].Inc()
	m.results[outcome].Inc()
	m.purchaseTime.Observe(took.Seconds())
}

// Request counts an HTTP request; route is its pattern.
func (m *Metrics) Request(route string, status int, took time.Duration) {
	series, ok := m.routes[route]
	if !ok {
		series = m.routes[other]
	}
	series.answered[min(max(status/100, 1), len(statusClasses))-1].Inc()
	series.took.Observe(took.Seconds())
}

// Script counts one call of a script of the gate and what was in it.
func (m *Metrics) Script(name string, batch int, took time.Duration) {
	name = oneOf(m.known.Scripts, name)
	m.scriptTime.WithLabelValues(name).Observe(took.Seconds())
	m.scriptBatch.WithLabelValues(name).Observe(float64(batch))
	m.scriptLongest.see(name, took)
}

// Recorded counts a page of the journal.
func (m *Metrics) Recorded(purchases int) {
	m.recorderPages.Inc()
	m.recorderPurchases.Add(float64(purchases))
}

// RecordedLanes shows how many lanes this process records.
func (m *Metrics) RecordedLanes(n int) { m.recorderLanes.Set(float64(n)) }

// Alarm counts what a person must look at.
func (m *Metrics) Alarm(kind string) {
	m.alarms.WithLabelValues(oneOf(m.known.Alarms, kind)).Inc()
}

// Appended counts a committed batch; tries is 1 when nothing went wrong.
func (m *Metrics) Appended(events, tries int, took time.Duration) {
	m.appendBatches.Inc()
	m.appendEvents.Add(float64(events))
	m.appendRetries.Add(float64(max(tries-1, 0)))
	m.appendTime.Observe(took.Seconds())
}

// Lanes shows how many lanes are in which state.
func (m *Metrics) Lanes(selling, closed, missing int) {
	for i, n := range [...]int{selling, closed, missing} {
		m.lanes.WithLabelValues(laneStates[i]).Set(float64(n))
	}
}

// JournalLag shows how many journal entries the log has yet to record.
func (m *Metrics) JournalLag(entries int64) { m.recorderLag.Set(float64(entries)) }

// Kept shows how many acknowledged purchases are held.
func (m *Metrics) Kept(n int) { m.kept.Set(float64(n)) }

// Swept counts the orders that a sweep ended, and shows for how long the oldest
// one that it could not end has been due.
func (m *Metrics) Swept(expired int, overdue time.Duration) {
	m.expired.Add(float64(expired))
	m.overdue.Set(overdue.Seconds())
}

// Queued shows how many accepted purchases are undecided, and how old the oldest is.
func (m *Metrics) Queued(orders int64, oldest time.Duration) {
	m.queuedOrders.Set(float64(orders))
	m.queuedOldest.Set(oldest.Seconds())
}

func oneOf(known []string, value string) string {
	if slices.Contains(known, value) {
		return value
	}
	return other
}

// longest keeps the longest duration per label.
type longest struct {
	gauge *prometheus.GaugeVec
	mu    sync.Mutex
	seen  map[string]time.Duration
}

func (l *longest) see(name string, took time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if took <= l.seen[name] {
		return
	}
	if l.seen == nil {
		l.seen = map[string]time.Duration{}
	}
	l.seen[name] = took
	l.gauge.WithLabelValues(name).Set(took.Seconds())
}
