package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// LateAfter is the waiting for a connection from which an arrival counts as late.
const LateAfter = 100 * time.Millisecond

// Measurement is what a run saw.
type Measurement struct {
	// Sights holds every arrival, in their order.
	Sights []Sight
	// Outcomes counts last answers by outcome, faults included.
	Outcomes map[string]int
	OK       int
	Refused  int
	Failed   int
	// Unanswered arrivals were still open when the run was ended.
	Unanswered int
	Retries    int
	// Late counts arrivals that waited longer than LateAfter for a connection;
	// MaxQueued is the longest such waiting. It counts into the latency.
	Late      int
	MaxQueued time.Duration
	// PaceLate is the most that the generator itself was behind its schedule.
	PaceLate time.Duration
	// Took is from the start to the last answer; FirstOK to the first good one.
	Took    time.Duration
	FirstOK time.Duration

	latency *hdrhistogram.Histogram
}

func (r *Run) measure() *Measurement {
	m := &Measurement{
		Sights: r.sights, Outcomes: map[string]int{}, Retries: int(r.retries.Load()),
		PaceLate: time.Duration(r.paceLate.Load()), Took: time.Duration(r.lastDone.Load()),
		latency: latencies(3),
	}
	r.leave()
	for i := range r.sights {
		s := &r.sights[i]
		if !s.Done {
			m.Unanswered++
			if waited := r.ended - r.attack.Arrivals[i]; waited > 0 { // in vain: it must not look fast
				m.took(waited)
			}
			continue
		}
		m.count(s)
		if at := r.attack.Arrivals[i] + s.Latency; s.OK && (m.FirstOK == 0 || at < m.FirstOK) {
			m.FirstOK = at
		}
	}
	return m
}

// leave counts into the account what was under way when the run was ended.
func (r *Run) leave() {
	if r.attack.Account == nil {
		return
	}
	for i := range r.steps {
		if s := &r.steps[i]; !s.left && s.due < r.ended {
			r.attack.Account.count(seen{kind: r.attack.Kind(i), outcome: Unanswered, waited: true, due: s.due, took: r.ended - s.due})
		}
	}
}

// Unanswered is the outcome of what was still open when a run was ended.
const Unanswered = "no answer before the end"

func (m *Measurement) count(s *Sight) {
	m.Outcomes[s.Outcome]++
	switch {
	case s.OK:
		m.OK++
	case s.Failed:
		m.Failed++
	default:
		m.Refused++
	}
	if s.Queued > LateAfter {
		m.Late++
	}
	m.MaxQueued = max(m.MaxQueued, s.Queued)
	m.took(s.Latency)
}

// took counts a latency.
func (m *Measurement) took(latency time.Duration) {
	record(m.latency, latency)
}

// Latency gives the latency that the share q (0 to 100) of all arrivals stayed
// within, each from its intended start, faults included. Who was not answered before
// the run was ended counts with the time until then.
func (m *Measurement) Latency(q float64) time.Duration {
	return time.Duration(m.latency.ValueAtQuantile(q)) * time.Microsecond
}
