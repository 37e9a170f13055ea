package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Options tune a Client. The zero value is a good one for a program without a login;
// what a buyer does needs Token.
type Options struct {
	// Token gives the buyer's signed token, without "Bearer". It is asked before every
	// try, so that a token that was renewed is used. Its error ends the call.
	Token func(context.Context) (string, error)
	// HTTP sends the requests; nil for a client of its own that keeps connections. Its
	// Timeout must be 0 or above PollWait + TryTimeout.
	HTTP *http.Client
	// Language of the sentences for people: "en" or "zh"; "" for the server's choice.
	Language string
	// Tries bounds how often one request is sent; 0 for 10. Waiting for a sale to open
	// does not count.
	Tries int
	// TryTimeout bounds one try; 0 for 5 s, which is longer than a server takes to
	// answer a purchase: who gives up sooner learns less. The context bounds the whole.
	TryTimeout time.Duration
	// PollWait is how long a poll waits at the server, up to 30 s; 0 for 20 s.
	PollWait time.Duration
	// TraceParent gives the W3C traceparent of what the caller does now; nil, or "" from
	// it: a new trace begins with every call.
	TraceParent func(context.Context) string
}

// maxPollWait is the longest poll that the server takes.
const maxPollWait = 30 * time.Second

// Client asks one server, for one buyer. It is safe for concurrent use.
type Client struct {
	base  string
	opts  Options
	sleep func(context.Context, time.Duration) error
	now   func() time.Time
	dice  func() float64 // from 0 to 1
}

// New makes a client of the server at base, such as https://shop.example. All that is
// wrong with base and opts is reported together.
func New(base string, opts Options) (*Client, error) {
	var wrong []error
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.RawQuery != "" || u.Fragment != "" {
		wrong = append(wrong, errors.New("want the server as http(s)://HOST[:PORT][/PATH]"))
	}
	if opts.Tries < 0 || opts.TryTimeout < 0 {
		wrong = append(wrong, errors.New("want Tries and TryTimeout above 0, or 0 for their defaults"))
	}
	if opts.PollWait < 0 || opts.PollWait > maxPollWait {
		wrong = append(wrong, fmt.Errorf("want PollWait up to %s", maxPollWait))
	}
	if len(wrong) > 0 {
		return nil, fmt.Errorf("make a client: %w", errors.Join(wrong...))
	}
	if opts.HTTP == nil {
		opts.HTTP = &http.Client{Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true,
			DialContext: (&net.Dialer{Timeout: 3 * time.Second}).DialContext, TLSHandshakeTimeout: 3 * time.Second,
		}}
	}
	if opts.Tries == 0 {
		opts.Tries = 10
	}
	if opts.TryTimeout == 0 {
		opts.TryTimeout = 5 * time.Second
	}
	if opts.PollWait == 0 {
		opts.PollWait = 20 * time.Second
	}
	return &Client{base: strings.TrimSuffix(base, "/"), opts: opts, sleep: sleep, now: time.Now, dice: rand.Float64}, nil
}

// sleep waits for d, or gives the context's error.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// request is what is sent at each try.
type request struct {
	method, path string
	query        url.Values
	body         any // as JSON; nil for none
	headers      map[string]string
	public       bool          // without a token
	wait         time.Duration // that the server may take beside TryTimeout
	trace        trace
}

// answer is one answer with a good status.
type answer struct {
	status int
	header http.Header
	body   []byte
	trace  string
}

// into reads the JSON of an answer. What cannot be read is a lost answer.
func (a *answer) into(to any) error {
	if err := json.Unmarshal(a.body, to); err != nil {
		return &lostError{fmt.Errorf("read the answer: %w", err)}
	}
	return nil
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 4 << 20

// send sends r once. A "no" is a *Problem. Where no whole answer came the error is a
// *lostError, or an *unsentError when the request never left.
func (c *Client) send(ctx context.Context, r *request) (*answer, error) {
	trying, cancel := context.WithTimeout(ctx, c.opts.TryTimeout+r.wait)
	defer cancel()
	req, err := c.build(trying, r)
	if err != nil {
		return nil, err
	}
	res, err := c.opts.HTTP.Do(req)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) && op.Op == "dial" {
			return nil, &unsentError{err}
		}
		return nil, &lostError{err}
	}
	defer func() { _ = res.Body.Close() }() // it was read, or is given up
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return nil, &lostError{err}
	}
	a := &answer{status: res.StatusCode, header: res.Header, body: body, trace: res.Header.Get("X-Trace-Id")}
	if a.status/100 == 2 || a.status == http.StatusNotModified {
		return a, nil
	}
	return nil, problemOf(a, c.now())
}

// build makes the request of one try.
func (c *Client) build(ctx context.Context, r *request) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		data, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("write the request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	req.Header.Set("Accept", "application/json, application/problem+json")
	req.Header.Set("Traceparent", r.trace.parent())
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.opts.Language != "" {
		req.Header.Set("Accept-Language", c.opts.Language)
	}
	for name, value := range r.headers {
		req.Header.Set(name, value)
	}
	if r.public || c.opts.Token == nil {
		return req, nil
	}
	token, err := c.opts.Token(ctx)
	if err != nil {
		return nil, fmt.Errorf("get the buyer's token: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return req, nil
}
