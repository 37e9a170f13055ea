package linearizability

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"seckill/domain"
)

// attempt is one request as its client saw it. Times are those of the client, since
// the installation began.
type attempt struct {
	client     int
	call, ret  time.Duration
	kind       kind
	buyer, key string
	units      int
	order      string // id: of the order that it is about, or that was named in the answer
	trace      string
	said       said
	raw        string // the answer, for people
}

// said is what a client was told.
type said int

// What a client was told. Nothing is everything that leaves open what happened: no
// answer, 503, 409 in_progress. Unseen is an order that was taken down and of which
// nobody could see yet whether it was accepted.
const (
	nothing said = iota
	saidAccepted
	saidUnseen
	saidRepeat
	saidSoldOut
	saidLimit
	saidMismatch
	saidCancelled
	saidPaid
	saidShort
	saidDone
	saidNo       // for certain: nothing was done, and nothing about the order is to be learnt
	saidNoAmount // nobody knows what the order costs, which is right where it came to nothing
)

// journal is everything that was asked of one sale.
type journal struct {
	mu       sync.Mutex
	attempts []attempt
	findings []string
}

func (j *journal) add(a attempt) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.attempts = append(j.attempts, a)
}

// found notes an answer that no history allows.
func (j *journal) found(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.findings = append(j.findings, fmt.Sprintf(format, args...))
}

// fate is what the log says of an order in the end.
type fate struct {
	id, buyer, trace string
	units            int
	status, reason   string
}

func (f fate) rejected() bool { return f.status == "rejected" }

// ending is all that is known once everything is at rest: what became of the orders;
// when the first, and the last, of what was asked had surely had its effect; and of
// what a node said that the gate gets it later.
type ending struct {
	fates     map[string]fate
	withdrawn map[string]bool // traces of the withdrawals that were made
	rested    time.Duration   // what began before had its effect by then
	ended     time.Duration
	late      func(id string) bool
}

// until is by when something that began at call had its effect, whoever was told of it.
func (e ending) until(call time.Duration) time.Duration {
	if call <= e.rested {
		return e.rested
	}
	return e.ended
}

// history is what porcupine checks, in the making.
type history struct {
	of       *facts
	ending   ending
	byTrace  map[string][]fate
	numbers  map[string]int
	ops      []porcupine.Operation
	findings []string
}

// history turns what was asked of a sale into operations. What is not known to have
// been done or not is looked up in the ending: done, it may have been at any time until
// then; not done, it is left out.
func (j *journal) history(of *facts, e ending) *history {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := &history{of: of, ending: e, byTrace: map[string][]fate{}, numbers: map[string]int{}, findings: slices.Clone(j.findings)}
	for _, f := range e.fates {
		h.byTrace[f.trace] = append(h.byTrace[f.trace], f)
	}
	for _, a := range j.attempts {
		if a.kind == buys {
			h.number(a)
		}
	}
	h.strangers()
	h.put(attempt{client: 0, call: -1, ret: -1}, request{kind: opens}, answer{}, -1)
	for _, a := range j.attempts {
		switch a.kind {
		case buys:
			h.purchase(a)
		case cancels, pays, reads:
			h.change(a)
		case arrives:
			h.arrival(a)
		}
	}
	h.withdrawals(j.attempts)
	h.returns(j.attempts)
	return h
}

func (h *history) wrong(a attempt, format string, args ...any) {
	h.findings = append(h.findings, fmt.Sprintf(format, args...)+fmt.Sprintf(" (%s, key %s, trace %s: %s)", a.buyer, a.key, a.trace, a.raw))
}

// own gives the order that an attempt led to, if it did.
func (h *history) own(a attempt) (fate, bool) {
	var kept []fate
	for _, f := range h.byTrace[a.trace] {
		if !f.rejected() || a.said == saidAccepted && f.id == a.order {
			kept = append(kept, f)
		}
	}
	if len(kept) > 1 {
		h.wrong(a, "one purchase became %d orders: %+v", len(kept), kept)
	}
	if len(kept) == 0 {
		return fate{}, false
	}
	return kept[0], true
}

// number gives the order of a purchase its number.
func (h *history) number(a attempt) {
	if f, ok := h.own(a); ok {
		if _, known := h.numbers[f.id]; known {
			h.wrong(a, "two purchases became one order %s", f.id)
			return
		}
		h.numbers[f.id] = len(h.of.taken)
		h.of.taken = append(h.of.taken, fact{id: f.id, buyer: a.buyer, key: a.key, units: a.units})
		if f.buyer != a.buyer || f.units != a.units {
			h.wrong(a, "order %s is of %s and %d units", f.id, f.buyer, f.units)
		}
	}
}

// strangers finds orders that nobody asked for, and those that were rejected for another
// reason than that nothing ever came of them.
func (h *history) strangers() {
	for _, f := range h.ending.fates {
		if f.rejected() && f.reason != string(domain.RejectedLost) {
			h.findings = append(h.findings, fmt.Sprintf("an order was rejected: %+v", f))
		}
		if _, known := h.numbers[f.id]; !known && !f.rejected() {
			h.findings = append(h.findings, fmt.Sprintf("nobody asked for the order %+v", f))
		}
	}
}

// put appends an operation that took effect between its call and ret.
func (h *history) put(a attempt, q request, said answer, ret time.Duration) {
	q.of = h.of
	if ret > a.ret { // a row of its own in pictures
		a.client = workers + 1 + len(h.ops)
	}
	h.ops = append(h.ops, porcupine.Operation{
		ClientId: a.client, Input: q, Call: int64(a.call), Output: said, Return: int64(ret), Metadata: a.raw,
	})
}

func (h *history) purchase(a attempt) {
	q := request{kind: buys, buyer: a.buyer, key: a.key, units: a.units, away: h.of.broke > 0 && a.ret >= h.of.broke}
	own, became := h.own(a)
	acceptedBy := func(ret time.Duration) { h.put(a, q, answer{accepted, h.numbers[own.id]}, ret) }
	switch {
	case a.said == nothing || a.said == saidUnseen:
		if became {
			acceptedBy(h.ending.until(a.call))
		}
	case a.said == saidAccepted || a.said == saidRepeat && became && own.id == a.order:
		if !became || own.id != a.order {
			h.wrong(a, "an accepted order is not in the log: it has %+v", h.byTrace[a.trace])
			return
		}
		if own.rejected() {
			h.wrong(a, "an order that the gate was seen to accept was rejected: %s", own.reason)
		}
		acceptedBy(a.ret)
	case became:
		h.wrong(a, "it was refused, or met another order, and became order %s", own.id)
		acceptedBy(h.ending.until(a.call))
	case a.said == saidRepeat:
		n, known := h.numbers[a.order]
		if !known {
			h.wrong(a, "a repeat of an order that is none: %+v", h.ending.fates[a.order])
			return
		}
		h.put(a, q, answer{repeat, n}, a.ret)
	default:
		refusals := map[said]outcome{saidSoldOut: soldOut, saidLimit: limitExceeded, saidMismatch: mismatch}
		h.put(a, q, answer{outcome: refusals[a.said]}, a.ret)
	}
}

// change is a cancellation, a payment or a look at an order.
func (h *history) change(a attempt) {
	n, known := h.numbers[a.order]
	if known && a.said == saidNoAmount {
		h.wrong(a, "an order that was accepted has no amount")
	}
	if !known || a.said == saidNo || a.said == saidNoAmount {
		return // an order that was never accepted, or nothing was done
	}
	q := request{kind: a.kind, order: n}
	switch a.said {
	case saidCancelled:
		h.put(a, q, answer{outcome: cancelled}, a.ret)
	case saidPaid:
		h.put(a, q, answer{outcome: paid}, a.ret)
	default:
		became := map[kind]string{cancels: "cancelled", pays: "paid"}[a.kind]
		if h.ending.fates[a.order].status == became {
			h.put(a, q, answer{outcome: done}, h.ending.until(a.call))
		}
	}
}

// arrival is a release, which is asked for until it is answered.
func (h *history) arrival(a attempt) {
	if a.said != saidDone {
		h.wrong(a, "a release was never answered")
		return
	}
	ret := a.ret
	if h.ending.late(h.of.sale) {
		ret = h.ending.until(a.call)
	}
	h.put(a, request{kind: arrives, units: a.units}, answer{}, ret)
}

// withdrawals takes units off sale, once for all requests of a trace: by the first that
// was told so or, where none was and the log has it, at any time until the end. Of those
// that were told that too few were left, each was told so for itself.
func (h *history) withdrawals(attempts []attempt) {
	taken := map[string]attempt{}
	for _, a := range attempts {
		if a.kind != withdraws {
			continue
		}
		q := request{kind: withdraws, units: a.units}
		if a.said == saidShort {
			h.put(a, q, answer{outcome: short}, a.ret)
		}
		by := h.ending.until(a.call)
		if a.said == saidDone {
			by = a.ret
		}
		all, known := taken[a.trace]
		if !known {
			all = a
			all.ret = by
		}
		all.call, all.ret = min(all.call, a.call), min(all.ret, by)
		taken[a.trace] = all
		if a.said == saidDone && !h.ending.withdrawn[a.trace] {
			h.wrong(a, "a withdrawal that was made is not in the log")
		}
	}
	for trace, a := range taken {
		if h.ending.withdrawn[trace] {
			h.put(a, request{kind: withdraws, units: a.units}, answer{}, a.ret)
		}
	}
}

// returns lets the units of each cancelled order come back once: not before anybody
// asked for it, and by the first answer that it is cancelled, unless the node said that
// the gate gets them later.
func (h *history) returns(attempts []attempt) {
	for n, f := range h.of.taken {
		if h.ending.fates[f.id].status != "cancelled" {
			continue
		}
		var first attempt
		by, asked := h.ending.ended, false
		for _, a := range attempts {
			if a.kind != cancels || a.order != f.id || a.said == saidNo || a.said == saidPaid {
				continue
			}
			if !asked || a.call < first.call {
				first, asked = a, true
			}
			if a.said == saidCancelled && !h.ending.late(f.id) {
				by = min(by, a.ret)
			}
			by = min(by, h.ending.until(a.call))
		}
		if !asked {
			h.findings = append(h.findings, fmt.Sprintf("nobody cancelled order %s", f.id))
			continue
		}
		first.ret = -1 // it is no request of a client
		h.put(first, request{kind: comesBack, order: n}, answer{}, by)
	}
}
