package obs

import "github.com/prometheus/client_golang/prometheus"

// moveSide are the families of sales of several buckets.
type moveSide struct {
	moves, units, looks prometheus.Counter
	inFlight            prometheus.Gauge
}

func newMoveSide(f factory) moveSide {
	return moveSide{
		moves:    f.counter("bucket_moves_total", "Moves of units between buckets of a sale that this process asked for and the gate took."),
		units:    f.counter("bucket_moved_units_total", "Units of those moves."),
		looks:    f.counter("bucket_looks_total", "Looks of this process at all buckets of a sale, to level them or to tell whether it is sold out."),
		inFlight: f.gauge("bucket_units_in_flight", "Units that this process moved and that have not reached their bucket."),
	}
}

// Moved counts a move.
func (m *Metrics) Moved(units int64) {
	m.moved.moves.Inc()
	m.moved.units.Add(float64(units))
}

// BucketsLookedAt counts a look at all buckets of a sale.
func (m *Metrics) BucketsLookedAt() { m.moved.looks.Inc() }

// UnitsInFlight shows how many moved units have not landed.
func (m *Metrics) UnitsInFlight(units int64) { m.moved.inFlight.Set(float64(units)) }
