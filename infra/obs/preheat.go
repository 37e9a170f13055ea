package obs

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Label values of scheduled preheats.
var (
	preheatSteps   = []string{"full", "verify"}
	preheatResults = []string{"clean", "differs", "failed"}
)

// preheatSide are the families of scheduled preheats.
type preheatSide struct {
	done        *prometheus.CounterVec // by step and result
	verified    prometheus.Gauge
	differences prometheus.Gauge
}

func newPreheatSide(f factory) preheatSide {
	p := preheatSide{
		done:        f.counters("preheats_total", "Scheduled preheats before an opening, by step and result.", "step", "result"),
		verified:    f.gauge("preheat_verified", "Whether the last scheduled preheat of this process found everything as the log says: 1, or 0; 1 before the first."),
		differences: f.gauge("preheat_differences", "Differences that the last scheduled preheat of this process found."),
	}
	p.verified.Set(1)
	for _, step := range preheatSteps {
		for _, result := range append(slices.Clone(preheatResults), other) {
			p.done.WithLabelValues(step, result)
		}
	}
	return p
}

// Preheated counts a scheduled preheat.
func (m *Metrics) Preheated(step, result string, differences int) {
	result = oneOf(preheatResults, result)
	m.preheat.done.WithLabelValues(oneOf(preheatSteps, step), result).Inc()
	m.preheat.differences.Set(float64(differences))
	verified := 0.0
	if result == preheatResults[0] {
		verified = 1
	}
	m.preheat.verified.Set(verified)
}
