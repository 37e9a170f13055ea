package api

import (
	"cmp"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"seckill/domain"
)

// Problem is a problem document (RFC 9457).
type Problem struct {
	Type         string         `json:"type" doc:"urn:seckill:problem: and the code"`
	Title        string         `json:"title" doc:"Short, in English, the same for every problem of this code"`
	Status       int            `json:"status"`
	Detail       string         `json:"detail" doc:"A sentence for people, in the language of Accept-Language (en, zh)"`
	Code         string         `json:"code" doc:"For programs; codes never change, new ones may come" example:"sold_out"`
	TraceID      string         `json:"trace_id" doc:"The same as X-Trace-Id"`
	RetryAfterMS int64          `json:"retry_after_ms,omitempty" doc:"Try again after so many milliseconds"`
	Receipt      string         `json:"receipt,omitempty" doc:"With every refusal of a purchase to a buyer who is known: a signed text that says by what it was told (sale, buyer as a hash, the gate's time, code, units left where that is known). Keep it: it answers later why" maxLength:"76"`
	OpensAt      *time.Time     `json:"opens_at,omitempty" doc:"With too_early: when the sale opens"`
	OrderID      string         `json:"order_id,omitempty"`
	Order        *OrderView     `json:"order,omitempty" doc:"With wrong_state: the order as it is"`
	Errors       []ProblemField `json:"errors,omitempty" nullable:"false" maxItems:"20" doc:"What is wrong, field by field; of more than 20 fields, 20 of them"`

	challenge string // of a 401
}

// ProblemField is one field of a request and what is wrong with it.
type ProblemField struct {
	Field  string `json:"field" example:"lines[0].quantity"`
	Reason string `json:"reason"`
}

// mostErrors is of how many fields a problem document tells: a request of 16 KiB has room
// for thousands that are wrong.
const mostErrors = 20

// problemType is the media type of a problem document.
const problemType = "application/problem+json"

// Bounds of the jitter in retry_after_ms of problems that ask to come again: wide
// enough that a refused crowd does not come back in one moment.
const (
	retryLeast = 500 * time.Millisecond
	retryMost  = 2500 * time.Millisecond
)

// retryWait is how long somebody is asked to wait, with jitter.
func retryWait() time.Duration { return retryLeast + rand.N(retryMost-retryLeast) }

// document renders r for a language and a trace.
func (r *refusal) document(language, trace string) *Problem {
	k := r.answer()
	p := &Problem{
		Type: "urn:seckill:problem:" + string(r.Code), Title: r.Code.Title(), Status: k.status,
		Detail: r.Code.Sentence(language), Code: string(r.Code), TraceID: trace, OrderID: r.order,
	}
	if r.says != "" {
		p.Detail = reasonIn(language, r.says)
	}
	p.challenge = r.challenge
	if r.state != nil {
		shown := orderViewIn(language, *r.state)
		p.Order, p.OrderID = &shown, shown.OrderID
	}
	if r.Note != "" {
		p.Detail += " " + reasonIn(language, r.Note)
	}
	p.RetryAfterMS = r.retryAfter().Milliseconds()
	if r.refused != nil {
		receipt, _ := r.receipts.Append(nil, r.refused)
		p.Receipt = string(receipt)
	}
	if !r.opensAt.IsZero() {
		at := r.opensAt.UTC()
		p.OpensAt = &at
	}
	for _, f := range r.Fields {
		p.Errors = append(p.Errors, ProblemField{Field: shownField(f.Field), Reason: reasonIn(language, f.Reason)})
	}
	slices.SortStableFunc(p.Errors, func(a, b ProblemField) int { return strings.Compare(a.Field, b.Field) })
	p.Errors = p.Errors[:min(len(p.Errors), mostErrors)]
	return p
}

// retryAfter is how long to wait before it is worth trying again; 0: it is not.
func (r *refusal) retryAfter() time.Duration {
	switch {
	case r.wait > 0:
		return max(r.wait, time.Millisecond)
	case r.answer().again:
		return retryWait()
	}
	return 0
}

// shownField gives a field's name when it looks like one: a name made up by a
// caller is not echoed.
func shownField(name string) string {
	if len(name) > 100 {
		return "(a field)"
	}
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("_-.[]", c) {
			return "(a field)"
		}
	}
	return name
}

// ofProblems are headers of problem documents; the values are shared: they are set,
// never added to.
var ofProblems = struct{ contentType, english []string }{[]string{problemType}, []string{"en"}}

// headers sets what goes with the document. Nobody stores it, so it need not say what
// it varies with.
func (p *Problem) headers(h http.Header, language string) {
	h[echo.HeaderCacheControl] = noStore // first: a map of eight grows even where a key is there
	h[echo.HeaderContentType] = ofProblems.contentType
	h["Content-Language"] = ofProblems.english
	if language != "en" {
		h["Content-Language"] = []string{language}
	}
	delete(h, "Etag")
	if p.RetryAfterMS > 0 {
		h.Set(echo.HeaderRetryAfter, strconv.FormatInt((p.RetryAfterMS+999)/1000, 10))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set(echo.HeaderWWWAuthenticate, cmp.Or(p.challenge, `Bearer realm="seckill"`))
	}
}

// write answers c with a refusal. Where the caller is gone it is a try.
func (r *refusal) write(c echo.Context, prepared preparedProblems) error {
	language := languageOf(first(c.Request().Header, "Accept-Language"))
	p, body, err := prepared.rendered(r, language, traceOf(c))
	if err != nil {
		return err
	}
	h := c.Response().Header()
	p.headers(h, language)
	if allow := first(h, echo.HeaderAllow); allow != "" {
		h.Set(echo.HeaderAllow, allowed(allow))
	}
	c.Response().WriteHeader(p.Status)
	_, err = c.Response().Write(body)
	return err
}

// asProblem turns what echo itself refuses into a refusal.
func asProblem(status int) *refusal {
	switch status {
	case http.StatusNotFound:
		return refuse(domain.CodeNotFound)
	case http.StatusMethodNotAllowed:
		return refuse(domain.CodeMethodNotAllowed)
	case http.StatusUnauthorized:
		return refuse(domain.CodeUnauthenticated)
	case http.StatusForbidden:
		return refuse(domain.CodeForbidden)
	}
	if status >= 400 && status < 500 {
		return invalid(status, "")
	}
	return refuse(domain.CodeInternal)
}
