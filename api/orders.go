package api

import (
	"context"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// OrderView is an order as its buyer sees it. What is not known yet is null.
type OrderView struct {
	OrderID  string      `json:"order_id"`
	SaleID   string      `json:"sale_id"`
	Lines    []OrderLine `json:"lines" nullable:"false"`
	Amount   *string     `json:"amount" nullable:"true" doc:"Decimal"`
	Currency *string     `json:"currency" nullable:"true"`
	Status   string      `json:"status" enum:"queued,placed,paid,cancelled,expired,rejected"`
	Reason   *string     `json:"reason" nullable:"true" doc:"Of a rejected order: guard, duplicate, limit, poison, lost"`
	// WaitingFor and Detail are told of a queued order; Detail of a rejected one too.
	WaitingFor *string    `json:"waiting_for" nullable:"true" enum:"recorder,gate,log,sale" doc:"What a queued order waits for: to be recorded, the gate, the log, or that its sale goes on after a pause"`
	Detail     *string    `json:"detail" nullable:"true" doc:"A sentence for people about a queued or rejected order, in the language of Accept-Language (en, zh)"`
	RefundDue  bool       `json:"refund_due"`
	PlacedAt   *time.Time `json:"placed_at" nullable:"true" doc:"When the log decided it"`
	PayBy      *time.Time `json:"pay_by" nullable:"true"`
	Version    int64      `json:"version" doc:"Give it as after to wait for the next change"`
	TraceID    string     `json:"trace_id" doc:"Of the purchase"`
}

// OrderLine is an item of an order.
type OrderLine struct {
	SKU      string  `json:"sku"`
	Quantity int64   `json:"quantity"`
	Price    *string `json:"price" nullable:"true" doc:"Decimal, of one unit"`
}

// OrderList is a page of orders, newest first.
type OrderList struct {
	Orders     []OrderView `json:"orders" nullable:"false"`
	NextCursor string      `json:"next_cursor" doc:"Give it as cursor to read on; empty at the end"`
}

// orderView is an order as it is told in English.
func orderViewIn(language string, a commands.OrderAnswer) OrderView {
	v := OrderView{
		OrderID: a.ID, SaleID: a.SaleID, Lines: make([]OrderLine, len(a.Lines)), Status: string(a.Status),
		RefundDue: a.RefundDue, PlacedAt: someTime(a.PlacedAt), PayBy: someTime(a.PayBy), Version: a.Version, TraceID: a.TraceID,
	}
	for i, l := range a.Lines {
		v.Lines[i] = OrderLine{SKU: l.SKU, Quantity: l.Quantity, Price: someAmount(l.Price)}
	}
	if v.Amount = someAmount(a.Amount); v.Amount != nil {
		v.Currency = &a.Amount.Currency
	}
	if a.Reason != "" {
		v.Reason, v.Detail = someText(string(a.Reason)), someText(a.Reason.Sentence(language))
	}
	if a.Status == domain.OrderStatusQueued && a.WaitingFor != "" {
		v.WaitingFor, v.Detail = someText(string(a.WaitingFor)), someText(a.WaitingFor.Sentence(language))
	}
	return v
}

func someText(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func someTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func someAmount(m domain.Money) *string {
	if m == (domain.Money{}) {
		return nil
	}
	amount := m.Amount()
	return &amount
}

// maxWait bounds a long poll.
const maxWait = 30 * time.Second

type orderRequest struct {
	Order string `path:"order"`
	Wait  string `query:"wait" doc:"How long to wait for news, 0s to 30s" example:"5s"`
	After int64  `query:"after" minimum:"0" doc:"The version the caller has seen"`
}

type orderAnswer struct {
	Body OrderView
}

// getOrder gives an own order. With wait it answers when the order's version is
// above after and it is not queued, at its next change, or when the time is over; at
// once where more polls wait than may.
func (s *Server) getOrder(ctx context.Context, in *orderRequest) (*orderAnswer, error) {
	wait, err := readWait(in.Wait)
	if err != nil {
		return nil, err
	}
	buyer := callOf(ctx).caller.Buyer
	var answer commands.OrderAnswer
	if wait == 0 || s.draining.Err() != nil || !s.polls.enter(buyer) {
		within, cancel := bounded(ctx, s.opts.ReadBudget)
		defer cancel()
		answer, err = s.Finder.Find(within, buyer, in.Order)
	} else {
		defer s.polls.leave(buyer)
		answer, err = s.wait(ctx, buyer, in, wait)
	}
	if err != nil {
		return nil, err
	}
	return &orderAnswer{Body: orderViewIn(callOf(ctx).language, answer)}, nil
}

// wait polls until there is news. When this node drains, it looks once more on
// the request's own context: what a look finds on an ended one is no news.
func (s *Server) wait(ctx context.Context, buyer string, in *orderRequest, wait time.Duration) (commands.OrderAnswer, error) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.draining, cancel)()
	answer, err := s.Finder.Wait(waiting, buyer, in.Order, in.After, wait)
	if s.draining.Err() != nil {
		return s.Finder.Find(ctx, buyer, in.Order)
	}
	return answer, err
}

func readWait(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait < 0 || wait > maxWait {
		return 0, wrong(domain.FieldError{Field: "wait", Reason: "want a duration from 0s to 30s, such as 5s"})
	}
	return wait, nil
}

type ordersRequest struct {
	Sale   string `query:"sale" required:"true"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20"`
	Cursor string `query:"cursor" maxLength:"200" doc:"next_cursor of the page before"`
}

type ordersAnswer struct {
	Body OrderList
}

func (s *Server) listOrders(ctx context.Context, in *ordersRequest) (*ordersAnswer, error) {
	if _, err := domain.ParseSaleID(in.Sale); err != nil {
		return nil, refuse(domain.CodeSaleNotFound)
	}
	page, err := s.Finder.List(ctx, in.Sale, callOf(ctx).caller.Buyer, in.Limit, in.Cursor)
	if err != nil {
		return nil, err
	}
	list := OrderList{Orders: make([]OrderView, len(page.Orders)), NextCursor: page.Next}
	for i, order := range page.Orders {
		list.Orders[i] = orderViewIn(callOf(ctx).language, order)
	}
	return &ordersAnswer{Body: list}, nil
}
