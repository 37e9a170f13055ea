package api

import (
	"bytes"
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/labstack/echo/v4"

	"seckill/commands"
	"seckill/domain"
)

// headerSignature names the header of a provider's signature.
const headerSignature = "Seckill-Signature"

// webhookDescription is what the document says of it.
const webhookDescription = `Sent by the payment provider of that name, and signed: the header ` + headerSignature + ` is t=SECONDS,v1=HEX, where SECONDS is
the time since 1970 and HEX is HMAC-SHA-256 under a shared secret over SECONDS, a dot and the very bytes of the body. A provider that changes
its secret may send a v1 under each. A signature that is missing, wrong, or more than five minutes from now is 401 unauthenticated, with
WWW-Authenticate: ` + headerSignature + `.

Each id is heard once: sent again it is answered with the order as it is then; sent for another order it is 422. A payment that the order cannot
take (late, twice, another amount) is noted as due back: refund_due. That is said of the order, not of the message: it is also in the answer to a
message that was heard before or changed nothing, once any payment of the order is due back. So it is no word to give this payment back: which
payments and how much stands in the log: in the events order.refund_due, one for each, and where an operator ended a paid order, in its order.paid,
which an order.cancelled follows. Fields that are not listed are passed over, as providers add some; a type
that is not listed is answered 200 with ignored and changes nothing. 503 with Retry-After: not heard, send it again (the order is not in the log
yet, or the log is away). 404 order_not_found: no order of ours, sending it again does not help.`

// Types of messages that are heard; all others are passed over.
const (
	paymentSucceeded = "payment.succeeded"
	paymentFailed    = "payment.failed"
)

// PaymentMessage is what a provider tells.
type PaymentMessage struct {
	ID        string `json:"id" minLength:"1" maxLength:"200" doc:"Of this message; the same each time it is sent"`
	Type      string `json:"type" doc:"payment.succeeded or payment.failed; others are passed over"`
	OrderID   string `json:"order_id"`
	PaymentID string `json:"payment_id" minLength:"1" maxLength:"200" doc:"An order knows each once"`
	Amount    string `json:"amount" doc:"Decimal, in the currency's own decimals at most" example:"19.90"`
	Currency  string `json:"currency" doc:"ISO 4217" example:"CNY"`
	Note      string `json:"note,omitempty" maxLength:"500"`
}

// WebhookAnswer is the order as it is after a message.
type WebhookAnswer struct {
	OrderID   string `json:"order_id,omitempty"`
	Status    string `json:"status,omitempty" enum:"placed,paid,cancelled,expired,rejected"`
	RefundDue bool   `json:"refund_due" doc:"Of the order as it is now: some payment of it, not always the one of this message, is due back"`
	Ignored   bool   `json:"ignored,omitempty" doc:"A type that is not known here: nothing was done"`
}

// paymentWebhook hears a payment provider. Nothing of a body is looked at before
// its signature holds.
func (s *Server) paymentWebhook(c echo.Context) error {
	provider := c.Param("provider")
	if !s.Providers.Knows(provider) {
		return &refusal{Problem: domain.Problem{Code: domain.CodeNotFound}, says: noProvider}
	}
	var body bytes.Buffer
	if err := readRaw(c, &body); err != nil {
		return err
	}
	setBodyDeadline(c, time.Time{})
	if err := s.Providers.Verify(provider, c.Request().Header.Get(headerSignature), body.Bytes(), s.Now()); err != nil {
		return &refusal{Problem: domain.Problem{Code: domain.CodeUnauthenticated}, says: wantSignature, challenge: signatureChallenge}
	}
	if !isJSON(c.Request().Header) {
		return errNotJSON()
	}
	if err := validJSON(body.Bytes()); err != nil {
		return err
	}
	m, known, err := decodeMessage(body.Bytes())
	if err != nil {
		return err
	}
	answer := WebhookAnswer{Ignored: true}
	if known {
		if answer, err = s.hear(c, provider, m); err != nil {
			return err
		}
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "no-store")
	return c.JSON(http.StatusOK, answer)
}

// hear hands a message over. An order that is not in the log yet is asked for
// again by the provider.
func (s *Server) hear(c echo.Context, provider string, m message) (WebhookAnswer, error) {
	ctx, cancel := context.WithTimeout(c.Request().Context(), changeBudget)
	defer cancel()
	order, err := s.Orders.Settle(ctx, commands.Payment{
		Provider: provider, EventID: m.id, PaymentID: m.payment, Order: m.order, Amount: m.amount, Failed: m.failed, Note: m.note,
	}, commands.Actor{By: "provider:" + provider, TraceID: traceOf(c), Note: m.note})
	if err != nil {
		return WebhookAnswer{}, s.notHeard(err)
	}
	s.Log.InfoContext(ctx, "payment heard", "trace_id", traceOf(c), "buyer_id", order.BuyerID, "sale_id", order.SaleID, "order_id", order.ID,
		"provider", provider, "event_id", m.id, "payment_id", m.payment, "failed", m.failed, "status", order.Status, "refund_due", order.RefundDue)
	s.settled(ctx, order)
	return WebhookAnswer{OrderID: order.ID, Status: string(order.Status), RefundDue: order.RefundDue}, nil
}

// notHeard says what a provider is to make of an error.
func (s *Server) notHeard(err error) error {
	r := *s.refusalOf(err)
	switch r.Code {
	case domain.CodeInProgress:
		r.status, r.wait, r.says = http.StatusServiceUnavailable, retryWait(), notYetThere
	case domain.CodeBusy:
		r.says = notHeardNow
	case domain.CodeOrderNotFound:
		r.says = noSuchOrder
	}
	for i, f := range r.Fields {
		if f.Field == "event_id" { // as the command calls it
			r.Fields[i].Field = "id"
		}
	}
	return &r
}

// webhookOperation describes the webhook, whose handler huma does not know.
func webhookOperation() huma.Operation {
	o := described(op(http.MethodPost, pathWebhook, webhookID, "A payment provider tells what became of a payment", 400, 401, 404, 413, 415, 422, 503), webhookDescription)
	text := &huma.Schema{Type: huma.TypeString}
	o.Parameters = []*huma.Param{
		{Name: "provider", In: "path", Required: true, Schema: text},
		{Name: headerSignature, In: "header", Required: true, Schema: text, Example: "t=1700000000,v1=9d713ed4…"},
	}
	o.Responses = map[string]*huma.Response{"200": {Description: "Heard: the order as it is now"}}
	return o
}

const webhookID = "payment-webhook"

// describeWebhook adds the shapes of what is sent and answered.
func describeWebhook(registry huma.Registry, o *huma.Operation) {
	const media = "application/json"
	o.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		media: {Schema: registry.Schema(reflect.TypeFor[PaymentMessage](), true, "PaymentMessage")},
	}}
	o.Responses["200"].Content = map[string]*huma.MediaType{
		media: {Schema: registry.Schema(reflect.TypeFor[WebhookAnswer](), true, "WebhookAnswer")},
	}
}
