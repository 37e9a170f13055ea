package api

import (
	"context"

	"seckill/commands"
	"seckill/domain"
)

// What the document says of an operator's actions on orders.
const (
	adminCancelDescription = `restock false writes the units off instead of putting them on sale again. A paid order is 409 wrong_state, unless force says that
its money is given back.`
	adminPayDescription = `For a payment that no provider's message told. amount and currency are the order's when they are left out. A payment id that the
order knows changes nothing; money that the order cannot take is noted as due back (refund_due).`
)

// AdminOrderView is an order as operators see it.
type AdminOrderView struct {
	OrderView
	BuyerID string `json:"buyer_id"`
}

type anyOrderRequest struct {
	Order string `path:"order"`
}

type anyOrderAnswer struct {
	Body AdminOrderView
}

func anyOrder(ctx context.Context, a commands.OrderAnswer) *anyOrderAnswer {
	return &anyOrderAnswer{Body: AdminOrderView{OrderView: orderViewIn(callOf(ctx).language, a), BuyerID: a.BuyerID}}
}

// lookOrder gives any order.
func (s *Server) lookOrder(ctx context.Context, in *anyOrderRequest) (*anyOrderAnswer, error) {
	ctx, done := context.WithTimeout(ctx, changeBudget)
	defer done()
	order, err := s.Orders.Look(ctx, in.Order)
	if err != nil {
		return nil, s.ofAnyOrder(err)
	}
	return anyOrder(ctx, order), nil
}

// CancelBody says how an operator ends an order.
type CancelBody struct {
	Restock *bool  `json:"restock,omitempty" doc:"true when left out"`
	Force   bool   `json:"force,omitempty" doc:"Also a paid order; its money is then due back"`
	Note    string `json:"note,omitempty" maxLength:"500"`
}

type cancelAnyRequest struct {
	Order string      `path:"order"`
	Body  *CancelBody `required:"false"`
}

// cancelAnyOrder ends an order for an operator.
func (s *Server) cancelAnyOrder(ctx context.Context, in *cancelAnyRequest) (*anyOrderAnswer, error) {
	ctx, done := context.WithTimeout(ctx, changeBudget)
	defer done()
	body := CancelBody{}
	if in.Body != nil {
		body = *in.Body
	}
	actor := actorOf(ctx, body.Note)
	order, err := s.Orders.CancelFor(ctx, in.Order, domain.Cancellation{
		By: domain.ByOperator(actor.By), Note: body.Note, Restock: body.Restock == nil || *body.Restock, Force: body.Force,
	}, actor)
	if err != nil {
		return nil, s.ofAnyOrder(err)
	}
	return s.acted(ctx, "operator cancelled an order", order), nil
}

// SettleBody is a payment as an operator records it.
type SettleBody struct {
	PaymentID string `json:"payment_id" doc:"As whoever took the money names it" minLength:"1" maxLength:"200"`
	Amount    string `json:"amount,omitempty" doc:"Decimal; together with currency, or neither: then what the order costs" example:"19.90"`
	Currency  string `json:"currency,omitempty" doc:"ISO 4217; together with amount" example:"CNY"`
	Note      string `json:"note,omitempty" maxLength:"500"`
}

type settleRequest struct {
	Order string `path:"order"`
	Body  SettleBody
}

// byOperator is the provider of a payment that an operator recorded.
const byOperator = "operator"

// settleOrder records a payment for an operator.
func (s *Server) settleOrder(ctx context.Context, in *settleRequest) (*anyOrderAnswer, error) {
	ctx, done := context.WithTimeout(ctx, changeBudget)
	defer done()
	order, err := s.Orders.Look(ctx, in.Order)
	if err != nil {
		return nil, s.ofAnyOrder(err)
	}
	amount := order.Amount
	if in.Body.Amount != "" || in.Body.Currency != "" {
		var r reader
		plain := func(name string) string { return name }
		if amount = r.money(plain, in.Body.Amount, in.Body.Currency); len(r.bad) > 0 {
			return nil, wrong(inAmount(r.bad)...)
		}
	} else if order.Status == domain.OrderStatusQueued && amount.Currency == "" { // only the gate knows what it costs, and is away
		return nil, wrongState(domain.CodeInProgress, order)
	}
	order, err = s.Orders.Settle(ctx, commands.Payment{
		Provider: byOperator, PaymentID: in.Body.PaymentID, Order: in.Order, Amount: amount, Note: in.Body.Note,
	}, actorOf(ctx, in.Body.Note))
	if err != nil {
		return nil, s.ofAnyOrder(err)
	}
	return s.acted(ctx, "operator recorded a payment", order), nil
}

// inAmount names the field of an amount as payments do, where sales have a price.
func inAmount(bad []domain.FieldError) []domain.FieldError {
	for i := range bad {
		if bad[i].Field == "price" {
			bad[i].Field = "amount"
		}
	}
	return bad
}

// acted tells the log and waits for the view.
func (s *Server) acted(ctx context.Context, message string, order commands.OrderAnswer) *anyOrderAnswer {
	s.logOrder(ctx, message, order)
	s.settled(ctx, order)
	return anyOrder(ctx, order)
}
