package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Order is an own order. What is not known yet is empty or the zero time.
type Order struct {
	ID     string      `json:"order_id"`
	SaleID string      `json:"sale_id"`
	Lines  []OrderLine `json:"lines"`
	// Amount is a decimal text such as "19.90", in Currency (ISO 4217).
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
	Status   string `json:"status"` // StatusQueued and the others
	Reason   string `json:"reason"` // of a rejected order
	// WaitingFor says what a queued order waits for: recorder, gate, log, sale.
	WaitingFor string    `json:"waiting_for"`
	Detail     string    `json:"detail"` // a sentence for people
	RefundDue  bool      `json:"refund_due"`
	PlacedAt   time.Time `json:"placed_at"`
	PayBy      time.Time `json:"pay_by"`   // an order that is not paid by then expires
	Version    int64     `json:"version"`  // grows with every change; 0 while queued
	TraceID    string    `json:"trace_id"` // of the purchase
}

// OrderLine is an item of an order; Price is that of one unit.
type OrderLine struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
	Price    string `json:"price"`
}

// OrderPage is a page of own orders, newest first. Give NextCursor to read on; it is
// empty at the end.
type OrderPage struct {
	Orders     []Order `json:"orders"`
	NextCursor string  `json:"next_cursor"`
}

// Order reads an own order as it is now. Others' orders are a *Problem order_not_found.
func (c *Client) Order(ctx context.Context, id string) (Order, error) {
	return c.order(ctx, id, url.Values{}, 0)
}

// Orders lists own orders of a sale, newest first; cursor "" for the first page. An
// order that is queued may be missing: ask for it by its id.
func (c *Client) Orders(ctx context.Context, sale, cursor string) (OrderPage, error) {
	query := url.Values{"sale": {sale}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	var page OrderPage
	o := c.repeat(ctx, &request{method: http.MethodGet, path: "/api/v1/orders", query: query, trace: c.newTrace(ctx)},
		func(a *answer) error { page = OrderPage{}; return a.into(&page) })
	if o.err != nil {
		return OrderPage{}, fmt.Errorf("list own orders: %w", o.err)
	}
	return page, nil
}

// AwaitOrder waits until an own order is no longer queued, by long polls, and gives it.
// It ends with ctx, and otherwise only with a refusal or with as many failures in a row
// as Options.Tries.
func (c *Client) AwaitOrder(ctx context.Context, id string) (Order, error) {
	return c.poll(ctx, id, 0, func(o Order) bool { return o.Status != StatusQueued })
}

// AwaitChange waits until an own order is another than the one that was seen: until it
// is paid, cancelled or expired, say. It ends as AwaitOrder does.
func (c *Client) AwaitChange(ctx context.Context, seen Order) (Order, error) {
	return c.poll(ctx, seen.ID, seen.Version, func(o Order) bool { return o.Status != StatusQueued && o.Version > seen.Version })
}

// pollPause is the least time between two polls that brought nothing.
const pollPause = time.Second

// poll polls until done. A server that has too many polls, or is told to stop, answers
// before the time without news; then some time passes before the next poll.
func (c *Client) poll(ctx context.Context, id string, after int64, done func(Order) bool) (Order, error) {
	query := url.Values{"wait": {c.opts.PollWait.String()}}
	if after > 0 {
		query.Set("after", strconv.FormatInt(after, 10))
	}
	for {
		begun := c.now()
		order, err := c.order(ctx, id, query, c.opts.PollWait)
		if err != nil || done(order) {
			return order, err
		}
		if c.now().Sub(begun) < c.opts.PollWait-pollPause/2 {
			if err := c.pause(ctx, pollPause/2+c.part(pollPause)); err != nil {
				return order, fmt.Errorf("wait for order %s, which is %s: %w", id, order.Status, err)
			}
		}
	}
}

func (c *Client) order(ctx context.Context, id string, query url.Values, wait time.Duration) (Order, error) {
	var order Order
	o := c.repeat(ctx, &request{method: http.MethodGet, path: orderPath(id), query: query, wait: wait, trace: c.newTrace(ctx)},
		func(a *answer) error { order = Order{}; return a.into(&order) })
	if o.err != nil {
		return Order{}, fmt.Errorf("look at order %s: %w", id, o.err)
	}
	return order, nil
}
