package obs

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// trancheSide are the families of the parts of stocks that are released later.
type trancheSide struct {
	released prometheus.Counter
	late     prometheus.Gauge
}

func newTrancheSide(f factory) trancheSide {
	return trancheSide{
		released: f.counter("tranches_released_total", "Later parts of stocks that this process put on sale."),
		late:     f.gauge("tranche_late_seconds", "How long after its time the last part that this process released was in the log."),
	}
}

// TrancheReleased counts a part, and shows how late it was.
func (m *Metrics) TrancheReleased(late time.Duration) {
	m.tranches.released.Inc()
	m.tranches.late.Set(late.Seconds())
}
