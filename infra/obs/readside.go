package obs

import (
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// readSide are the families of the log and the views.
type readSide struct {
	logPosition, relayPosition prometheus.Gauge
	sealPosition               prometheus.Gauge
	position, lagEvents        *prometheus.GaugeVec // by projection
	lagSeconds, newestAge      *prometheus.GaugeVec
	parked, parkedAge          *prometheus.GaugeVec
	shardLagEvents             *prometheus.GaugeVec // by projection and shard
	shardLagSeconds            *prometheus.GaugeVec
}

func newReadSide(f factory) readSide {
	return readSide{
		logPosition:     f.gauge("log_position", "Position of the newest event."),
		relayPosition:   f.gauge("relay_position", "Position up to which the log is published."),
		sealPosition:    f.gauge("seal_position", "Position up to which the log is sealed."),
		position:        f.gauges("projection_position", "Position that every shard of a projection has reached.", "projection"),
		lagEvents:       f.gauges("projection_lag_events", "Events between the head of the log and the projection's slowest shard.", "projection"),
		lagSeconds:      f.gauges("projection_lag_seconds", "Age of the oldest event that some shard of the projection has not applied.", "projection"),
		newestAge:       f.gauges("projection_newest_event_age_seconds", "Age of the newest event that the projection has applied; it grows while nothing happens.", "projection"),
		parked:          f.gauges("projection_parked_sequences", "Sequences whose events are parked in the dead letters.", "projection"),
		parkedAge:       f.gauges("projection_parked_oldest_seconds", "How long the oldest dead letter has been parked.", "projection"),
		shardLagEvents:  f.gauges("projection_shard_lag_events", "Events between the head of the log and a shard.", "projection", "shard"),
		shardLagSeconds: f.gauges("projection_shard_lag_seconds", "Age of the oldest event that a shard has not applied.", "projection", "shard"),
	}
}

// start brings known label values to 0.
func (r readSide) start(projections []string, shards int) {
	for _, p := range projections {
		for _, g := range []*prometheus.GaugeVec{r.position, r.lagEvents, r.lagSeconds, r.newestAge, r.parked, r.parkedAge} {
			g.WithLabelValues(p)
		}
		for shard := range shards {
			r.shardLagEvents.WithLabelValues(p, strconv.Itoa(shard))
			r.shardLagSeconds.WithLabelValues(p, strconv.Itoa(shard))
		}
	}
}

// LogAt shows the head of the log.
func (m *Metrics) LogAt(position int64) { m.read.logPosition.Set(float64(position)) }

// RelayAt shows up to where the log is published.
func (m *Metrics) RelayAt(position int64) { m.read.relayPosition.Set(float64(position)) }

// SealedAt shows up to where the log is sealed.
func (m *Metrics) SealedAt(position int64) { m.read.sealPosition.Set(float64(position)) }

// ProjectionPlace is where a projection stands: its slowest shard, with the
// number of events that shard lacks and the age of the oldest of them; the age of
// the newest event applied; and what is parked. An age is 0 where there is none.
type ProjectionPlace struct {
	Position, LagEvents int64
	Lag, NewestAge      time.Duration
	Parked              int
	OldestParked        time.Duration
}

// ProjectionAt shows where a projection stands.
func (m *Metrics) ProjectionAt(name string, p ProjectionPlace) {
	if !slices.Contains(m.known.Projections, name) {
		return
	}
	r := m.read
	r.position.WithLabelValues(name).Set(float64(p.Position))
	r.lagEvents.WithLabelValues(name).Set(float64(p.LagEvents))
	r.lagSeconds.WithLabelValues(name).Set(p.Lag.Seconds())
	r.newestAge.WithLabelValues(name).Set(p.NewestAge.Seconds())
	r.parked.WithLabelValues(name).Set(float64(p.Parked))
	r.parkedAge.WithLabelValues(name).Set(p.OldestParked.Seconds())
}

// ShardAt shows how far a shard of a projection is behind.
func (m *Metrics) ShardAt(name string, shard int, lagEvents int64, lag time.Duration) {
	if !slices.Contains(m.known.Projections, name) || shard < 0 || shard >= m.known.Shards {
		return
	}
	m.read.shardLagEvents.WithLabelValues(name, strconv.Itoa(shard)).Set(float64(lagEvents))
	m.read.shardLagSeconds.WithLabelValues(name, strconv.Itoa(shard)).Set(lag.Seconds())
}
