package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"seckill/commands"
	"seckill/domain"
)

// PurchaseAnswer is what a buyer is told of a purchase that became an order.
type PurchaseAnswer struct {
	OrderID string `json:"order_id"`
	Status  string `json:"status" enum:"queued,placed,paid,cancelled,expired,rejected"`
	PollURL string `json:"poll_url" doc:"Where to ask for the order; relative to this server"`
	TraceID string `json:"trace_id"`
	Repeat  bool   `json:"repeat,omitempty" doc:"true: the order was there before this request"`
	Reason  string `json:"reason,omitempty" enum:"guard,duplicate,limit,poison,lost" doc:"Why a rejected order was rejected"`
	// WaitingFor and Detail are those of OrderView, while the order is queued.
	WaitingFor string `json:"waiting_for,omitempty" enum:"recorder,gate,log,sale" doc:"What a queued order waits for: to be recorded, the gate, the log, or that its sale goes on after a pause"`
	Detail     string `json:"detail,omitempty" doc:"A sentence for people about what it waits for, where a store is away, in the language of Accept-Language (en, zh)"`
}

// routePurchases names this route in idempotency keys: a key of another route is
// another key.
const routePurchases = "purchases"

// purchase is a plain handler, since it is the one everybody calls at once.
func (s *Server) purchase(c echo.Context) error {
	start := s.Now()
	line := purchaseLine{trace: traceOf(c), sale: c.Param("sale")}
	if s.Spans != nil {
		if header := first(c.Request().Header, "Traceparent"); header != "" {
			if _, ok := parentTrace(header); ok {
				line.parent = header
			}
		}
	}
	result, err := s.buy(c, &line)
	if err == nil && result.Order.ID == "" {
		err = refusalOfOutcome(result)
	}
	if err != nil {
		line.order = ""
		r := s.refusalOf(ours(err))
		if line.outcome == "" {
			line.outcome = string(r.Code)
		}
		s.logPurchase(c.Request().Context(), &line, start)
		return s.attest(r, &line, &result)
	}
	line.order = result.Order.ID
	s.logPurchase(c.Request().Context(), &line, start)
	return writePurchase(c, result, line.trace)
}

// attest gives the refusal of a purchase its receipt, where it is known who asked.
func (s *Server) attest(r *refusal, line *purchaseLine, result *commands.PurchaseResult) *refusal {
	if s.Receipts == nil || line.buyer == "" {
		return r
	}
	refused := result.RefusalOf(r.Code, line.sale, line.buyer, line.lines)
	r.refused, r.receipts = &refused, s.Receipts
	return r
}

// buy checks in the contract's order: signed in, sale known, shape; the command
// does the rest.
func (s *Server) buy(c echo.Context, line *purchaseLine) (commands.PurchaseResult, error) {
	var asked call
	if err := s.admit(c, buyer, &asked); err != nil {
		return commands.PurchaseResult{}, err
	}
	line.buyer = asked.caller.Buyer
	if err := s.limit(c, limitPurchases, line.buyer); err != nil {
		return commands.PurchaseResult{}, err
	}
	if err := s.room(line.sale); err != nil {
		return commands.PurchaseResult{}, err
	}
	ctx := c.Request().Context()
	req := commands.PurchaseRequest{Buyer: line.buyer, Tier: asked.caller.Tier, Sale: line.sale, TraceID: line.trace}
	if err := s.readPurchase(c, &req); err != nil {
		var unknown *domain.Problem
		if _, known := s.Shower.Show(ctx, line.sale); errors.As(known, &unknown) {
			err = unknown
		}
		return commands.PurchaseResult{}, err
	}
	line.lines = req.Lines
	admission := s.Admission
	if req.Foreseen() {
		admission = allIn{} // it keeps nobody from the gate
	}
	place, err := s.enter(ctx, admission, line.sale)
	if err != nil {
		return commands.PurchaseResult{}, err
	}
	defer place.end()
	req.Judged = place.leave
	result, err := s.Purchaser.Purchase(&place.budget, req)
	if err == nil {
		line.outcome = result.Outcome.String()
	}
	return result, err
}

// readPurchase reads lines and what the head says of the purchase. The gate is looked at
// before the body is read: net/http watches the connection of a request that is read, for
// a caller who hangs up, and a handler that waits then costs a system call more.
func (s *Server) readPurchase(c echo.Context, req *commands.PurchaseRequest) error {
	wrongHead := readPurchaseHead(c.Request().Header, req)
	if wrongHead == nil {
		s.lookAhead(c.Request().Context(), req)
	}
	buf := s.bodies.Get().(*bytes.Buffer)
	defer s.bodies.Put(buf)
	if err := readText(c, buf, false); err != nil {
		return err
	}
	// It is read: no refusal has to wait for it.
	c.Request().Body = http.NoBody
	if budget := s.opts.PurchaseBudget; budget == 0 || budget > bodyBudget/2 { // else it is over by then
		setBodyDeadline(c, time.Time{})
	}
	lines, err := purchaseLines(buf.Bytes())
	if err != nil {
		return err
	}
	req.Lines = lines
	if req.IdempotencyKey != "" {
		req.BodyHash = bodyHash(lines)
	}
	return wrongHead
}

// lookAhead looks ahead within the time of a purchase; the body has its own.
func (s *Server) lookAhead(ctx context.Context, req *commands.PurchaseRequest) {
	var within budgeted
	within.begin(ctx, s.opts.PurchaseBudget)
	defer within.end()
	s.Purchaser.LookAhead(&within, req)
}

// readPurchaseHead reads ticket and idempotency key.
func readPurchaseHead(h http.Header, req *commands.PurchaseRequest) (err error) {
	if req.Ticket, err = ticketOf(h); err != nil {
		return err
	}
	if req.IdempotencyKey, err = idempotencyKey(h); err != nil {
		return err
	}
	if req.IdempotencyKey != "" {
		req.Route = routePurchases
	}
	return nil
}

// headerKey is the header of the idempotency key.
const headerKey = "Idempotency-Key"

// idempotencyKey gives the key, "" without one: 1 to 255 visible ASCII
// characters.
func idempotencyKey(h http.Header) (string, error) {
	values := h[headerKey]
	if len(values) == 0 {
		return "", nil
	}
	key := values[0]
	ok := len(values) == 1 && len(key) >= 1 && len(key) <= 255
	for i := 0; ok && i < len(key); i++ {
		ok = key[i] > ' ' && key[i] <= '~'
	}
	if !ok {
		return "", wrong(domain.FieldError{Field: headerKey, Reason: "want it once, with 1 to 255 visible ASCII characters"})
	}
	return key, nil
}

// refusalOfOutcome gives the problem of an outcome without an order.
func refusalOfOutcome(result commands.PurchaseResult) error {
	r := refuse(codeOf(result.Outcome))
	if r.Code == domain.CodeInternal {
		r.cause = fmt.Errorf("a purchase ended %s without an order", result.Outcome)
	}
	if r.Code == domain.CodeTooEarly && !result.OpensAt.IsZero() {
		r.opensAt = result.OpensAt
		r.wait = max(result.OpensAt.Sub(result.Now), time.Millisecond)
	}
	return r
}

// writePurchase answers 202 while the order is queued, 201 once it is recorded, and
// 200 for an order that was there before. One that the log rejected while its buyer
// waited is 202 with that status: who looks at the code alone asks for the order, and
// does not take it for bought.
func writePurchase(c echo.Context, result commands.PurchaseResult, trace string) error {
	order := result.Order
	path := orderPath(order.ID)
	h := c.Response().Header()
	h.Set(echo.HeaderLocation, path)
	status := http.StatusCreated
	switch order.Status {
	case domain.OrderStatusQueued:
		status = http.StatusAccepted
		h.Set(echo.HeaderRetryAfter, "1")
	case domain.OrderStatusRejected:
		status = http.StatusAccepted
	}
	if result.Repeat {
		status = http.StatusOK
	}
	answer := PurchaseAnswer{OrderID: order.ID, Status: string(order.Status), PollURL: path, TraceID: trace, Repeat: result.Repeat, Reason: string(order.Reason)}
	if order.Status == domain.OrderStatusQueued && order.WaitingFor != "" {
		answer.WaitingFor = string(order.WaitingFor)
		if order.WaitingFor != domain.WaitingForRecorder {
			answer.Detail = order.WaitingFor.Sentence(languageOf(c.Request().Header.Get("Accept-Language")))
		}
	}
	return c.JSON(status, &answer)
}
