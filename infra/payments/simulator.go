package payments

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// Types of what a provider tells.
const (
	Succeeded = "payment.succeeded"
	Failed    = "payment.failed"
)

// Event is the message of a provider. Amount is a decimal, such as "19.90".
type Event struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	OrderID   string `json:"order_id"`
	PaymentID string `json:"payment_id"`
	Amount    string `json:"amount"`
	Currency  string `json:"currency"`
	Note      string `json:"note,omitempty"`
}

// Charge is a payment that somebody makes at the simulator, and how it goes: an
// amount that is not the order's is a wrong one, a Delay beyond the order's
// pay_by makes it late.
type Charge struct {
	OrderID  string
	Amount   string
	Currency string
	// Fails: the payment is told as failed.
	Fails bool
	// Delay is how long the message waits.
	Delay time.Duration
	// Repeat is how often the very same message is sent; 0 means once.
	Repeat int
	// EventID and PaymentID are made up where they are empty.
	EventID   string
	PaymentID string
	Note      string
}

// Receipt is what became of a message: who it was, and the last answer to it.
type Receipt struct {
	Event  Event           `json:"event"`
	Status int             `json:"status"`
	Answer json.RawMessage `json:"answer"`
}

// RefusedError says that a message was refused for good: sent again it would be
// again.
type RefusedError struct {
	Status int
	Body   string
}

// Error tells the answer.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the message was refused with status %d: %s", e.Status, e.Body)
}

// SimulatorOptions say whom the simulator tells, and as whom. Secret and Webhook
// are required.
type SimulatorOptions struct {
	Secret []byte
	// Webhook is where messages go, such as
	// http://127.0.0.1:8080/webhooks/payments/simulator.
	Webhook string
	// RetryFirst and RetryMost are the first and the longest pause before a message
	// is sent again (50 ms, 5 s); each is twice the one before.
	RetryFirst, RetryMost time.Duration
}

// Simulator stands for a payment provider: it takes no money, and tells what a
// provider would tell. It is safe for concurrent use.
type Simulator struct {
	opts   SimulatorOptions
	client *http.Client

	life    context.Context
	stop    context.CancelFunc
	sending sync.WaitGroup
}

// NewSimulator makes one. Close it.
func NewSimulator(o SimulatorOptions) (*Simulator, error) {
	if len(o.Secret) == 0 || o.Webhook == "" {
		return nil, errors.New("make a payment simulator: its secret and the webhook's address are required")
	}
	if o.RetryFirst == 0 {
		o.RetryFirst = 50 * time.Millisecond
	}
	if o.RetryMost == 0 {
		o.RetryMost = 5 * time.Second
	}
	s := &Simulator{opts: o, client: &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute},
		// A provider does not hand a signed message on to somebody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	s.life, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// Close ends messages that are under way or wait, and waits for them.
func (s *Simulator) Close() {
	s.stop()
	s.sending.Wait()
	s.client.CloseIdleConnections()
}

// Pay tells how a charge went, as often as it asks for, one after another, each
// until it is answered with 2xx. Errors: a *RefusedError for an answer that will
// not change, or that ctx or the simulator ended before.
func (s *Simulator) Pay(ctx context.Context, c Charge) (Receipt, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	receipt := Receipt{Event: c.event()}
	body, err := json.Marshal(receipt.Event)
	if err != nil {
		return receipt, fmt.Errorf("encode the message: %w", err)
	}
	if err := wait(ctx, c.Delay); err != nil {
		return receipt, fmt.Errorf("tell payment %s: %w", receipt.Event.PaymentID, err)
	}
	for range max(c.Repeat, 1) {
		if receipt.Status, receipt.Answer, err = s.deliver(ctx, body); err != nil {
			return receipt, fmt.Errorf("tell payment %s: %w", receipt.Event.PaymentID, err)
		}
	}
	return receipt, nil
}

func (c Charge) event() Event {
	e := Event{ID: c.EventID, Type: Succeeded, OrderID: c.OrderID, PaymentID: c.PaymentID, Amount: c.Amount, Currency: c.Currency, Note: c.Note}
	if c.Fails {
		e.Type = Failed
	}
	if e.ID == "" {
		e.ID = "evt_" + randomName()
	}
	if e.PaymentID == "" {
		e.PaymentID = "pay_" + randomName()
	}
	return e
}

func randomName() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails, by its own promise
	return hex.EncodeToString(b[:])
}

// deliver sends a message until it is answered with 2xx. Each try is signed anew:
// an older signature would be refused.
func (s *Simulator) deliver(ctx context.Context, body []byte) (int, json.RawMessage, error) {
	for pause := s.opts.RetryFirst; ; pause = min(2*pause, s.opts.RetryMost) {
		status, answer, err := s.send(ctx, body)
		switch {
		case err == nil && status/100 == 2:
			return status, answer, nil
		case err == nil && final(status):
			return status, answer, &RefusedError{Status: status, Body: string(answer)}
		}
		if ended := wait(ctx, pause); ended != nil {
			return status, answer, errors.Join(ended, err)
		}
	}
}

// final tells whether an answer is the same however often one asks.
func final(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return false
	}
	return status/100 == 4 || status/100 == 3
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 10

func (s *Simulator) send(ctx context.Context, body []byte) (int, json.RawMessage, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.opts.Webhook, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(Header, Sign(s.opts.Secret, time.Now(), body))
	res, err := s.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }() // it was read as far as it is wanted
	answer, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return 0, nil, err
	}
	if !json.Valid(answer) {
		answer, err = json.Marshal(string(answer))
	}
	return res.StatusCode, answer, err
}

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
