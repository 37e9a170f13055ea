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
		latency: hdrhistogram.New(1, int64(time.Hour/time.Microsecond), 3),
	}
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
	// An hour is more than any run; a longer latency counts as an hour.
	_ = m.latency.RecordValue(min(max(latency.Microseconds(), 1), m.latency.HighestTrackableValue()))
}

// Latency gives the latency that the share q (0 to 100) of all arrivals stayed
// within, each from its intended start, faults included. Who was not answered before
// the run was ended counts with the time until then.
func (m *Measurement) Latency(q float64) time.Duration {
	return time.Duration(m.latency.ValueAtQuantile(q)) * time.Microsecond
}
