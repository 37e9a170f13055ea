package load

import (
	"context"
	"crypto/tls"
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
	// Kind names what arrival i asks next, for the account. Without it that is "".
	Kind func(i int) string
	// Account counts every answer, of every step. Without it only sights are kept.
	Account *Account
	// Conns bounds the connections (256). One more is opened when something is to be
	// sent and none is free; with all of them busy it waits, and its waiting counts.
	Conns int
	// TLS makes connections encrypted ones; ServerName is the name they must prove.
	TLS *tls.Config
	// Timeout bounds one exchange (30 s).
	Timeout time.Duration
}

// Next is what follows an answer.
type Next struct {
	// Outcome is counted when this was the last try.
	Outcome string
	// Again asks once more after this pause; 0 means that it is over.
	Again time.Duration
	// Then is the pause after which the same arrival asks something else, as a step of
	// its own whose latency counts from its own start; 0 means that it leaves.
	Then time.Duration
	// OK tells that Outcome is one the crowd was to get; Failed that there was no
	// usable answer. Neither is a refusal.
	OK, Failed bool
}

// Sight is the first step of one arrival as it was measured.
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
	if a.Kind == nil {
		a.Kind = func(int) string { return "" }
	}
	return a, nil
}

// Run is an attack under way.
type Run struct {
	attack Attack
	start  time.Time
	sights []Sight
	steps  []step
	agenda *agenda
	queue  chan int // each arrival stands in it at most once
	open   atomic.Int64
	over   chan struct{}
	idle   atomic.Int64 // workers that are free, less what stands in the queue
	conns  atomic.Int64

	arrived, ok, refused, failed, retries atomic.Int64
	paceLate                              atomic.Int64
	ended                                 time.Duration // after the start; set by Wait
	lastDone                              atomic.Int64
	workers                               sync.WaitGroup
}

// step is where an arrival stands: when its present step began, and when it is to send
// next, both after the start of the run. It belongs to whoever holds the arrival.
type step struct {
	began, due time.Duration
	past       bool // the first step, which its sight describes
	left       bool
}

// Start begins an attack at a moment. It ends when every arrival has its
// outcome, or with ctx. Wait for it.
func Start(ctx context.Context, attack Attack, at time.Time) (*Run, error) {
	attack, err := attack.withDefaults()
	if err != nil {
		return nil, err
	}
	n := len(attack.Arrivals)
	r := &Run{
		attack: attack, start: at, sights: make([]Sight, n), steps: make([]step, n), agenda: newAgenda(),
		queue: make(chan int, n), over: make(chan struct{}),
	}
	for i, at := range attack.Arrivals {
		r.steps[i] = step{began: at, due: at}
	}
	r.open.Store(int64(n))
	if n == 0 {
		close(r.over)
	}
	r.workers.Go(func() { r.pace(ctx) })
	return r, nil
}

// Counts gives the totals so far, of first steps.
func (r *Run) Counts() Counts {
	return Counts{
		Arrived: r.arrived.Load(), OK: r.ok.Load(), Refused: r.refused.Load(),
		Failed: r.failed.Load(), Retries: r.retries.Load(),
	}
}

// Conns is how many connections were opened for what was sent at once.
func (r *Run) Conns() int { return int(r.conns.Load()) }

// Wait gives the measurement once the run is over.
func (r *Run) Wait() *Measurement {
	r.workers.Wait()
	r.ended = time.Since(r.start)
	return r.measure()
}

// pace lets arrivals in at their moments, and those who ask again at theirs, whatever
// became of those before.
func (r *Run) pace(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for arrived := 0; ; {
		next, again := r.agenda.first()
		if arrived < len(r.attack.Arrivals) && (!again || r.attack.Arrivals[arrived] <= next.at) {
			next, again = due{r.attack.Arrivals[arrived], arrived}, false
		} else if !again {
			next.at = Longest // nobody yet: whoever comes wakes us
		}
		if ahead := time.Until(r.start.Add(next.at)); ahead > 0 {
			timer.Reset(ahead)
			select {
			case <-ctx.Done():
				return
			case <-r.over:
				return
			case <-r.agenda.wake:
			case <-timer.C:
			}
			continue
		}
		if again {
			next = r.agenda.take()
		} else {
			arrived++
			r.arrived.Add(1)
		}
		r.send(ctx, next)
	}
}

// send gives an arrival to a connection, opening one more where none is free.
func (r *Run) send(ctx context.Context, d due) {
	if late := int64(time.Since(r.start.Add(d.at))); late > r.paceLate.Load() {
		r.paceLate.Store(late)
	}
	if r.idle.Add(-1) < 0 && r.conns.Load() < int64(r.attack.Conns) {
		r.conns.Add(1)
		r.idle.Add(1)
		r.workers.Go(func() { r.work(ctx) })
	}
	r.queue <- d.i
}

func (r *Run) work(ctx context.Context) {
	c := &conn{addr: r.attack.Addr, timeout: r.attack.Timeout, tls: r.attack.TLS}
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
	sight, step := &r.sights[i], &r.steps[i]
	late := time.Since(r.start) - step.due
	if !step.past {
		if sight.Tries == 0 {
			sight.Queued = late
		}
		sight.Tries++
	}
	kind := r.attack.Kind(i)
	answer := c.exchange(ctx, request)
	if ctx.Err() != nil {
		return
	}
	now := time.Since(r.start)
	answer.Due, answer.Took, answer.Began, answer.SinceBegan = step.due, now-step.due, step.began, now-step.began
	next := r.attack.Judge(i, answer)
	if a := r.attack.Account; a != nil {
		a.sentAfter(late)
		a.bytes(len(request), answer.Size)
		a.count(seen{kind: kind, outcome: next.Outcome, ok: next.OK, failed: next.Failed, due: step.due, took: answer.Took})
	}
	r.idle.Add(1) // before what follows is due: this connection can take it
	if next.Again > 0 {
		r.retries.Add(1)
		step.due = now + next.Again
		r.agenda.add(due{step.due, i})
		return
	}
	r.finish(i, now, answer.Status, next)
}

// finish ends a step.
func (r *Run) finish(i int, now time.Duration, status int, next Next) {
	step := &r.steps[i]
	if !step.past {
		r.see(&r.sights[i], now-step.began, status, next)
		step.past = true
	}
	r.lastDone.Store(int64(now))
	if next.Then > 0 {
		step.began, step.due = now+next.Then, now+next.Then
		r.agenda.add(due{step.due, i})
		return
	}
	step.left = true
	if r.open.Add(-1) == 0 {
		close(r.over)
	}
}

func (r *Run) see(sight *Sight, took time.Duration, status int, next Next) {
	sight.Latency = took
	sight.Outcome, sight.Status, sight.OK, sight.Failed, sight.Done = next.Outcome, status, next.OK, next.Failed, true
	switch {
	case next.OK:
		r.ok.Add(1)
	case next.Failed:
		r.failed.Add(1)
	default:
		r.refused.Add(1)
	}
}
