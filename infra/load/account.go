package load

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Account counts answers by kind, in all and over time. All methods are safe for
// concurrent use.
type Account struct {
	every time.Duration

	mu    sync.Mutex
	kinds map[string]*Kind
	late  *hdrhistogram.Histogram
	// sent and received are bytes of requests and of answers.
	sent, received int64
}

// Kind is what an account has of one kind of question. Sent counts those that were
// sent, each try for itself; every one of them ended as one of the four.
type Kind struct {
	Name                              string
	Sent, OK, Refused, Failed, Waited int64 // Waited: still without an answer when the run was ended
	Outcomes                          map[string]int64
	// Slices are consecutive times of equal length from the start of the run: an
	// answer counts where its question was to be sent.
	Slices []Slice

	latency *hdrhistogram.Histogram
}

// Slice is a part of the time of a run.
type Slice struct {
	Sent, OK, Refused, Failed, Waited int64
	latency                           *hdrhistogram.Histogram
}

// Longest is the longest latency that an account tells apart: an hour.
const Longest = time.Hour

func latencies(digits int) *hdrhistogram.Histogram {
	return hdrhistogram.New(1, int64(Longest/time.Microsecond), digits)
}

// NewAccount makes an empty account, with slices of this length.
func NewAccount(every time.Duration) *Account {
	return &Account{every: max(every, time.Millisecond), kinds: map[string]*Kind{}, late: latencies(3)}
}

// Every is the length of a slice.
func (a *Account) Every() time.Duration { return a.every }

// seen is one answer, or none.
type seen struct {
	kind, outcome string
	ok, failed    bool
	waited        bool
	due           time.Duration // after the start, when it was to be sent
	took          time.Duration // from then
}

func (a *Account) count(s seen) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k := a.kinds[s.kind]
	if k == nil {
		k = &Kind{Name: s.kind, Outcomes: map[string]int64{}, latency: latencies(3)}
		a.kinds[s.kind] = k
	}
	slot := k.slice(int(max(s.due, 0) / a.every))
	k.Sent++
	slot.Sent++
	to, slotTo := &k.Refused, &slot.Refused
	switch {
	case s.waited:
		to, slotTo = &k.Waited, &slot.Waited
	case s.ok:
		to, slotTo = &k.OK, &slot.OK
	case s.failed:
		to, slotTo = &k.Failed, &slot.Failed
	}
	*to++
	*slotTo++
	k.Outcomes[s.outcome]++
	record(k.latency, s.took)
	record(slot.latency, s.took)
}

// slice gives the slice of this number.
func (k *Kind) slice(n int) *Slice {
	for len(k.Slices) <= n {
		k.Slices = append(k.Slices, Slice{latency: latencies(2)})
	}
	return &k.Slices[n]
}

// record counts a latency; one beyond the longest counts as that.
func record(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(d.Microseconds(), 1), h.HighestTrackableValue())) // it is within the bounds
}

func (a *Account) sentAfter(late time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	record(a.late, late)
}

func (a *Account) bytes(sent, received int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sent += int64(sent)
	a.received += int64(received)
}

// Note counts something that is no single answer, such as the time until an order was
// seen placed; at is the moment after the start from which it took so long.
func (a *Account) Note(kind, outcome string, ok bool, at, took time.Duration) {
	a.count(seen{kind: kind, outcome: outcome, ok: ok, failed: !ok, due: at, took: took})
}

// Verdict counts an end that may also be a refusal: neither ok nor failed.
func (a *Account) Verdict(kind string, n Next, at, took time.Duration) {
	a.count(seen{kind: kind, outcome: n.Outcome, ok: n.OK, failed: n.Failed, due: at, took: took})
}

// Late gives how late the share q (0 to 100) of all sends were at most: from when each
// was to be sent until a connection took it.
func (a *Account) Late(q float64) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return time.Duration(a.late.ValueAtQuantile(q)) * time.Microsecond
}

// Bytes gives what went over the wire in requests and answers, without what TCP, IP
// and TLS add.
func (a *Account) Bytes() (sent, received int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sent, a.received
}

// Kinds gives copies of what was counted, by name.
func (a *Account) Kinds() []Kind {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []Kind
	for _, name := range slices.Sorted(maps.Keys(a.kinds)) {
		k := *a.kinds[name]
		k.Outcomes = maps.Clone(k.Outcomes)
		k.Slices = slices.Clone(k.Slices)
		for i := range k.Slices {
			k.Slices[i].latency = copied(k.Slices[i].latency)
		}
		k.latency = copied(k.latency)
		all = append(all, k)
	}
	return all
}

func copied(h *hdrhistogram.Histogram) *hdrhistogram.Histogram {
	return hdrhistogram.Import(h.Export())
}

// Latency gives the latency that the share q (0 to 100) of the kind stayed within,
// each from when it was to be sent; what was never answered counts with its waiting.
func (k Kind) Latency(q float64) time.Duration { return quantile(k.latency, q) }

// Latency is that of what was to be sent in the slice, 0 where there was nothing.
func (s Slice) Latency(q float64) time.Duration { return quantile(s.latency, q) }

func quantile(h *hdrhistogram.Histogram, q float64) time.Duration {
	if h == nil || h.TotalCount() == 0 {
		return 0
	}
	// Of few values the share below one may round to none of them, which it calls 0.
	return time.Duration(max(h.ValueAtQuantile(q), h.Min())) * time.Microsecond
}
