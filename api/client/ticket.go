package client

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Ticket lets one buyer buy once in a sale that requires tickets, until ExpiresAt.
type Ticket struct {
	Text      string    `json:"ticket"`
	ExpiresAt time.Time `json:"expires_at"`
}

// puzzle is a proof of work: the number up to MaxNumber for which the SHA-256 of Salt
// and its digits is Challenge.
type puzzle struct {
	Algorithm string `json:"algorithm"`
	Challenge string `json:"challenge"`
	MaxNumber int64  `json:"maxnumber"`
	Salt      string `json:"salt"`
	Signature string `json:"signature"`
}

// Ticket gets a ticket, and solves the proof of work that the server may ask for: some
// tens of milliseconds to seconds of one processor. Asked again, a buyer gets the same
// ticket while it is good and unused. Tickets are given out from ten minutes before the
// opening; before, this waits. A *Problem not_found says that the sale requires none,
// sold_out that all are given out.
func (c *Client) Ticket(ctx context.Context, sale string) (Ticket, error) {
	for n := 1; ; n++ {
		solution, err := c.solution(ctx, sale)
		if err != nil {
			return Ticket{}, err
		}
		ticket, err := c.ticketFor(ctx, sale, solution)
		if err == nil || n >= c.opts.Tries || !wantsSolution(err) {
			return ticket, err
		}
		// The solution came too late, or it gave a ticket already.
		if err := c.pause(ctx, c.delay(err, again, n)); err != nil {
			return Ticket{}, fmt.Errorf("get a ticket: %w", err)
		}
	}
}

// solution solves a challenge; "" where none is asked for.
func (c *Client) solution(ctx context.Context, sale string) (string, error) {
	var p puzzle
	o := c.repeat(ctx, &request{method: http.MethodGet, path: "/api/v1/sales/" + url.PathEscape(sale) + "/challenge", trace: c.newTrace(ctx)},
		func(a *answer) error { p = puzzle{}; return a.into(&p) })
	var no *Problem
	if errors.As(o.err, &no) && no.Code == CodeNotFound {
		return "", nil // no work is asked for, or no ticket: the next question tells
	}
	if o.err != nil {
		return "", fmt.Errorf("get a challenge: %w", o.err)
	}
	return p.solve(ctx)
}

// solve tries one number after the other. It ends with ctx.
func (p puzzle) solve(ctx context.Context) (string, error) {
	if p.Algorithm != "SHA-256" {
		return "", fmt.Errorf("the challenge asks for %q, and only SHA-256 is known here", p.Algorithm)
	}
	want, err := hex.DecodeString(p.Challenge)
	if err != nil || len(want) != sha256.Size {
		return "", errors.New("the challenge is no SHA-256")
	}
	text := []byte(p.Salt)
	for n := int64(0); n <= p.MaxNumber; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return "", fmt.Errorf("solve the challenge: %w", ctx.Err())
		}
		if text = strconv.AppendInt(text[:len(p.Salt)], n, 10); sha256.Sum256(text) == [sha256.Size]byte(want) {
			solved, err := json.Marshal(map[string]any{
				"algorithm": p.Algorithm, "challenge": p.Challenge, "number": n, "salt": p.Salt, "signature": p.Signature,
			})
			return base64.StdEncoding.EncodeToString(solved), err
		}
	}
	return "", errors.New("the challenge has no solution")
}

func (c *Client) ticketFor(ctx context.Context, sale, solution string) (Ticket, error) {
	body := map[string]string{}
	if solution != "" {
		body["solution"] = solution
	}
	var t Ticket
	o := c.repeat(ctx, &request{method: http.MethodPost, path: "/api/v1/sales/" + url.PathEscape(sale) + "/tickets", body: body, trace: c.newTrace(ctx)},
		func(a *answer) error { t = Ticket{}; return a.into(&t) })
	if o.err != nil {
		return Ticket{}, fmt.Errorf("get a ticket: %w", o.err)
	}
	return t, nil
}

// wantsSolution tells whether a ticket was refused for its solution alone.
func wantsSolution(err error) bool {
	var p *Problem
	return errors.As(err, &p) && p.Code == CodeInvalidRequest && len(p.Fields) == 1 && p.Fields[0].Name == "solution"
}
