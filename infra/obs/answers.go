package obs

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// answersSide are the families of purchases that were answered without asking the
// gate to reserve, and of what that stands on.
type answersSide struct {
	known               *prometheus.CounterVec
	kinds               map[string]prometheus.Counter
	offset, uncertainty prometheus.Gauge
}

func newAnswersSide(f factory) answersSide {
	return answersSide{
		kinds:       map[string]prometheus.Counter{},
		known:       f.counters("known_answers_total", "Purchases answered without asking the gate to reserve, by kind.", "kind"),
		offset:      f.gauge("gate_clock_offset_seconds", "How far the gate's clock is ahead of this machine's."),
		uncertainty: f.gauge("gate_clock_uncertainty_seconds", "Bound on the error of seckill_gate_clock_offset_seconds; -1 while the offset is not known."),
	}
}

func (s answersSide) start(kinds []string) {
	for _, kind := range append(slices.Clone(kinds), other) {
		s.kinds[kind] = s.known.WithLabelValues(kind)
	}
	s.uncertainty.Set(-1)
}

// Known counts a purchase that was answered without asking the gate to reserve.
func (m *Metrics) Known(kind string) {
	counter, ok := m.answers.kinds[kind]
	if !ok {
		counter = m.answers.kinds[other]
	}
	counter.Inc()
}

// GateClock shows how far the gate's clock is ahead, give or take bound; ok is false
// where that is not known.
func (m *Metrics) GateClock(offset, bound time.Duration, ok bool) {
	if !ok {
		m.answers.uncertainty.Set(-1)
		return
	}
	m.answers.offset.Set(offset.Seconds())
	m.answers.uncertainty.Set(bound.Seconds())
}
