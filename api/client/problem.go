package client

import (
	"encoding/json"
	"fmt"
	"math"
	"mime"
	"net/http"
	"strconv"
	"time"
)

// Codes that a program may want to tell apart. They never change; new ones may come.
const (
	CodeInvalidRequest      = "invalid_request" // the request is wrong: see Fields
	CodeUnauthenticated     = "unauthenticated"
	CodeNotEligible         = "not_eligible"
	CodeTicketRequired      = "ticket_required" // see Client.Ticket
	CodeTicketInvalid       = "ticket_invalid"
	CodeNotFound            = "not_found"
	CodeSaleNotFound        = "sale_not_found"
	CodeSKUNotFound         = "sku_not_found"
	CodeOrderNotFound       = "order_not_found"
	CodeSoldOut             = "sold_out"
	CodeLimitExceeded       = "limit_exceeded"
	CodeInProgress          = "in_progress" // another try with this key is being decided
	CodeSaleEnded           = "sale_ended"
	CodeIdempotencyMismatch = "idempotency_mismatch" // the key was used with other lines
	CodeTooEarly            = "too_early"            // see OpensAt
	CodeRateLimited         = "rate_limited"
	CodeBusy                = "busy"
	CodeNotReady            = "not_ready"
	CodePaused              = "paused"
	CodeWrongState          = "wrong_state" // see Order
	CodeInternal            = "internal"
)

// Problem is a "no" of the server (RFC 9457). Find it with errors.As.
type Problem struct {
	// Status is the HTTP status, Code what a program reads; "" where the answer was no
	// document of this server, such as the page of a balancer.
	Status int    `json:"status"`
	Code   string `json:"code"`
	Title  string `json:"title"`
	// Detail is a sentence for people, in the language of Options.
	Detail string `json:"detail"`
	// TraceID finds the request in the logs of the server; tell it when you ask why.
	TraceID string `json:"trace_id"`
	// RetryAfter is how long the server asks to wait; 0 where it does not ask.
	RetryAfter time.Duration `json:"-"`
	// OpensAt says with too_early when the sale opens, by the server's clock.
	OpensAt time.Time `json:"opens_at"`
	OrderID string    `json:"order_id"`
	// Order says with wrong_state how the order is; else nil.
	Order *Order `json:"order"`
	// Receipt is a signed text that says by what a purchase was refused; "" where there
	// is none. Keep it: it answers later why.
	Receipt string `json:"receipt"`
	// Fields say what is wrong with the request, field by field.
	Fields []Field `json:"errors"`
}

// Field is one field of a request, such as lines[0].quantity, and what is wrong with it.
type Field struct {
	Name   string `json:"field"`
	Reason string `json:"reason"`
}

// Error gives status, code and sentence.
func (p *Problem) Error() string {
	s := fmt.Sprintf("%d", p.Status)
	if p.Code != "" {
		s += " " + p.Code
	}
	if p.Detail != "" {
		s += ": " + p.Detail
	}
	for _, f := range p.Fields {
		s += fmt.Sprintf(" %s: %s.", f.Name, f.Reason)
	}
	if p.TraceID != "" {
		s += " (trace " + p.TraceID + ")"
	}
	return s
}

// problemOf reads a refusal; what is no problem document has a status alone.
func problemOf(a *answer, now time.Time) *Problem {
	p := &Problem{}
	if kind, _, err := mime.ParseMediaType(a.header.Get("Content-Type")); err == nil && kind == "application/problem+json" {
		if json.Unmarshal(a.body, p) != nil {
			p = &Problem{}
		}
	}
	p.Status = a.status
	if p.TraceID == "" {
		p.TraceID = a.trace
	}
	p.RetryAfter = retryAfter(a, now)
	return p
}

// retryAfter reads how long the server asks to wait: retry_after_ms of the document,
// else Retry-After in seconds or as a date.
func retryAfter(a *answer, now time.Time) time.Duration {
	var fine struct {
		MS int64 `json:"retry_after_ms"`
	}
	if json.Unmarshal(a.body, &fine) == nil && fine.MS > 0 {
		return time.Duration(min(fine.MS, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
	}
	text := a.header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil && seconds > 0 {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// UnknownError says that nobody could tell in time whether a purchase became an order.
// It is no failure: ask again with Purchase and this Key, which gives the order that
// there is, or look at Orders for one with this TraceID.
type UnknownError struct {
	Key     string // the Idempotency-Key of every try
	TraceID string // of every try, and of the order if there is one
	Err     error  // what happened last; errors.As finds a *Problem or the context's error in it
}

// Error says what is not known, and why.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("it is not known whether the purchase became an order; ask again with the key %s: %v", e.Key, e.Err)
}

// Unwrap gives what happened last.
func (e *UnknownError) Unwrap() error { return e.Err }

// lostError is an answer that did not come, or not whole: what was asked for may have
// happened.
type lostError struct{ err error }

func (e *lostError) Error() string { return e.err.Error() }
func (e *lostError) Unwrap() error { return e.err }

// unsentError is a request that reached nobody.
type unsentError struct{ err error }

func (e *unsentError) Error() string { return e.err.Error() }
func (e *unsentError) Unwrap() error { return e.err }
