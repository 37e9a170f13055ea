package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// State of a sale.
const (
	StateScheduled = "scheduled"
	StateOpen      = "open"
	StatePaused    = "paused"
	StateEnded     = "ended"
	StateCleaned   = "cleaned"
)

// Sale is a sale as buyers see it. It may be a second old: caches may keep it so long.
type Sale struct {
	ID       string `json:"id"`
	Version  int64  `json:"version"`
	Title    string `json:"title"`
	State    string `json:"state"`
	Strategy string `json:"strategy"`
	// ServerTime is when the server said so; the other times are by its clock as well.
	ServerTime    time.Time `json:"server_time"`
	OpensAt       time.Time `json:"opens_at"`
	ClosesAt      time.Time `json:"closes_at"`
	LimitPerBuyer int64     `json:"limit_per_buyer"` // units
	Items         []Item    `json:"items"`
	// ETag names what was read: see Client.Refresh.
	ETag string `json:"-"`

	heard time.Time // by our clock, when it came
}

// Item is one thing on sale.
type Item struct {
	SKU      string `json:"sku"`
	Title    string `json:"title"`
	Price    string `json:"price"`    // of one unit, a decimal text such as "19.90"
	Currency string `json:"currency"` // ISO 4217
	// SoldOut says that no unit was left a moment ago. Units may come back: only a
	// purchase is judged exactly.
	SoldOut bool `json:"sold_out"`
	// NextReleaseAt is when more units come on sale; the zero time where none are planned.
	NextReleaseAt time.Time `json:"next_release_at"`
}

// Sale reads a sale. None of this id is a *Problem sale_not_found.
func (c *Client) Sale(ctx context.Context, id string) (Sale, error) {
	sale, _, err := c.Refresh(ctx, Sale{ID: id})
	return sale, err
}

// Refresh reads a sale again that was read before. Where nothing has changed the server
// sends no body, changed is false, and the sale is the one that was given.
func (c *Client) Refresh(ctx context.Context, seen Sale) (sale Sale, changed bool, err error) {
	r := &request{method: http.MethodGet, path: "/api/v1/sales/" + url.PathEscape(seen.ID), public: true, trace: c.newTrace(ctx)}
	if seen.ETag != "" {
		r.headers = map[string]string{"If-None-Match": seen.ETag}
	}
	o := c.repeat(ctx, r, func(a *answer) error {
		if a.status == http.StatusNotModified {
			sale, changed = seen, false
			return nil
		}
		sale, changed = Sale{ETag: a.header.Get("ETag"), heard: c.now()}, true
		return a.into(&sale)
	})
	if o.err != nil {
		return Sale{}, false, fmt.Errorf("read sale %s: %w", seen.ID, o.err)
	}
	return sale, changed, nil
}

const (
	// lookAhead is how long before the opening a sale is read once more, since it may
	// have been given another time; lookEvery the longest time between two reads.
	lookAhead = 5 * time.Second
	lookEvery = time.Minute
	// lookAgain is the time between reads of a sale that should sell and does not.
	lookAgain = time.Second
)

// AwaitOpen waits until a sale is open by the server's clock, or over, and gives it:
// look at State. The clock of this machine does not matter. A purchase need not wait for
// it: Purchase itself waits for the opening, and more exactly.
func (c *Client) AwaitOpen(ctx context.Context, id string) (Sale, error) {
	sale, err := c.Sale(ctx, id)
	if err != nil {
		return Sale{}, err
	}
	ahead := sale.ServerTime.Sub(sale.heard) // of the server's clock, at least
	for sale.State == StateScheduled || sale.State == StatePaused {
		if err := c.pause(ctx, c.untilLook(sale.OpensAt.Sub(c.now().Add(ahead)))); err != nil {
			return sale, fmt.Errorf("wait for sale %s, which is %s: %w", id, sale.State, err)
		}
		next, changed, err := c.Refresh(ctx, sale)
		if err != nil {
			return sale, err
		}
		if sale = next; changed {
			ahead = max(ahead, sale.ServerTime.Sub(sale.heard))
		}
	}
	return sale, nil
}

// untilLook is how long to wait before the next read of a sale that opens in left.
func (c *Client) untilLook(left time.Duration) time.Duration {
	switch {
	case left > 2*lookAhead:
		return min(left-lookAhead, lookEvery) - c.part(lookAhead/2)
	case left > 0:
		return left + c.part(openingJitter)
	}
	return lookAgain + c.part(lookAgain)
}
