package obs

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// booksSide are the families of reconciliation.
type booksSide struct {
	findings           *prometheus.GaugeVec // by kind
	lastRun, lastClean prometheus.Gauge
	closed             prometheus.Gauge
	took               prometheus.Histogram
}

func newBooksSide(f factory) booksSide {
	return booksSide{
		findings:  f.gauges("reconcile_findings", "Findings of the last reconciliation of all sales, by kind.", "kind"),
		lastRun:   f.gauge("reconcile_last_run_timestamp_seconds", "When this process last reconciled all sales; 0 for never."),
		lastClean: f.gauge("reconcile_last_clean_timestamp_seconds", "When a reconciliation of this process last compared every sale and found nothing; 0 for never."),
		closed:    f.gauge("reconcile_not_compared", "Sales that the last reconciliation could not compare, such as those whose gate was not open."),
		took:      f.histogram("reconcile_seconds", "Time of a reconciliation of all sales.", times[:]),
	}
}

// Books is what one reconciliation of all sales found. Clean: every sale was
// compared and nothing was found.
type Books struct {
	At       time.Time
	Took     time.Duration
	Closed   int
	Clean    bool
	Findings map[string]int // by kind
}

// Reconciled shows the last reconciliation.
func (m *Metrics) Reconciled(b Books) {
	counts := map[string]int{}
	for kind, n := range b.Findings {
		counts[oneOf(m.known.Findings, kind)] += n
	}
	for _, kind := range append([]string{other}, m.known.Findings...) {
		m.books.findings.WithLabelValues(kind).Set(float64(counts[kind]))
	}
	m.books.took.Observe(b.Took.Seconds())
	m.books.closed.Set(float64(b.Closed))
	m.books.lastRun.Set(float64(b.At.Unix()))
	if b.Clean {
		m.books.lastClean.Set(float64(b.At.Unix()))
	}
}
