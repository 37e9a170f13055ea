package limits

import (
	"fmt"
	"sync"
	"time"
)

// parts is how many parts a window of a Total has.
const parts = 16

// Total limits what all buyers together ask of one process. It counts by
// sixteenths of its window: in no stretch of a window does more than the limit
// pass, and of a lasting crowd up to a seventeenth less. It is safe for
// concurrent use.
type Total struct {
	limit int64
	part  time.Duration
	start time.Time
	now   func() time.Time

	mu     sync.Mutex
	at     int64 // number of the newest part
	sum    int64
	counts [parts + 1]int64 // one more, for the stretch begins within a part
}

// NewTotal makes a total; of o only Limit (any number above 0), Window and Now
// matter.
func NewTotal(o Options) (*Total, error) {
	if o.Limit < 1 {
		return nil, fmt.Errorf("make a limit for all: limit %d: want at least 1", o.Limit)
	}
	o = o.withDefaults()
	return &Total{limit: int64(o.Limit), part: max(o.Window/parts, 1), start: o.Now(), now: o.Now}, nil
}

// Take counts a request, or says how long to wait.
func (t *Total) Take() Verdict {
	since := t.now().Sub(t.start)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.advance(int64(since / t.part))
	if t.sum < t.limit {
		t.counts[t.at%int64(len(t.counts))]++
		t.sum++
		return Verdict{OK: true}
	}
	for i := t.at - parts; i < t.at; i++ {
		if i >= 0 && t.counts[i%int64(len(t.counts))] > 0 {
			return Verdict{Wait: max(time.Duration(i+parts+1)*t.part-since, time.Microsecond)}
		}
	}
	return Verdict{Wait: time.Duration(t.at+parts+1)*t.part - since}
}

// advance forgets what lies before the window that ends in part number to.
func (t *Total) advance(to int64) {
	for steps := 0; t.at < to && steps < len(t.counts); steps++ {
		t.at++
		i := t.at % int64(len(t.counts))
		t.sum -= t.counts[i]
		t.counts[i] = 0
	}
	if t.at < to {
		// Everything is empty: the number may jump.
		t.at = to
	}
}
