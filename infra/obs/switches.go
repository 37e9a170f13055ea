package obs

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

func newSwitches(f factory) *prometheus.GaugeVec {
	return f.gauges("switch_on", "Switches that are on everywhere, as this process has heard: 1, else 0.", "switch")
}

// SwitchedOn shows which switches are on everywhere.
func (m *Metrics) SwitchedOn(names []string) {
	for _, name := range m.known.Switches {
		is := 0.0
		if slices.Contains(names, name) {
			is = 1
		}
		m.switches.WithLabelValues(name).Set(is)
	}
}
