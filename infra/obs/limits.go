package obs

import "github.com/prometheus/client_golang/prometheus"

// limitSide are the families of the limits.
type limitSide struct {
	limited, full   *prometheus.CounterVec // by endpoint
	storeUp, marked prometheus.Gauge
	calls, asked    prometheus.Counter
	node            *prometheus.GaugeVec
}

func newLimitSide(f factory) limitSide {
	return limitSide{
		limited: f.counters("limited_total", "Requests refused because their buyer asked too often, by endpoint.", "endpoint"),
		full:    f.counters("endpoint_full_total", "Requests refused by the limit of all buyers together at this node, by endpoint.", "endpoint"),
		storeUp: f.gauge("limit_store_up", "1 while nodes share the limits per buyer; 0 while each holds them by itself, because their store is away or they are off."),
		marked:  f.gauge("limited_buyers", "Buyers whom this node refused in the last ten minutes."),
		node:    f.gauges("node_info", "Always 1: which process these metrics are of, by the name in the marks of the limits and in the log.", "node"),
		calls:   f.counter("limit_store_calls_total", "Calls to the store of limits that were answered."),
		asked:   f.counter("limit_store_attempts_total", "Requests in the calls to the store of limits, probes included."),
	}
}

// start brings known label values to 0.
func (l limitSide) start(endpoints []string) {
	l.node.WithLabelValues("").Set(1)
	for _, endpoint := range append([]string{other}, endpoints...) {
		l.limited.WithLabelValues(endpoint)
		l.full.WithLabelValues(endpoint)
	}
}

// Limited counts a request that was refused because its buyer asked too often.
func (m *Metrics) Limited(endpoint string) {
	m.limits.limited.WithLabelValues(oneOf(m.known.Endpoints, endpoint)).Inc()
}

// EndpointFull counts a request that the limit of all buyers together refused.
func (m *Metrics) EndpointFull(endpoint string) {
	m.limits.full.WithLabelValues(oneOf(m.known.Endpoints, endpoint)).Inc()
}

// LimitStore shows whether nodes share the limits.
func (m *Metrics) LimitStore(up bool) {
	value := 0.0
	if up {
		value = 1
	}
	m.limits.storeUp.Set(value)
}

// LimitCall counts an answered call to the store of limits.
func (m *Metrics) LimitCall(attempts int) {
	m.limits.calls.Inc()
	m.limits.asked.Add(float64(attempts))
}

// LimitedBuyers shows how many buyers are marked.
func (m *Metrics) LimitedBuyers(n int) { m.limits.marked.Set(float64(n)) }

// Node names the process that the metrics are of.
func (m *Metrics) Node(name string) {
	m.limits.node.Reset()
	m.limits.node.WithLabelValues(name).Set(1)
}
