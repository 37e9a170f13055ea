package client

import (
	"errors"
	"testing"
)

func TestACancellationWithoutAnAnswerIsFoundOutByAskingAgain(t *testing.T) {
	t.Parallel()
	c, s, _ := asked(t, Options{}, cut, order("cancelled", "2"))
	got, err := c.Cancel(t.Context(), "o1")
	if err != nil || got.Status != StatusCancelled || len(s.seen) != 2 || s.seen[1].URL.Path != "/api/v1/orders/o1/cancellation" || s.bodies[1] != "" {
		t.Errorf("got %+v, %v after %d requests", got, err, len(s.seen))
	}
}

func TestWhatTheStateOfAnOrderDoesNotAllowComesWithTheOrder(t *testing.T) {
	t.Parallel()
	c, s, _ := asked(t, Options{}, refused(409, CodeWrongState, `"order":{"order_id":"o1","status":"paid","version":2,"amount":null}`))
	_, cancelErr := c.Cancel(t.Context(), "o1")
	_, payErr := c.Payment(t.Context(), "o1")
	for _, err := range []error{cancelErr, payErr} {
		var p *Problem
		if !errors.As(err, &p) || p.Code != CodeWrongState || p.Order == nil || p.Order.Status != StatusPaid {
			t.Errorf("got %v, want wrong_state with the order", err)
		}
	}
	if len(s.seen) != 2 {
		t.Errorf("asked %d times, want each once", len(s.seen))
	}
}

func TestWhereToPayIsAskedAgainWhileTheOrderIsBeingRecorded(t *testing.T) {
	t.Parallel()
	c, _, _ := asked(t, Options{}, refused(409, CodeInProgress), told(200, `{"order_id":"o1","amount":"19.90","currency":"CNY","pay_by":"2026-01-02T03:04:05Z",
		"status":"placed","providers":[{"name":"bank","url":"https://bank.test/pay/o1"}]}`))
	got, err := c.Payment(t.Context(), "o1")
	if err != nil || got.Amount != "19.90" || len(got.Providers) != 1 || got.Providers[0].Name != "bank" || got.PayBy.IsZero() {
		t.Errorf("got %+v, %v", got, err)
	}
}
