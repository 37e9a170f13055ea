package load

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// Kinds of questions in the account of visitors, and of what is noted beside.
const (
	KindPurchase = "purchase"
	KindPoll     = "poll"
	KindPage     = "page"
	KindPayment  = "payment"
	KindWebhook  = "webhook"
	KindAttack   = "attack"
	// KindVerdict is from the first press to the last answer, pauses included;
	// KindPlaced from the first press until the buyer saw the order placed.
	KindVerdict = "verdict"
	KindPlaced  = "placed"
)

// Visitors are the people of a sale, one for each arrival. Build, Judge and Kind make
// the attack. They behave as good clients do: they wait as long as Retry-After says and
// otherwise longer and longer, press again after a fault, with the same
// Idempotency-Key, and no more often than Tries.
type Visitors struct {
	Host, Sale string
	SKUs       []string
	Tokens     []string // by buyer
	Visits     []Visit  // by arrival
	Account    *Account // of the attack
	// Tries bounds the presses of one visitor (5); Poll is between two looks at an order
	// (1 s); Think is how long people think on average (500 ms); Until ends their
	// patience with an order that is not placed.
	Tries       int
	Poll, Think time.Duration
	Until       time.Time
	// Paid gives the path, headers (each with its line end) and body of the message that
	// an order was paid; nil where nobody can tell that.
	Paid func(order string) (path, headers, body string)
	// Tag makes the Idempotency-Keys of this crowd its own.
	Tag string

	at []visitor
}

// visitor is where one of them stands.
type visitor struct {
	order   string
	verdict string
	tries   uint8
	doing   doing
	looks   uint8
	pressed time.Duration // when, after the start
	won     time.Duration // when the order was told, after the start
	decided bool          // the order was seen to be
}

// doing is what a visitor asks next.
type doing uint8

const (
	arriving doing = iota
	following
	asking // where to pay
	paying
)

// Start makes the visitors ready; call it once before the attack.
func (v *Visitors) Start() {
	if v.Tries <= 0 {
		v.Tries = 5
	}
	if v.Poll <= 0 {
		v.Poll = time.Second
	}
	if v.Think <= 0 {
		v.Think = 500 * time.Millisecond
	}
	v.at = make([]visitor, len(v.Visits))
}

// Kind names what arrival i asks next.
func (v *Visitors) Kind(i int) string {
	switch v.at[i].doing {
	case following:
		return KindPoll
	case asking:
		return KindPayment
	case paying:
		return KindWebhook
	}
	switch v.Visits[i].Persona {
	case Polls:
		return KindPoll
	case Pages:
		return KindPage
	case Attackers:
		return KindAttack
	}
	return KindPurchase
}

// Judge reads what arrival i was told, and says what it does then.
func (v *Visitors) Judge(i int, a Answer) Next {
	switch v.at[i].doing {
	case following:
		return v.followed(i, a)
	case asking:
		return v.asked(i, a)
	case paying:
		return plain(a)
	}
	switch v.Visits[i].Persona {
	case Polls, Pages:
		return v.looked(i, a)
	case Attackers:
		return repelled(i, a)
	}
	return v.pressed(i, a)
}

// pressed reads the answer to a purchase.
func (v *Visitors) pressed(i int, a Answer) Next {
	who := &v.at[i]
	who.tries++
	n, wait := v.read(i, a)
	if wait > 0 && int(who.tries) < v.Tries {
		n.Again = wait
		return n
	}
	who.verdict, who.pressed = n.Outcome, a.Began
	v.Account.Verdict(KindVerdict, n, a.Began, a.SinceBegan)
	if !n.OK || v.Visits[i].Persona == Repeats {
		return n
	}
	if a.Status == http.StatusCreated {
		who.decided = true
		v.Account.Note(KindPlaced, "placed", true, a.Began, a.SinceBegan)
		if v.Visits[i].Persona == Payments {
			who.doing, n.Then = asking, v.think()
		}
		return n
	}
	who.doing, n.Then = following, v.poll(a.RetryAfter)
	return n
}

// read says what an answer to a purchase is, and above 0 after how long a good client
// asks again.
func (v *Visitors) read(i int, a Answer) (n Next, wait time.Duration) {
	who := &v.at[i]
	if a.Err != nil {
		return Next{Outcome: fault(a.Err), Failed: true}, backOff(who.tries)
	}
	var r reply
	if err := json.Unmarshal(a.Body, &r); err != nil {
		return Next{Outcome: fmt.Sprintf("status %d without a readable body", a.Status), Failed: true}, backOff(who.tries)
	}
	switch {
	case a.Status < http.StatusMultipleChoices && r.OrderID != "":
		who.order, who.won = r.OrderID, a.Due+a.Took
		if r.Repeat && who.tries == 1 {
			return Next{Outcome: Repeated, OK: true}, 0
		}
		return Next{Outcome: Accepted, OK: true}, 0
	case a.Status >= http.StatusInternalServerError && a.Status != http.StatusServiceUnavailable, r.Code == "":
		return Next{Outcome: "status " + strconv.Itoa(a.Status), Failed: true}, backOff(who.tries)
	case comeAgain(a.Status) || r.Code == inProgress:
		if r.RetryAfterMS > 0 || a.RetryAfter > 0 {
			return Next{Outcome: r.Code}, patience(a, r)
		}
		return Next{Outcome: r.Code}, backOff(who.tries)
	}
	return Next{Outcome: r.Code}, 0
}

// inProgress is the code of a purchase whose like, with the same key, is being decided.
const inProgress = "in_progress"

// backOff is how long a client that was told nothing waits: longer each time, and not
// as long as its neighbour.
func backOff(tries uint8) time.Duration {
	base := 100 * time.Millisecond << min(tries, 5)
	return base/2 + rand.N(base)
}

func (v *Visitors) poll(said time.Duration) time.Duration {
	base := v.Poll
	if said > 0 {
		base = min(said, v.Poll)
	}
	return base/2 + rand.N(base)
}

// think is a time that people take: most are quick, some are not.
func (v *Visitors) think() time.Duration {
	return max(time.Duration(rand.ExpFloat64()*float64(v.Think)), time.Millisecond)
}

// followed reads the answer to a look at the own order.
func (v *Visitors) followed(i int, a Answer) Next {
	who := &v.at[i]
	if a.Err != nil || comeAgain(a.Status) {
		if time.Now().Before(v.Until) {
			n := plain(a)
			n.Again = max(v.poll(a.RetryAfter), 100*time.Millisecond)
			return n
		}
		return plain(a)
	}
	var r struct {
		Status string `json:"status"`
	}
	if a.Status != http.StatusOK || json.Unmarshal(a.Body, &r) != nil {
		return Next{Outcome: "status " + strconv.Itoa(a.Status), Failed: true}
	}
	switch {
	case r.Status == "queued" && time.Now().Before(v.Until):
		return Next{Outcome: r.Status, OK: true, Then: v.poll(0)}
	case r.Status == "queued":
		v.Account.Note(KindPlaced, "still queued", false, who.pressed, a.Due+a.Took-who.pressed)
		return Next{Outcome: r.Status, Failed: true}
	}
	who.decided = true
	v.Account.Note(KindPlaced, r.Status, r.Status != "rejected", who.pressed, a.Due+a.Took-who.pressed)
	n := Next{Outcome: r.Status, OK: r.Status != "rejected"}
	if n.OK && v.Visits[i].Persona == Payments {
		who.doing, n.Then = asking, v.think()
	}
	return n
}

func (v *Visitors) asked(i int, a Answer) Next {
	n := plain(a)
	if n.OK && v.Paid != nil {
		v.at[i].doing, n.Then = paying, v.think()
	}
	return n
}

// looks is how often who only looks does.
const looks = 3

func (v *Visitors) looked(i int, a Answer) Next {
	who := &v.at[i]
	n := plain(a)
	if who.looks++; n.OK && who.looks < looks {
		n.Then = v.think()
		if v.Visits[i].Persona == Polls {
			n.Then = v.poll(0)
		}
	}
	return n
}

// plain reads an answer that is what was asked for, or is not.
func plain(a Answer) Next {
	switch {
	case a.Err != nil:
		return Next{Outcome: fault(a.Err), Failed: true}
	case a.Status < http.StatusBadRequest:
		return Next{Outcome: "ok", OK: true}
	}
	var r reply
	_ = json.Unmarshal(a.Body, &r) // what is no problem of ours has no code
	if r.Code == "" || a.Status >= http.StatusInternalServerError && a.Status != http.StatusServiceUnavailable {
		return Next{Outcome: "status " + strconv.Itoa(a.Status), Failed: true}
	}
	return Next{Outcome: r.Code}
}
