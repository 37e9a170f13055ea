package load

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Crowd is a number of distinct buyers who each want the same thing of one sale.
// Its methods Build and Judge make the attack.
type Crowd struct {
	Host string // of the server, for the Host header
	Sale string
	// Tokens are the buyers' signed tokens, one each.
	Tokens []string
	// Tries bounds how often a buyer presses who is told to come again (425, 429,
	// 503); 1 is never again.
	Tries int

	body   string
	orders []string // by buyer, "" where nothing was accepted
	tries  []int
}

// NewCrowd makes a crowd of one buyer per token, each of whom wants one unit and
// presses up to five times while told to come again.
func NewCrowd(host, sale, sku string, tokens []string) *Crowd {
	c := &Crowd{Host: host, Sale: sale, Tokens: tokens, Tries: 5}
	c.body = `{"sku":` + strconv.Quote(sku) + `,"quantity":1}`
	c.orders = make([]string, len(tokens))
	c.tries = make([]int, len(tokens))
	return c
}

// Build appends the purchase of a buyer.
func (c *Crowd) Build(dst []byte, buyer int) []byte {
	dst = append(dst, "POST /api/v1/sales/"...)
	dst = append(dst, c.Sale...)
	dst = append(dst, "/purchases HTTP/1.1\r\nHost: "...)
	dst = append(dst, c.Host...)
	dst = append(dst, "\r\nAuthorization: Bearer "...)
	dst = append(dst, c.Tokens[buyer]...)
	dst = append(dst, "\r\nContent-Type: application/json\r\nContent-Length: "...)
	dst = strconv.AppendInt(dst, int64(len(c.body)), 10)
	dst = append(dst, "\r\n\r\n"...)
	return append(dst, c.body...)
}

// reply is what we read of the answer to a purchase. The status in it is left
// out: it is a word of an order, and a number in a problem.
type reply struct {
	OrderID      string `json:"order_id"`
	Repeat       bool   `json:"repeat"`
	Code         string `json:"code"`
	RetryAfterMS int64  `json:"retry_after_ms"`
}

// Outcomes of a purchase beside the codes of refusals.
const (
	Accepted = "accepted"
	Repeated = "repeat"
)

// Judge reads what a buyer was told. A first acceptance is accepted; a 200 is
// the same buyer's order met again. What is no answer of the API is a fault.
func (c *Crowd) Judge(buyer int, a Answer) Next {
	c.tries[buyer]++
	if a.Err != nil {
		return Next{Outcome: fault(a.Err), Failed: true}
	}
	var r reply
	if err := json.Unmarshal(a.Body, &r); err != nil {
		return Next{Outcome: "status " + strconv.Itoa(a.Status) + " without a readable body", Failed: true}
	}
	switch {
	case (a.Status == http.StatusAccepted || a.Status == http.StatusCreated || a.Status == http.StatusOK) && r.OrderID != "":
		c.orders[buyer] = r.OrderID
		if r.Repeat && c.tries[buyer] == 1 {
			return Next{Outcome: Repeated}
		}
		return Next{Outcome: Accepted, OK: true}
	case a.Status >= http.StatusInternalServerError && a.Status != http.StatusServiceUnavailable, r.Code == "":
		return Next{Outcome: "status " + strconv.Itoa(a.Status), Failed: true}
	}
	if comeAgain(a.Status) && c.tries[buyer] < c.Tries {
		return Next{Outcome: r.Code, Again: patience(a, r)}
	}
	return Next{Outcome: r.Code}
}

// Orders gives the order of each buyer who has one, by their number.
func (c *Crowd) Orders() map[int]string {
	orders := map[int]string{}
	for buyer, id := range c.orders {
		if id != "" {
			orders[buyer] = id
		}
	}
	return orders
}

func comeAgain(status int) bool {
	return status == http.StatusTooEarly || status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// patience is how long a polite buyer waits before pressing again.
func patience(a Answer, r reply) time.Duration {
	wait := time.Duration(r.RetryAfterMS) * time.Millisecond
	if wait <= 0 {
		wait = a.RetryAfter
	}
	return min(max(wait, 50*time.Millisecond), 5*time.Second)
}

// fault names what went wrong on the way, without addresses, so that equal
// faults count together.
func fault(err error) string {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return "timeout"
	}
	if step, _, ok := strings.Cut(err.Error(), ":"); ok {
		return "connection: " + step
	}
	return "connection"
}
