package admission

import "time"

// A window is closed after paceEvery when it holds paceLeast calls.
const (
	paceEvery = 100 * time.Millisecond
	paceLeast = 10
)

const (
	// shrinkMost is the least that is left of a ceiling after one window.
	shrinkMost = 0.7
	// growBy is the share by which a ceiling grows in one window.
	growBy = 0.1
	// usedFrom is the share of a ceiling that must have been used for it to grow: a
	// quiet hour says nothing about what the gate can take.
	usedFrom = 0.8
	// bestFactor is how much longer than its best a gate call may take.
	bestFactor = 3
	// forget lets the best mean grow in a window, so that a gate that stays slower is
	// believed in time: it doubles in some 14 s under load.
	forget = 1.005
)

// pace is what one window has seen of the gate, and the best mean of all.
type pace struct {
	began time.Time
	calls int
	sum   time.Duration
	peak  int // most inside at once
	best  time.Duration
}

// add counts a call, and tells whether the window is over.
func (p *pace) add(now time.Time, took time.Duration) bool {
	p.calls++
	p.sum += took
	return p.calls >= paceLeast && now.Sub(p.began) >= paceEvery
}

// next gives the ceiling for the next window.
func (p *pace) next(ceiling float64, o Options) float64 {
	mean := p.sum / time.Duration(p.calls)
	if older := time.Duration(float64(p.best) * forget); p.best == 0 || mean < older {
		p.best = mean
	} else {
		p.best = older
	}
	good := max(o.Target, bestFactor*p.best)
	switch {
	case mean > good:
		ceiling *= max(float64(good)/float64(mean), shrinkMost)
	case float64(p.peak) >= usedFrom*ceiling:
		ceiling += max(growBy*ceiling, 1)
	}
	return min(max(ceiling, float64(o.Floor)), float64(o.Cap))
}

func (p *pace) restart(now time.Time, inside int) {
	*p = pace{began: now, peak: inside, best: p.best}
}
