package lookout

import (
	"slices"
	"time"
)

// Series remembers samples of some numbers for a window of time, to tell how fast they
// grow. It is not safe for concurrent use.
type Series struct {
	window  time.Duration
	samples []sample
}

type sample struct {
	at     time.Time
	values []float64
}

// Bounds of a series.
const (
	// least is the time below which nothing is said about growth.
	least = 2 * time.Second
	// gap is how long nothing may be known: what grew meanwhile is not told as if it
	// had grown evenly.
	gap = 6 * time.Second
)

// NewSeries makes a series over a window.
func NewSeries(window time.Duration) *Series { return &Series{window: window} }

// Add remembers values at a time. Their number is always the same.
func (s *Series) Add(at time.Time, values ...float64) {
	if n := len(s.samples); n > 0 {
		switch since := at.Sub(s.samples[n-1].at); {
		case since > gap || since < 0:
			s.samples = nil
		case since == 0:
			return
		}
	}
	s.samples = append(s.samples, sample{at, values})
	for len(s.samples) > 2 && at.Sub(s.samples[1].at) >= s.window {
		s.samples = slices.Delete(s.samples, 0, 1)
	}
}

// Grown gives how much each number grew over the window, and the time that this is of:
// 0 while there is but one sample.
func (s *Series) Grown() (by []float64, over time.Duration) {
	if len(s.samples) == 0 {
		return nil, 0
	}
	first, last := s.samples[0], s.samples[len(s.samples)-1]
	by = make([]float64, len(last.values))
	for i := range by {
		by[i] = last.values[i] - first.values[i]
	}
	return by, last.at.Sub(first.at)
}

// PerSecond gives how much each number grew a second, over the window; ok is false while
// less than two seconds are known.
func (s *Series) PerSecond() (rates []float64, ok bool) {
	by, over := s.Grown()
	if over < least {
		return nil, false
	}
	for i := range by {
		by[i] /= over.Seconds()
	}
	return by, true
}
