package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"
)

// Payment says where and how an order is paid.
type Payment struct {
	OrderID string `json:"order_id"`
	// Amount is a decimal text such as "19.90", in Currency (ISO 4217).
	Amount    string     `json:"amount"`
	Currency  string     `json:"currency"`
	PayBy     time.Time  `json:"pay_by"`    // an order that is not paid by then expires
	Providers []Provider `json:"providers"` // any of them, by name
}

// Provider is a place to pay.
type Provider struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// Payment asks where and how to pay an own order that is placed. It never makes an order
// paid: wait for that with AwaitChange. A *Problem wrong_state, with the Order, says that
// it is paid or over.
func (c *Client) Payment(ctx context.Context, order string) (Payment, error) {
	var p Payment
	o := c.repeat(ctx, &request{method: http.MethodPost, path: orderPath(order) + "/payment", trace: c.newTrace(ctx)},
		func(a *answer) error { p = Payment{}; return a.into(&p) })
	if o.err != nil {
		return Payment{}, fmt.Errorf("ask how to pay order %s: %w", order, o.err)
	}
	return p, nil
}

// cancelBudget is how much longer than other answers a cancellation may take.
const cancelBudget = 5 * time.Second

// Cancel gives an own order up that is placed and not paid, and gives the order as it is
// then. One that is cancelled already is given as it is, so that a lost answer is found
// out. A *Problem wrong_state, with the Order, says that it is queued, paid or over. After
// any other error the order may be cancelled: look at it.
func (c *Client) Cancel(ctx context.Context, order string) (Order, error) {
	var cancelled Order
	r := &request{method: http.MethodPost, path: orderPath(order) + "/cancellation", wait: cancelBudget, trace: c.newTrace(ctx)}
	o := c.repeat(ctx, r, func(a *answer) error { cancelled = Order{}; return a.into(&cancelled) })
	if o.err != nil {
		return Order{}, fmt.Errorf("cancel order %s: %w", order, o.err)
	}
	return cancelled, nil
}

func orderPath(id string) string { return "/api/v1/orders/" + url.PathEscape(id) }
