package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// verdict is what an error of one try says of a request that may be repeated.
type verdict int

const (
	final   verdict = iota // it would be answered the same again
	again                  // nothing happened; later it may be answered otherwise
	opening                // nothing happened, and the answer says when it will
	unclear                // it may have happened: ask again
)

// judge tells what to do after an error of send.
func judge(err error) verdict {
	var lost *lostError
	var unsent *unsentError
	var p *Problem
	switch {
	case errors.As(err, &lost):
		return unclear
	case errors.As(err, &unsent):
		return again
	case !errors.As(err, &p):
		return final
	}
	switch p.Code {
	case CodeRateLimited, CodeBusy, CodeNotReady, CodePaused:
		return again
	case CodeTooEarly:
		return opening
	case CodeInProgress:
		return unclear
	case "":
		if p.Status == http.StatusTooManyRequests {
			return again
		}
	}
	// A balancer's 502, 503 and 504 do not say whether a server took the request.
	if p.Status >= 500 || p.Status == http.StatusRequestTimeout {
		return unclear
	}
	return final
}

// outcome is what a request came to after all its tries.
type outcome struct {
	answer  *answer
	tries   int
	unclear bool // a try had no answer, so that it may have happened
	err     error
}

// repeat sends r until it is answered for good, the tries are used up or ctx ends. It
// is for requests that do nothing more when they are repeated. good may refuse an
// answer that cannot be read: that is a lost one.
func (c *Client) repeat(ctx context.Context, r *request, good func(*answer) error) outcome {
	var o outcome
	for counted := 0; ; {
		if err := ctx.Err(); err != nil && o.err == nil {
			o.err = err
			return o
		}
		o.tries++
		var err error
		o.answer, err = c.send(ctx, r)
		if err == nil {
			err = good(o.answer)
		}
		if o.err = err; err == nil {
			return o
		}
		said := judge(err)
		o.unclear = o.unclear || said == unclear
		if said != opening {
			counted++
		}
		if said == final {
			return o
		}
		if counted >= c.opts.Tries {
			o.err = fmt.Errorf("gave up after %d tries: %w", o.tries, err)
			return o
		}
		if stopped := c.pause(ctx, c.delay(err, said, counted)); stopped != nil {
			o.err = fmt.Errorf("%w; the last answer: %w", stopped, err)
			return o
		}
	}
}

// errTooLong is a wait that the context would cut off: it is not begun.
var errTooLong = fmt.Errorf("the wait would end after the deadline: %w", context.DeadlineExceeded)

// pause waits for d; at once it is an error where ctx ends before.
func (c *Client) pause(ctx context.Context, d time.Duration) error {
	if until, ok := ctx.Deadline(); ok && c.now().Add(d).After(until) {
		return errTooLong
	}
	return c.sleep(ctx, d)
}

// Bounds of waits that the server does not ask for, and of what is added to those that
// it does: a crowd that was refused in one moment is not to come back in one moment.
const (
	leastWait     = 100 * time.Millisecond
	mostWait      = 5 * time.Second
	mostJitter    = 500 * time.Millisecond
	openingJitter = 50 * time.Millisecond
)

// delay is how long to wait after the n-th error: what the server asks for and some
// jitter, never less; else longer each time.
func (c *Client) delay(err error, said verdict, n int) time.Duration {
	var p *Problem
	if errors.As(err, &p) && p.RetryAfter > 0 {
		jitter := min(p.RetryAfter/4, mostJitter)
		if said == opening {
			jitter = openingJitter
		}
		return p.RetryAfter + c.part(jitter)
	}
	d := min(leastWait<<min(n, 10), mostWait)
	return d/2 + c.part(d/2)
}

// part is a random part of d.
func (c *Client) part(d time.Duration) time.Duration { return time.Duration(c.dice() * float64(d)) }
