package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// script is a server that gives one answer after the other, the last one for ever.
type script struct {
	t       *testing.T
	answers []func(http.ResponseWriter)

	mu     sync.Mutex
	seen   []*http.Request
	bodies []string
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // one that breaks off is told by what it says
	s.mu.Lock()
	s.seen, s.bodies = append(s.seen, r), append(s.bodies, string(body))
	do := s.answers[min(len(s.seen), len(s.answers))-1]
	s.mu.Unlock()
	do(w)
}

// told is an answer with a body, and headers given as name and value.
func told(status int, body string, headers ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // the client may be gone
	}
}

// refused is a problem document.
func refused(status int, code string, fields ...string) func(http.ResponseWriter) {
	doc := fmt.Sprintf(`{"status":%d,"code":%q,"detail":"No."`, status, code)
	return told(status, doc+strings.Join(append([]string{""}, fields...), ",")+"}", "Content-Type", "application/problem+json")
}

// cut breaks the connection off.
func cut(http.ResponseWriter) { panic(http.ErrAbortHandler) }

// placed is a good answer to a purchase.
var placed = told(201, `{"order_id":"o1","status":"placed","trace_id":"t"}`)

// asked makes a client of a scripted server whose waits take no time and are noted.
func asked(t *testing.T, opts Options, answers ...func(http.ResponseWriter)) (c *Client, s *script, waits *[]time.Duration) {
	t.Helper()
	s = &script{t: t, answers: answers}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	// On a connection that was used before net/http itself repeats what broke off.
	opts.HTTP = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	opts.Token = func(context.Context) (string, error) { return "token", nil }
	c, err := New(server.URL, opts)
	if err != nil {
		t.Fatal(err)
	}
	waits = new([]time.Duration)
	c.sleep = func(ctx context.Context, d time.Duration) error {
		*waits = append(*waits, d)
		return ctx.Err()
	}
	return c, s, waits
}

var one = Purchase{Lines: []Line{{SKU: "item", Quantity: 1}}}

func TestAPurchaseIsRepeatedUnderOneKeyInOneTraceUntilItIsTaken(t *testing.T) {
	t.Parallel()
	c, s, waits := asked(t, Options{},
		refused(503, CodeBusy, `"retry_after_ms":700`), refused(429, CodeRateLimited, `"retry_after_ms":1200`), cut,
		told(502, "bad gateway", "Retry-After", "2"), refused(500, CodeInternal), refused(409, CodeInProgress),
		told(201, `{"order_id":`), told(201, `{}`), placed)
	bought, err := c.Purchase(t.Context(), "s", one)
	if err != nil || bought.OrderID != "o1" || bought.Tries != 9 || bought.Key == "" {
		t.Fatalf("got %+v, %v; want order o1 after 9 tries", bought, err)
	}
	trace := strings.Split(s.seen[0].Header.Get("Traceparent"), "-")[1]
	spans := map[string]bool{}
	for i, r := range s.seen {
		parent := strings.Split(r.Header.Get("Traceparent"), "-")
		if key := r.Header.Get("Idempotency-Key"); key != bought.Key || parent[1] != trace || spans[parent[2]] {
			t.Errorf("try %d: key %q and traceparent %v; want key %q, trace %s and a span of its own", i+1, key, parent, bought.Key, trace)
		}
		spans[parent[2]] = true
	}
	for i, least := range []time.Duration{700 * time.Millisecond, 1200 * time.Millisecond, leastWait / 2, 2 * time.Second} {
		if got := (*waits)[i]; got < least || got > least+mostWait {
			t.Errorf("wait %d: got %s, want %s and a little more", i+1, got, least)
		}
	}
}

func TestANoIsAskedOnce(t *testing.T) {
	t.Parallel()
	for code, status := range map[string]int{
		CodeSoldOut: 409, CodeLimitExceeded: 409, CodeSaleEnded: 410, CodeNotEligible: 403, CodeUnauthenticated: 401, CodeSaleNotFound: 404,
		CodeInvalidRequest: 422, CodeIdempotencyMismatch: 422, "a_code_of_later": 409,
	} {
		c, s, waits := asked(t, Options{}, refused(status, code, `"receipt":"r1"`, `"errors":[{"field":"f","reason":"bad"}]`))
		_, err := c.Purchase(t.Context(), "s", one)
		var p *Problem
		var unknown *UnknownError
		if !errors.As(err, &p) || p.Code != code || p.Status != status || p.Receipt != "r1" || p.Fields[0] != (Field{"f", "bad"}) || errors.As(err, &unknown) {
			t.Errorf("%s: got %#v", code, err)
		}
		if len(s.seen) != 1 || len(*waits) != 0 {
			t.Errorf("%s: asked %d times", code, len(s.seen))
		}
	}
}

func TestTriesAreBounded(t *testing.T) {
	t.Parallel()
	c, s, _ := asked(t, Options{Tries: 3}, refused(503, CodeBusy, `"retry_after_ms":1`))
	_, err := c.Purchase(t.Context(), "s", one)
	var p *Problem
	var unknown *UnknownError
	if !errors.As(err, &p) || p.Code != CodeBusy || errors.As(err, &unknown) || len(s.seen) != 3 {
		t.Errorf("got %v after %d tries, want busy after 3", err, len(s.seen))
	}
}

// A wait that the deadline would cut off helps nobody: what is known is told at once.
func TestAWaitPastTheDeadlineIsNotBegun(t *testing.T) {
	t.Parallel()
	for _, answer := range []func(http.ResponseWriter){refused(425, CodeTooEarly, `"retry_after_ms":7200000`), refused(503, CodePaused, `"retry_after_ms":7200000`)} {
		c, s, waits := asked(t, Options{}, answer)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		_, err := c.Purchase(ctx, "s", one)
		cancel()
		var p *Problem
		if !errors.As(err, &p) || p.RetryAfter != 2*time.Hour || !errors.Is(err, context.DeadlineExceeded) || len(s.seen) != 1 || len(*waits) != 0 {
			t.Errorf("got %v after %d tries and waits %v", err, len(s.seen), *waits)
		}
	}
}

func TestWaitingForTheOpeningUsesNoTriesUp(t *testing.T) {
	t.Parallel()
	early := refused(425, CodeTooEarly, `"retry_after_ms":60000`, `"opens_at":"2026-01-02T03:04:05Z"`)
	c, _, waits := asked(t, Options{Tries: 1}, early, early, early, placed)
	bought, err := c.Purchase(t.Context(), "s", one)
	if err != nil || bought.Tries != 4 {
		t.Fatalf("got %+v, %v", bought, err)
	}
	for _, w := range *waits {
		if w < time.Minute || w > time.Minute+openingJitter {
			t.Errorf("waited %s, want a minute and up to %s", w, openingJitter)
		}
	}
}

// What was asked for may have happened, although the last answer is a "no" that does
// not look for orders, or none.
func TestAnUnclearPurchaseIsNeverToldAsAFailure(t *testing.T) {
	t.Parallel()
	nothing := told(200, `{"orders":[],"next_cursor":""}`)
	for name, answers := range map[string][]func(http.ResponseWriter){
		"no answer":       {cut, cut, nothing},
		"a balancer's":    {told(504, ""), told(503, ""), nothing},
		"then not signed": {cut, refused(401, CodeUnauthenticated), refused(401, CodeUnauthenticated)},
		"then busy":       {cut, refused(503, CodeBusy), nothing},
		"internal":        {refused(500, CodeInternal), refused(500, CodeInternal), nothing},
		"in progress":     {refused(409, CodeInProgress), refused(409, CodeInProgress), nothing},
		"cut in the body": {told(202, `{"order_id":"o`), told(202, `{"order_id":"o`), nothing},
	} {
		c, _, _ := asked(t, Options{Tries: 2}, answers...)
		_, err := c.Purchase(t.Context(), "s", Purchase{Lines: one.Lines, Key: "my-key"})
		var unknown *UnknownError
		if !errors.As(err, &unknown) || unknown.Key != "my-key" || len(unknown.TraceID) != 32 {
			t.Errorf("%s: got %v, want that it is not known", name, err)
		}
	}
}

func TestANoAfterALostAnswerIsFinalWhereTheKeyWasLookedForFirst(t *testing.T) {
	t.Parallel()
	c, _, _ := asked(t, Options{}, cut, refused(409, CodeSoldOut), told(200, `{"orders":[]}`))
	_, err := c.Purchase(t.Context(), "s", one)
	var p *Problem
	var unknown *UnknownError
	if !errors.As(err, &p) || p.Code != CodeSoldOut || errors.As(err, &unknown) {
		t.Errorf("got %v, want sold_out", err)
	}
}

func TestAnOrderWhoseEveryAnswerWasLostIsFoundByItsTrace(t *testing.T) {
	t.Parallel()
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	list := func(id string) func(http.ResponseWriter) {
		body, err := json.Marshal(OrderPage{Orders: []Order{{ID: "older", TraceID: "x"}, {ID: "o2", TraceID: id, Status: StatusPlaced}}})
		if err != nil {
			t.Fatal(err)
		}
		return told(200, string(body))
	}
	opts := Options{Tries: 1, TraceParent: func(context.Context) string { return "00-" + trace + "-00f067aa0ba902b7-01" }}
	c, s, _ := asked(t, opts, cut, list("y"), list(trace)) // the list follows the log
	bought, err := c.Purchase(t.Context(), "s", one)
	if err != nil || bought.OrderID != "o2" || !bought.Repeat || len(s.seen) != 3 {
		t.Errorf("got %+v, %v after %d requests", bought, err, len(s.seen))
	}
}

func TestWhatReachedNobodyIsNotUnclear(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, err := New(server.URL, Options{Tries: 2})
	if err != nil {
		t.Fatal(err)
	}
	var unknown *UnknownError
	if _, err := c.Purchase(t.Context(), "s", one); err == nil || errors.As(err, &unknown) {
		t.Errorf("got %v, want an error that is not unclear", err)
	}
}

func TestATokenIsAskedForBeforeEveryTryAndItsErrorEndsTheCall(t *testing.T) {
	t.Parallel()
	c, s, _ := asked(t, Options{}, refused(503, CodeBusy, `"retry_after_ms":1`), placed)
	n := 0
	c.opts.Token = func(context.Context) (string, error) { n++; return fmt.Sprintf("t%d", n), nil }
	if _, err := c.Purchase(t.Context(), "s", one); err != nil || s.seen[1].Header.Get("Authorization") != "Bearer t2" {
		t.Errorf("got %v with %v", err, s.seen[1].Header)
	}
	gone := errors.New("the session is over")
	c.opts.Token = func(context.Context) (string, error) { return "", gone }
	if _, err := c.Purchase(t.Context(), "s", one); !errors.Is(err, gone) || len(s.seen) != 2 {
		t.Errorf("got %v after %d requests, want %v and no further request", err, len(s.seen), gone)
	}
}

func TestRetryAfterIsReadInAllItsForms(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"3": 3 * time.Second, "": 0, "soon": 0, "-1": 0, "Fri, 02 Jan 2026 03:04:35 GMT": 30 * time.Second, "Fri, 02 Jan 2026 03:04:00 GMT": 0,
	} {
		a := &answer{header: http.Header{"Retry-After": {text}}}
		if got := retryAfter(a, now); got != want {
			t.Errorf("Retry-After: %q: got %s, want %s", text, got, want)
		}
		a.body = []byte(`{"retry_after_ms":1500}`)
		if got := retryAfter(a, now); got != 1500*time.Millisecond {
			t.Errorf("retry_after_ms beside Retry-After %q: got %s, want 1.5s", text, got)
		}
	}
}

func TestAllThatIsWrongWithAClientIsReportedTogether(t *testing.T) {
	t.Parallel()
	_, err := New("shop.example", Options{Tries: -1, PollWait: time.Minute})
	for _, part := range []string{"http(s)://HOST", "Tries", "PollWait"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got %v, want it to name %s", err, part)
		}
	}
}
