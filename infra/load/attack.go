package load

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Attack is what a crowd does.
type Attack struct {
	// Addr is the host and port of the server. Required.
	Addr string
	// Arrivals are the moments after the start at which one after the other
	// arrives, in order.
	Arrivals []time.Duration
	// Build appends the request of arrival i, as it goes over the wire, to dst.
	// Required. It is called from many goroutines.
	Build func(dst []byte, i int) []byte
	// Judge is told the answer to arrival i and says what follows. Required. It is
	// called from many goroutines, for one arrival by one at a time.
	Judge func(i int, a Answer) Next
	// Conns bounds the connections (256). An arrival that finds none free waits,
	// and its waiting counts.
	Conns int
	// Timeout bounds one exchange (30 s).
	Timeout time.Duration
}

// Next is what follows an answer.
type Next struct {
	// Outcome is counted when this was the last try.
	Outcome string
	// Again asks once more after this pause; 0 means that it is over.
	Again time.Duration
	// OK tells that Outcome is one the crowd was to get; Failed that there was no
	// usable answer. Neither is a refusal.
	OK, Failed bool
}

// Sight is one arrival as it was measured.
type Sight struct {
	Outcome string
	Status  int
	Tries   int
	// Latency is from the intended start to the whole last answer.
	Latency time.Duration
	// Queued is from the intended start to the first byte sent.
	Queued time.Duration
	OK     bool
	Failed bool
	// Done is false where the run ended before the answer.
	Done bool
}

// Counts are running totals, for showing progress.
type Counts struct {
	Arrived, OK, Refused, Failed, Retries int64
}

func (a Attack) withDefaults() (Attack, error) {
	if a.Addr == "" || a.Build == nil || a.Judge == nil {
		return a, errors.New("an attack needs an address, requests and a judge of answers")
	}
	if a.Conns <= 0 {
		a.Conns = 256
	}
	if a.Timeout <= 0 {
		a.Timeout = 30 * time.Second
	}
	return a, nil
}

// Run is an attack under way.
type Run struct {
	attack Attack
	start  time.Time
	sights []Sight
	queue  chan int // each arrival stands in it at most once
	open   atomic.Int64
	over   chan struct{}

	arrived, ok, refused, failed, retries atomic.Int64
	paceLate                              atomic.Int64
	ended                                 time.Duration // after the start; set by Wait
	lastDone                              atomic.Int64
	workers                               sync.WaitGroup
}

// Start begins an attack at a moment. It ends when every arrival has its
// outcome, or with ctx. Wait for it.
func Start(ctx context.Context, attack Attack, at time.Time) (*Run, error) {
	attack, err := attack.withDefaults()
	if err != nil {
		return nil, err
	}
	n := len(attack.Arrivals)
	r := &Run{attack: attack, start: at, sights: make([]Sight, n), queue: make(chan int, n), over: make(chan struct{})}
	r.open.Store(int64(n))
	if n == 0 {
		close(r.over)
	}
	for range min(attack.Conns, n) {
		r.workers.Go(func() { r.work(ctx) })
	}
	r.workers.Go(func() { r.pace(ctx) })
	return r, nil
}

// Counts gives the totals so far.
func (r *Run) Counts() Counts {
	return Counts{
		Arrived: r.arrived.Load(), OK: r.ok.Load(), Refused: r.refused.Load(),
		Failed: r.failed.Load(), Retries: r.retries.Load(),
	}
}

// Wait gives the measurement once the run is over.
func (r *Run) Wait() *Measurement {
	r.workers.Wait()
	r.ended = time.Since(r.start)
	return r.measure()
}

// pace lets arrivals in at their moments, whatever became of those before.
func (r *Run) pace(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	for i, at := range r.attack.Arrivals {
		if ahead := time.Until(r.start.Add(at)); ahead > 0 {
			timer.Reset(ahead)
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
		}
		if late := int64(time.Since(r.start.Add(at))); late > r.paceLate.Load() {
			r.paceLate.Store(late)
		}
		r.arrived.Add(1)
		r.queue <- i
	}
}

func (r *Run) work(ctx context.Context) {
	c := &conn{addr: r.attack.Addr, timeout: r.attack.Timeout}
	defer c.close()
	var request []byte
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.over:
			return
		case i := <-r.queue:
			request = r.attack.Build(request[:0], i)
			r.serve(ctx, c, request, i)
		}
	}
}

func (r *Run) serve(ctx context.Context, c *conn, request []byte, i int) {
	sight := &r.sights[i]
	intended := r.start.Add(r.attack.Arrivals[i])
	if sight.Tries == 0 {
		sight.Queued = time.Since(intended)
	}
	sight.Tries++
	answer := c.exchange(ctx, request)
	if ctx.Err() != nil {
		return
	}
	next := r.attack.Judge(i, answer)
	if next.Again > 0 {
		r.retries.Add(1)
		r.later(ctx, i, next.Again)
		return
	}
	sight.Latency = time.Since(intended)
	sight.Outcome, sight.Status, sight.OK, sight.Failed, sight.Done = next.Outcome, answer.Status, next.OK, next.Failed, true
	switch {
	case next.OK:
		r.ok.Add(1)
	case next.Failed:
		r.failed.Add(1)
	default:
		r.refused.Add(1)
	}
	r.lastDone.Store(int64(time.Since(r.start)))
	if r.open.Add(-1) == 0 {
		close(r.over)
	}
}

// later puts an arrival back after a pause, without holding a connection.
func (r *Run) later(ctx context.Context, i int, pause time.Duration) {
	r.workers.Go(func() {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		select {
		case <-ctx.Done():
		case <-timer.C:
			r.queue <- i
		}
	})
}
