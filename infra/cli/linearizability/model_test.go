package linearizability

import (
	"fmt"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// facts are what is known of a sale and of the orders of one history. Nothing of it
// changes while the history is checked.
type facts struct {
	sale  string
	stock int
	terms
	broke time.Duration // when something was broken first; 0: never
	taken []fact        // the orders that were accepted, by their numbers in this history
}

// terms are those of a sale as far as purchases are judged by them.
type terms struct {
	Strategy string
	Buckets  int
	Limit    int // units of a buyer's live orders
	Orders   int // live orders of a buyer; one more is a repeat
	Rebuy    bool
}

// fact is an order that was accepted, as it was asked for.
type fact struct {
	id, buyer, key string
	units          int
}

// kind is what somebody asks of the shop.
type kind int

// What is asked for. A return and an arrival are what a cancellation and a release do
// to the stock: they have a moment of their own.
const (
	opens kind = iota
	buys
	cancels
	pays
	reads
	comesBack
	arrives
	withdraws
)

// outcome is how it was answered.
type outcome int

// Answers. An answer that never came, of something that was done all the same, is done.
const (
	done outcome = iota
	accepted
	repeat
	soldOut
	limitExceeded
	mismatch
	cancelled
	paid
	short
)

func (o outcome) String() string {
	return [...]string{"done", "accepted", "repeat of", "sold out", "limit exceeded", "key mismatch", "cancelled", "paid", "too few"}[o]
}

// request is something that was asked of a sale. Order is a number of facts.taken.
type request struct {
	of         *facts
	kind       kind
	buyer, key string
	units      int
	order      int
	away       bool // something was broken before its answer, so that the gate may have been away
}

// answer is what was said; Order is meant where it was accepted or a repeat.
type answer struct {
	outcome outcome
	order   int
}

// Phases of an order. Until its units are back it counts at the gate as it did before.
const (
	never    = '.'
	live     = 'L'
	bought   = 'P'
	givenUp  = 'C' // cancelled; its units are on their way back
	returned = 'E'
)

// state is a shop with one book. It is compared by ==.
type state struct {
	of   *facts // nil before the sale opened
	left int
	// orders has two bytes for each order: its phase, and which of its buyer's it is.
	orders string
}

// phase gives the phase of an order.
func (s state) phase(order int) byte { return s.orders[2*order] }

// with gives the state with an order in another phase.
func (s state) with(order int, phase byte) state {
	b := []byte(s.orders)
	b[2*order] = phase
	s.orders = string(b)
	return s
}

// judge says how a purchase is answered: key, repeat, limit, stock, in this order.
func (s state) judge(q request) answer {
	for i, f := range s.of.taken {
		if f.buyer == q.buyer && f.key != "" && f.key == q.key && s.phase(i) != never {
			if f.units != q.units {
				return answer{mismatch, i}
			}
			return answer{repeat, i}
		}
	}
	return s.judgeBuyer(q)
}

// judgeBuyer is judge for a key that is not known.
func (s state) judgeBuyer(q request) answer {
	orders, held, count := 0, 0, 0
	lastLive, lastOver := -1, -1
	for i, f := range s.of.taken {
		switch {
		case f.buyer != q.buyer || s.phase(i) == never:
			continue
		case s.phase(i) != returned:
			orders, held = orders+1, held+f.units
			lastLive = s.later(lastLive, i)
		default:
			lastOver = s.later(lastOver, i)
		}
		count++
	}
	switch {
	case orders >= s.of.Orders:
		return answer{repeat, lastLive}
	case !s.of.Rebuy && lastOver >= 0:
		return answer{repeat, lastOver}
	case held+q.units > s.of.Limit:
		return answer{outcome: limitExceeded}
	case s.left < q.units:
		return answer{outcome: soldOut}
	}
	return answer{accepted, count}
}

// later gives which of two orders of a buyer was accepted last; -1 is none.
func (s state) later(a, b int) int {
	if a >= 0 && s.orders[2*a+1] > s.orders[2*b+1] {
		return a
	}
	return b
}

// buy takes the step of a purchase.
func (s state) buy(q request, a answer) (bool, state) {
	verdict := s.judge(q)
	switch a.outcome {
	case accepted:
		if verdict.outcome != accepted || s.phase(a.order) != never {
			return false, s
		}
		next := s.with(a.order, live)
		b := []byte(next.orders)
		b[2*a.order+1] = byte('1' + verdict.order)
		next.orders, next.left = string(b), s.left-q.units
		return true, next
	case repeat:
		// While the gate does not answer, owners meet their order by the read model, which
		// knows no keys and may be of a moment ago.
		owns := s.phase(a.order) != never && s.of.taken[a.order].buyer == q.buyer
		return verdict == a || q.away && owns, s
	case soldOut:
		// Of several buckets it is said after a look at all, which is later than the
		// home bucket's judgement of the buyer.
		return verdict.outcome == soldOut || s.of.Buckets > 1 && s.left < q.units, s
	}
	return verdict.outcome == a.outcome, s
}

// change takes the step of what is done to an order.
func (s state) change(q request, a answer) (bool, state) {
	phase := s.phase(q.order)
	over := phase == givenUp || phase == returned
	switch {
	case q.kind == comesBack:
		if phase != givenUp {
			return false, s
		}
		next := s.with(q.order, returned)
		next.left += s.of.taken[q.order].units
		return true, next
	case q.kind == reads: // what is read of an order may be of a moment ago, but is never ahead
		return a.outcome == done || a.outcome == cancelled && over || a.outcome == paid && phase == bought, s
	case a.outcome == cancelled && over, a.outcome == paid && phase == bought:
		return true, s
	case phase != live:
		return a.outcome == done, s
	case q.kind == cancels && a.outcome != paid:
		return true, s.with(q.order, givenUp)
	case q.kind == pays && a.outcome != cancelled:
		return true, s.with(q.order, bought)
	}
	return false, s
}

// step is the shop: whether the answer is right in this state, and the state after it.
func step(s state, q request, a answer) (bool, state) {
	if q.kind == opens {
		return s.of == nil, state{of: q.of, left: q.of.stock, orders: strings.Repeat(string(never)+"0", len(q.of.taken))}
	}
	if s.of == nil {
		return false, s
	}
	switch q.kind {
	case buys:
		return s.buy(q, a)
	case arrives:
		s.left += q.units
		return true, s
	case withdraws:
		if a.outcome == short {
			return s.left < q.units, s
		}
		s.left -= q.units
		return s.left >= 0, s
	}
	return s.change(q, a)
}

// model is the shop for porcupine; sales have nothing to do with each other.
func model() porcupine.Model {
	return porcupine.Model{
		Partition: bySale,
		Init:      func() any { return state{} },
		Step: func(s, q, a any) (bool, any) {
			return step(s.(state), q.(request), a.(answer))
		},
		DescribeOperation: func(q, a any) string { return describe(q.(request), a.(answer)) },
		DescribeState:     func(s any) string { return s.(state).String() },
	}
}

// bySale parts a history.
func bySale(history []porcupine.Operation) [][]porcupine.Operation {
	var parts [][]porcupine.Operation
	place := map[*facts]int{}
	for _, op := range history {
		of := op.Input.(request).of
		i, ok := place[of]
		if !ok {
			i = len(parts)
			place[of] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], op)
	}
	return parts
}

func describe(q request, a answer) string {
	names := func(order int) string { return fmt.Sprintf("#%d", order) }
	switch q.kind {
	case opens:
		return fmt.Sprintf("%s opens with %d units, %+v", q.of.sale, q.of.stock, q.of.terms)
	case buys:
		said := a.outcome.String()
		if a.outcome == accepted || a.outcome == repeat {
			said += " " + names(a.order)
		}
		return fmt.Sprintf("%s buys %d (%s): %s", q.buyer, q.units, q.key, said)
	case arrives:
		return fmt.Sprintf("%d units arrive", q.units)
	case withdraws:
		return fmt.Sprintf("withdraw %d: %s", q.units, a.outcome)
	}
	does := map[kind]string{cancels: "cancel", pays: "pay", reads: "read", comesBack: "units come back of"}[q.kind]
	return fmt.Sprintf("%s %s: %s", does, names(q.order), a.outcome)
}

// String tells where the shop stands.
func (s state) String() string {
	if s.of == nil {
		return "closed"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d left;", s.left)
	for i, f := range s.of.taken {
		if p := s.phase(i); p != never {
			fmt.Fprintf(&b, " #%d %s×%d %s", i, f.buyer, f.units, map[byte]string{live: "live", bought: "paid", givenUp: "cancelled", returned: "returned"}[p])
		}
	}
	return b.String()
}
