package obs

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Label values of what stands between requests and stores.
var (
	poolNames  = [...]string{"postgres_sale", "postgres", "redis_sale", "redis", "redis_limits", "redis_tickets"}
	storeNames = [...]string{"postgres", "redis", "limits", "tickets"}
)

// PoolStats is how a pool of connections stands.
type PoolStats struct {
	InUse, Idle int
	// Waited is how long all who found no free connection have waited for one.
	Waited time.Duration
}

// AdmissionStats is how the admission of purchases stands.
type AdmissionStats struct {
	Ceiling, Inside, Waiting int
	Refused, Outdated        uint64
}

// guards collects what is asked for at each scrape. Where nobody answers, 0 is
// shown.
type guards struct {
	ceiling, inside, waiting, refused *prometheus.Desc
	breaker                           *prometheus.Desc
	poolWait, poolInUse, poolIdle     *prometheus.Desc

	mu        sync.Mutex
	admission func() AdmissionStats
	breakers  map[string]func() int
	pools     map[string]func() PoolStats
}

func newGuards() *guards {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
	}
	return &guards{
		ceiling:   desc("admission_ceiling", "Purchases at once that this process lets in, as the gate's times allow."),
		inside:    desc("admission_inside", "Purchases that are worked on."),
		waiting:   desc("admission_waiting", "Purchases that wait for their turn at an opening."),
		refused:   desc("admission_refused_total", "Purchases answered busy before any work, by why: no room, or waited too long.", "why"),
		breaker:   desc("breaker_state", "What keeps buyers' questions from a store: 0 asks, 1 probes, 2 lets it rest.", "store"),
		poolWait:  desc("pool_wait_seconds_total", "Time spent waiting for a free connection, by pool; those of purchases and buyers are called sale.", "pool"),
		poolInUse: desc("pool_in_use", "Connections that are in use, by pool.", "pool"),
		poolIdle:  desc("pool_idle", "Connections that are open and free, by pool.", "pool"),
		breakers:  map[string]func() int{}, pools: map[string]func() PoolStats{},
	}
}

// Describe is prometheus.Collector's.
func (g *guards) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.ceiling, g.inside, g.waiting, g.refused, g.breaker, g.poolWait, g.poolInUse, g.poolIdle} {
		to <- d
	}
}

// Collect is prometheus.Collector's.
func (g *guards) Collect(to chan<- prometheus.Metric) {
	g.mu.Lock()
	defer g.mu.Unlock()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	var a AdmissionStats
	if g.admission != nil {
		a = g.admission()
	}
	gauge(g.ceiling, float64(a.Ceiling))
	gauge(g.inside, float64(a.Inside))
	gauge(g.waiting, float64(a.Waiting))
	counter(g.refused, float64(a.Refused), "full")
	counter(g.refused, float64(a.Outdated), "waited")
	for _, store := range storeNames {
		state := 0
		if ask, ok := g.breakers[store]; ok {
			state = ask()
		}
		gauge(g.breaker, float64(state), store)
	}
	for _, pool := range poolNames {
		var s PoolStats
		if ask, ok := g.pools[pool]; ok {
			s = ask()
		}
		counter(g.poolWait, s.Waited.Seconds(), pool)
		gauge(g.poolInUse, float64(s.InUse), pool)
		gauge(g.poolIdle, float64(s.Idle), pool)
	}
}

// Admission shows an admission from now on.
func (m *Metrics) Admission(ask func() AdmissionStats) {
	m.guards.mu.Lock()
	defer m.guards.mu.Unlock()
	m.guards.admission = ask
}

// Breaker shows the breaker of a store from now on: postgres, redis, limits or
// tickets.
func (m *Metrics) Breaker(store string, state func() int) {
	m.guards.mu.Lock()
	defer m.guards.mu.Unlock()
	m.guards.breakers[store] = state
}

// Pool shows a pool from now on: postgres_sale, postgres, redis_sale, redis,
// redis_limits or redis_tickets.
func (m *Metrics) Pool(name string, ask func() PoolStats) {
	m.guards.mu.Lock()
	defer m.guards.mu.Unlock()
	m.guards.pools[name] = ask
}
