package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
)

// Line is a number of units of one item.
type Line struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"` // 1 or more
}

// Purchase is what to buy: up to ten lines, all of them or none.
type Purchase struct {
	Lines []Line
	// Key is the Idempotency-Key, 1 to 255 visible ASCII characters: a purchase under a
	// key that became an order is that order. "": a new one is made, and stands in Bought
	// or in the *UnknownError. A program that may die and start again stores its own key
	// before it buys.
	Key string
	// Ticket is what a sale that requires one asks for: see Client.Ticket.
	Ticket string
}

// Status of an order.
const (
	StatusQueued    = "queued" // accepted, and not yet recorded: wait for it
	StatusPlaced    = "placed"
	StatusPaid      = "paid"
	StatusCancelled = "cancelled"
	StatusExpired   = "expired"
	StatusRejected  = "rejected" // see Reason
)

// Bought is a purchase that became an order. Look at Status: a queued one is not yet
// recorded, and a repeat may meet an order that ended.
type Bought struct {
	OrderID string `json:"order_id"`
	Status  string `json:"status"`
	// Repeat: the order was there before the request that was answered. That is so, too,
	// where the answer of an earlier try was lost.
	Repeat  bool   `json:"repeat"`
	TraceID string `json:"trace_id"` // of the request that was answered
	// Reason says why a rejected order was rejected: guard, duplicate, limit, poison, lost.
	Reason string `json:"reason"`
	// WaitingFor says what a queued order waits for: recorder, gate, log, sale.
	WaitingFor string `json:"waiting_for"`
	// Key is the Idempotency-Key that it was bought with; Tries how often it was sent.
	Key   string `json:"-"`
	Tries int    `json:"-"`
}

// Purchase buys. It repeats under one key while the server is busy, paused, not ready
// or asks for patience, waits where the sale has not opened yet, and finds out what
// became of a try without an answer. A refusal is a *Problem (errors.As), such as
// sold_out, limit_exceeded, sale_ended, not_eligible. An *UnknownError says that
// nobody could tell in time; only then there may be an order beside an error.
func (c *Client) Purchase(ctx context.Context, sale string, p Purchase) (Bought, error) {
	if p.Key == "" {
		p.Key = randomHex(16)
	}
	r := &request{
		method: http.MethodPost, path: "/api/v1/sales/" + url.PathEscape(sale) + "/purchases",
		body: map[string]any{"lines": p.Lines}, headers: map[string]string{"Idempotency-Key": p.Key}, trace: c.newTrace(ctx),
	}
	if p.Ticket != "" {
		r.headers["Purchase-Ticket"] = p.Ticket
	}
	var bought Bought
	o := c.repeat(ctx, r, func(a *answer) error {
		bought = Bought{}
		if err := a.into(&bought); err != nil {
			return err
		}
		if bought.OrderID == "" {
			return &lostError{errors.New("the answer names no order")}
		}
		return nil
	})
	bought.Key, bought.Tries = p.Key, o.tries
	switch {
	case o.err == nil:
		return bought, nil
	case !o.unclear:
		return Bought{}, o.err
	}
	no := decided(o.err)
	looks := listLooks
	if no {
		looks = 1
	}
	if order, ok := c.ofTrace(ctx, sale, r.trace.id, looks); ok {
		return Bought{OrderID: order.ID, Status: order.Status, Repeat: true, TraceID: order.TraceID, Reason: order.Reason,
			WaitingFor: order.WaitingFor, Key: p.Key, Tries: o.tries}, nil
	}
	if no {
		return Bought{}, o.err
	}
	return Bought{}, &UnknownError{Key: p.Key, TraceID: r.trace.id, Err: o.err}
}

// decided tells whether an error says of all tries that there is no order: the server
// looks for the key and for the buyer's order before it says any of these.
func decided(err error) bool {
	var p *Problem
	if !errors.As(err, &p) || judge(p) != final {
		return false
	}
	switch p.Code {
	case CodeSoldOut, CodeLimitExceeded, CodeSaleEnded, CodeNotEligible, CodeTicketRequired, CodeTicketInvalid, CodeIdempotencyMismatch:
		return true
	}
	return false
}

// listLooks is how often the list of own orders is read for an order of which nothing
// else can tell: the list follows the log.
const listLooks = 5

// ofTrace looks for an order of this trace among the newest of the buyer's: that is how
// an order is found whose every answer was lost. It is a help; not found is no answer.
func (c *Client) ofTrace(ctx context.Context, sale, trace string, looks int) (Order, bool) {
	for n := 1; ; n++ {
		page, err := c.Orders(ctx, sale, "")
		for _, order := range page.Orders {
			if order.TraceID == trace {
				return order, true
			}
		}
		if err != nil || n >= looks || c.pause(ctx, c.delay(nil, again, n)) != nil {
			return Order{}, false
		}
	}
}
