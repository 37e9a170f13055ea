package e2e

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"seckill/api/client"
)

func TestTheGoClientBuysInEveryStrategyMeetsItsOrderAgainAndGivesItUp(t *testing.T) {
	t.Parallel()
	r := NewRig(t)
	child := Serve(t, ChildOptions{Env: withBank(t, r)})
	f := &funnel{t, NewClient(child.URL)}
	for _, strategy := range []string{"redis-async", "redis-sync", "postgres"} {
		sale := f.sale(2, map[string]any{"strategy": strategy})
		c, s := behaving(t, child.URL, "buyer", client.Options{})
		ctx := patience(t)
		if open, err := c.AwaitOpen(ctx, sale); err != nil || open.State != client.StateOpen || open.Items[0].SKU != "item" {
			t.Fatalf("%s: got %+v, %v; want it open", strategy, open, err)
		}
		bought, err := c.Purchase(ctx, sale, oneUnit)
		if err != nil {
			t.Fatalf("%s: %v", strategy, err)
		}
		order, err := c.AwaitOrder(ctx, bought.OrderID)
		if err != nil || order.Status != client.StatusPlaced || order.Amount != "19.90" || order.Currency != "CNY" || order.PlacedAt.IsZero() {
			t.Errorf("%s: got %+v, %v; want it placed", strategy, order, err)
		}
		if pay, err := c.Payment(ctx, order.ID); err != nil || pay.Amount != "19.90" || len(pay.Providers) != 1 || !pay.PayBy.Equal(order.PayBy) {
			t.Errorf("%s: got %+v, %v; want one place to pay", strategy, pay, err)
		}
		again, err := c.Purchase(ctx, sale, client.Purchase{Lines: oneUnit.Lines, Key: bought.Key})
		if err != nil || !again.Repeat || again.OrderID != bought.OrderID {
			t.Errorf("%s: the same key again: %+v, %v; want order %s", strategy, again, err, bought.OrderID)
		}
		var no *client.Problem
		if _, err := c.Purchase(ctx, sale, client.Purchase{Lines: []client.Line{{SKU: "item", Quantity: 2}}, Key: bought.Key}); !errors.As(err, &no) || no.Code != client.CodeIdempotencyMismatch {
			t.Errorf("%s: other lines under the same key: %v, want idempotency_mismatch", strategy, err)
		}
		cancelled, err := c.Cancel(ctx, order.ID)
		if err != nil || cancelled.Status != client.StatusCancelled {
			t.Errorf("%s: got %+v, %v; want it cancelled", strategy, cancelled, err)
		}
		if changed, err := c.AwaitChange(ctx, order); err != nil || changed.Status != client.StatusCancelled || changed.Version <= order.Version {
			t.Errorf("%s: got %+v, %v; want the change after version %d", strategy, changed, err, order.Version)
		}
		s.obeyed(t)
	}
}

func TestTheGoClientIsToldNoOnceWithAReceipt(t *testing.T) {
	t.Parallel()
	child := ServeRig(t, NewRig(t))
	client1 := NewClient(child.URL)
	sale := client1.CreateSale(t, 1)
	first, _ := behaving(t, child.URL, "first", client.Options{})
	if _, err := first.Purchase(patience(t), sale, oneUnit); err != nil {
		t.Fatal(err)
	}
	second, s := behaving(t, child.URL, "second", client.Options{})
	_, err := second.Purchase(patience(t), sale, oneUnit)
	var no *client.Problem
	if !errors.As(err, &no) || no.Code != client.CodeSoldOut || no.Receipt == "" || no.TraceID == "" || len(s.all) != 1 {
		t.Errorf("got %#v after %d requests, want sold_out with a receipt after one", err, len(s.all))
	}
	stranger, s := behaving(t, child.URL, "", client.Options{Token: func(context.Context) (string, error) { return "not.a.token", nil }})
	if _, err := stranger.Purchase(patience(t), sale, oneUnit); !errors.As(err, &no) || no.Code != client.CodeUnauthenticated || no.Status != 401 || len(s.all) != 1 {
		t.Errorf("a wrong token: %v after %d requests, want unauthenticated after one", err, len(s.all))
	}
}

// askedToWait is a node that limits and asks for work.
func askedToWait(t *testing.T) (*funnel, string) {
	t.Helper()
	child := ServeRig(t, NewRig(t), "SECKILL_LIMIT_PURCHASES=1", "SECKILL_TICKET_POW=2000")
	return &funnel{t, NewClient(child.URL)}, child.URL
}

func TestTheGoClientWaitsAsLongAsItIsAskedTo(t *testing.T) {
	t.Parallel()
	f, url := askedToWait(t)
	t.Run("between purchases", func(t *testing.T) { t.Parallel(); waitsForTheLimit(t, f, url) })
	t.Run("for the opening", func(t *testing.T) { t.Parallel(); waitsForTheOpening(t, f, url) })
	t.Run("while the sale is paused", func(t *testing.T) { t.Parallel(); waitsForTheEndOfAPause(t, f, url) })
}

func waitsForTheLimit(t *testing.T, f *funnel, url string) {
	sale := f.sale(50, map[string]any{"orders_per_buyer": 50, "limit_per_buyer": 50})
	c, s := behaving(t, url, "eager", client.Options{Tries: 30})
	for n := 0; n < 50 && s.codes()[client.CodeRateLimited] == 0; n++ {
		if _, err := c.Purchase(patience(t), sale, oneUnit); err != nil {
			t.Fatal(err)
		}
	}
	if s.codes()[client.CodeRateLimited] == 0 {
		t.Errorf("never limited: %v", s.codes())
	}
	s.obeyed(t)
}

func waitsForTheOpening(t *testing.T, f *funnel, url string) {
	opens := time.Now().Add(4 * time.Second)
	sale := f.sale(1, map[string]any{"opens_at": opens.Format(time.RFC3339Nano), "require_ticket": true})
	c, s := behaving(t, url, "early", client.Options{Tries: 30})
	ticket, err := c.Ticket(patience(t), sale)
	if err != nil || !ticket.ExpiresAt.After(opens) {
		t.Fatalf("got %+v, %v", ticket, err)
	}
	bought, err := c.Purchase(patience(t), sale, client.Purchase{Lines: oneUnit.Lines, Ticket: ticket.Text})
	if err != nil {
		t.Fatal(err)
	}
	order, err := c.AwaitOrder(patience(t), bought.OrderID)
	if err != nil || order.Status != client.StatusPlaced || order.PlacedAt.Before(opens.Truncate(time.Microsecond)) {
		t.Errorf("got %+v, %v; want it placed after %s", order, err, opens)
	}
	s.obeyed(t)
	var no *client.Problem
	if _, err := c.Ticket(patience(t), f.sale(1, nil)); !errors.As(err, &no) || no.Code != client.CodeNotFound {
		t.Errorf("a ticket for a sale that needs none: %v, want not_found", err)
	}
}

func waitsForTheEndOfAPause(t *testing.T, f *funnel, url string) {
	sale := f.sale(1, nil)
	turn := func(path string) {
		answer, err := f.Call(http.MethodPost, "/api/v1/admin/sales/"+sale+path, "operator", "admin", nil)
		if err != nil || answer.Status != http.StatusOK {
			t.Errorf("%s: %d %s %v", path, answer.Status, answer.Raw, err)
		}
	}
	turn("/pause")
	c, s := behaving(t, url, "patient", client.Options{Tries: 60})
	ctx := patience(t)
	var resumed sync.WaitGroup
	resumed.Go(func() {
		for s.codes()[client.CodePaused] == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond) // until it was refused
		}
		turn("/resume")
	})
	bought, err := c.Purchase(ctx, sale, oneUnit)
	if err != nil || bought.Tries < 2 {
		t.Errorf("got %+v, %v; want it refused and then accepted", bought, err)
	}
	resumed.Wait()
	s.obeyed(t)
}
