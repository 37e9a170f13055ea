package api

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// What the document says of a buyer's own actions.
const (
	cancelDescription = `The units are on sale again. An order that is cancelled already is answered as it is; one that is paid, expired, rejected or
still being recorded is 409 wrong_state, with the order.`
	payDescription = `This never makes an order paid: only the provider's signed message, or an operator, does. Only an order that waits for its payment
has somewhere to be paid; else 409, with the order: in_progress while it is being recorded, wrong_state when it is over or paid.`
)

// NothingBody is a body without fields, which may be left out.
type NothingBody struct{}

type ownOrderRequest struct {
	Order string       `path:"order"`
	Body  *NothingBody `required:"false"`
}

// freshWait bounds how long an answer that changed an order waits for the view
// that the buyer reads next.
const freshWait = 300 * time.Millisecond

// changeBudget bounds finding out about an order that is to be changed; recording
// the change has a budget of its own. A log that hangs is 503 then.
const changeBudget = 8 * time.Second

// cancelOrder gives an own order up.
func (s *Server) cancelOrder(ctx context.Context, in *ownOrderRequest) (*orderAnswer, error) {
	ctx, done := context.WithTimeout(ctx, changeBudget)
	defer done()
	c := callOf(ctx)
	answer, err := s.Orders.Cancel(ctx, c.caller.Buyer, in.Order, c.trace)
	var p *domain.Problem
	if errors.As(err, &p) && p.Code == domain.CodeInProgress {
		answer, err = s.stillQueued(ctx, c.caller.Buyer, in.Order, err)
	}
	if err != nil {
		return nil, err
	}
	s.logOrder(ctx, "order cancelled", answer)
	s.settled(ctx, answer)
	return &orderAnswer{Body: orderViewIn(c.language, answer)}, nil
}

// stillQueued refuses with the order that cannot be changed yet.
func (s *Server) stillQueued(ctx context.Context, buyer, order string, why error) (commands.OrderAnswer, error) {
	answer, err := s.Finder.Find(ctx, buyer, order)
	if err != nil || answer.Status != domain.OrderStatusQueued {
		return commands.OrderAnswer{}, why
	}
	return commands.OrderAnswer{}, wrongState(domain.CodeWrongState, answer)
}

// settled waits a moment until the buyer reads the order as it was just told, on
// whichever node. That it is not there yet is no fault: the view follows.
func (s *Server) settled(ctx context.Context, order commands.OrderAnswer) {
	if order.Version > 0 && s.draining.Err() == nil {
		_, _ = s.Finder.Wait(ctx, order.BuyerID, order.ID, order.Version-1, freshWait)
	}
}

// PaymentView is where and how an order is paid.
type PaymentView struct {
	OrderID   string         `json:"order_id"`
	Amount    string         `json:"amount" doc:"Decimal"`
	Currency  string         `json:"currency"`
	PayBy     time.Time      `json:"pay_by" doc:"An order that is not paid by then expires"`
	Status    string         `json:"status" enum:"placed"`
	Providers []ProviderView `json:"providers" nullable:"false" doc:"Any of them, by name"`
}

// ProviderView is a place to pay.
type ProviderView struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

type paymentAnswer struct {
	Body PaymentView
}

// payOrder tells where an own order can be paid.
func (s *Server) payOrder(ctx context.Context, in *ownOrderRequest) (*paymentAnswer, error) {
	order, err := s.Finder.Find(ctx, callOf(ctx).caller.Buyer, in.Order)
	switch {
	case err != nil:
		return nil, err
	case order.Status == domain.OrderStatusQueued:
		return nil, wrongState(domain.CodeInProgress, order)
	case order.Status != domain.OrderStatusPlaced:
		return nil, wrongState(domain.CodeWrongState, order)
	}
	v := PaymentView{
		OrderID: order.ID, Amount: order.Amount.Amount(), Currency: order.Amount.Currency, PayBy: order.PayBy.UTC(),
		Status: string(order.Status), Providers: []ProviderView{},
	}
	pages := s.Providers.Pages(order.ID, order.Amount)
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		v.Providers = append(v.Providers, ProviderView{Name: name, URL: pages[name]})
	}
	return &paymentAnswer{Body: v}, nil
}

// logOrder writes the line of something that was done to an order.
func (s *Server) logOrder(ctx context.Context, message string, order commands.OrderAnswer) {
	c := callOf(ctx)
	s.Log.InfoContext(ctx, message, "trace_id", c.trace, "buyer_id", order.BuyerID, "sale_id", order.SaleID, "order_id", order.ID,
		"by", c.caller.Buyer, "status", order.Status, "refund_due", order.RefundDue)
}
