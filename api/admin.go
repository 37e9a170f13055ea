package api

import (
	"context"
	"strings"
	"time"

	"seckill/commands"
	"seckill/domain"
)

// AdminSaleView is a sale as operators see it.
type AdminSaleView struct {
	SaleView
	Database       string       `json:"database,omitempty" doc:"Where sales live on several databases: the one it lives on"`
	OrdersPerBuyer int          `json:"orders_per_buyer"`
	Rebuy          bool         `json:"rebuy"`
	Buckets        int          `json:"buckets"`
	Tokens         int          `json:"tokens"`
	PaymentWindow  int64        `json:"payment_window" doc:"Seconds"`
	EligibleTiers  []string     `json:"eligible_tiers" nullable:"false"`
	RequireTicket  bool         `json:"require_ticket"`
	AutoOpen       bool         `json:"auto_open"`
	Members        *MembersView `json:"members,omitempty" doc:"Who may buy, where a list says so"`
	// Acknowledgement is domain.Acknowledgement's.
	Acknowledgement string          `json:"acknowledgement" enum:"memory,aof,fsync,replicated" doc:"What must have become of a purchase in the gate before its buyer hears that it was accepted"`
	Confirmed       bool            `json:"confirmed" doc:"Whether it may open at its time: by itself (auto_open), or because it was confirmed as it stands"`
	Pauses          []string        `json:"pauses" nullable:"false" doc:"Why nothing is sold: operator, drift, recovery, switch, acknowledgement. Each is taken away by itself"`
	Items           []AdminItemView `json:"items" nullable:"false"`
}

// AdminItemView is one thing on sale as operators see it.
type AdminItemView struct {
	ItemView
	Stock     int64         `json:"stock" doc:"Units over all, those of later tranches included"`
	Release   []TrancheView `json:"release" nullable:"false" doc:"Parts of the stock that come on sale later"`
	Overdraft int64         `json:"overdraft" doc:"Units beyond the stock that the log may accept to keep a promise that the gate forgot"`
	Units     *UnitsView    `json:"units,omitempty" doc:"Where they stand, a moment ago: answered by GET alone, and left out where no store could say"`
}

// UnitsView is where the units of an item stand.
type UnitsView struct {
	Released  *int64 `json:"released,omitempty" doc:"Ever put on sale; left out while the log cannot say"`
	Taken     *int64 `json:"taken,omitempty" doc:"Of those, units of live orders (waiting for payment or paid) and units that were taken off sale, as the log has recorded them"`
	Available *int64 `json:"available,omitempty" doc:"May still be sold. The gate is ahead of the log: available and taken need not add up to released while purchases are being recorded"`
	By        string `json:"by,omitempty" enum:"gate,log" doc:"Who says what is available: the log where the sale does not sell or has no gate, or where the gate does not answer"`
}

// unitsView shapes what is known; nil where that is nothing.
func unitsView(u commands.ItemUnits) *UnitsView {
	if u == (commands.ItemUnits{}) {
		return nil
	}
	v := UnitsView{Released: u.Released, Taken: u.Taken, Available: u.Available}
	switch {
	case u.Available == nil:
	case u.ByLog:
		v.By = "log"
	default:
		v.By = "gate"
	}
	return &v
}

// TrancheView is a part of the stock that comes on sale at a time.
type TrancheView struct {
	At       time.Time `json:"at"`
	Quantity int64     `json:"quantity"`
}

func trancheViews(plan []domain.Tranche) []TrancheView {
	views := make([]TrancheView, len(plan))
	for i, t := range plan {
		views[i] = TrancheView{At: t.At.UTC(), Quantity: t.Quantity}
	}
	return views
}

// adminView shapes a sale as it was just folded. Sold-out marks are asked for,
// and left at false where the gate cannot say.
func (s *Server) adminView(ctx context.Context, sale commands.FoldedSale) AdminSaleView {
	now := s.Now()
	answer := commands.SaleAnswer{FoldedSale: sale, State: sale.StateAt(now), ServerTime: now}
	if shown, err := s.Shower.Show(ctx, sale.ID); err == nil {
		answer.SoldOut, answer.Recovering = shown.SoldOut, shown.Recovering
	}
	pauses := answer.Pauses()
	t := sale.Terms
	v := AdminSaleView{
		SaleView: saleView(answer), OrdersPerBuyer: t.OrdersPerBuyer, Rebuy: t.Rebuy, Buckets: t.Buckets, Tokens: t.Tokens,
		PaymentWindow: t.PaymentWindow, EligibleTiers: append([]string{}, t.EligibleTiers...), RequireTicket: t.RequireTicket,
		AutoOpen: t.AutoOpen, Acknowledgement: string(t.Acknowledged()), Confirmed: sale.MayOpen(), Pauses: make([]string, len(pauses)), Items: make([]AdminItemView, len(t.Items)),
	}
	v.Members = membersView(sale.Members)
	if s.Databases != nil {
		v.Database = s.Databases.Of(ctx, sale.ID)
	}
	for i, p := range pauses {
		v.Pauses[i] = string(p)
	}
	for i, item := range v.SaleView.Items {
		v.Items[i] = AdminItemView{ItemView: item, Stock: t.Items[i].Stock, Release: trancheViews(t.Items[i].Release), Overdraft: t.Items[i].Overdraft}
	}
	return v
}

type showRequest struct {
	Sale string `path:"sale"`
}

type showAnswer struct {
	Body AdminSaleView
}

// showSale shows a sale to operators.
func (s *Server) showSale(ctx context.Context, in *showRequest) (*showAnswer, error) {
	shown, err := s.Shower.Look(ctx, in.Sale)
	if err != nil {
		return nil, err
	}
	view := s.adminView(ctx, shown.FoldedSale)
	view.State = string(shown.State)
	units := s.Shower.Units(ctx, shown.Sale)
	for i := range view.Items {
		view.Items[i].Units = unitsView(units[view.Items[i].SKU])
	}
	return &showAnswer{Body: view}, nil
}

type createRequest struct {
	Body SaleBody
}

type createAnswer struct {
	Location string `header:"Location"`
	Body     AdminSaleView
}

func (s *Server) createSale(ctx context.Context, in *createRequest) (*createAnswer, error) {
	terms, bad := in.Body.terms()
	if len(bad) > 0 {
		return nil, wrong(bad...)
	}
	operator, err := s.operatorOn(in.Body.Database)
	if err != nil {
		return nil, err
	}
	sale, err := operator.Schedule(ctx, terms, actorOf(ctx, ""))
	if err != nil {
		return nil, err
	}
	s.logAction(ctx, "create-sale", sale.ID)
	return &createAnswer{Location: pathSales + "/" + sale.ID, Body: s.adminView(ctx, sale)}, nil
}

// operatorOn gives who schedules sales on a database, or where none is named, wherever
// there is least to do.
func (s *Server) operatorOn(database string) (Operator, error) {
	if database == "" {
		return s.Operator, nil
	}
	if s.Databases != nil {
		if o, ok := s.Databases.Operator(database); ok {
			return o, nil
		}
	}
	return nil, wrong(domain.FieldError{Field: "database", Reason: "is no database of this installation"})
}

// steering is one of the operator's actions on a sale.
type steering func(ctx context.Context, sale string, actor commands.Actor) (commands.FoldedSale, error)

// reasoned fixes the reason of an action.
func reasoned(do func(context.Context, string, domain.PauseReason, commands.Actor) (commands.FoldedSale, error), reason domain.PauseReason) steering {
	return func(ctx context.Context, sale string, actor commands.Actor) (commands.FoldedSale, error) {
		return do(ctx, sale, reason, actor)
	}
}

// NoteBody says why an operator does something.
type NoteBody struct {
	Note string `json:"note,omitempty" maxLength:"500"`
}

type steerRequest struct {
	Sale string    `path:"sale"`
	Body *NoteBody `required:"false"`
}

type steerAnswer struct {
	Body AdminSaleView
}

func (s *Server) steer(action string, do steering) func(context.Context, *steerRequest) (*steerAnswer, error) {
	return func(ctx context.Context, in *steerRequest) (*steerAnswer, error) {
		note := ""
		if in.Body != nil {
			note = in.Body.Note
		}
		sale, err := do(ctx, in.Sale, actorOf(ctx, note))
		if err != nil {
			return nil, err
		}
		s.logAction(ctx, action, sale.ID)
		return &steerAnswer{Body: s.adminView(ctx, sale)}, nil
	}
}

func actorOf(ctx context.Context, note string) commands.Actor {
	c := callOf(ctx)
	return commands.Actor{By: c.caller.Buyer, TraceID: c.trace, Note: note}
}

func (s *Server) logAction(ctx context.Context, action, sale string) {
	c := callOf(ctx)
	s.Log.InfoContext(ctx, "operator acted", "action", action, "trace_id", c.trace, "buyer_id", c.caller.Buyer, "sale_id", sale, "order_id", "", "gate", "")
}

// SaleBody is what an operator sends to schedule a sale. Bounds that concern
// several fields, and those of a version, are judged by the command.
type SaleBody struct {
	Title          string   `json:"title"`
	OpensAt        string   `json:"opens_at" doc:"RFC 3339, with a zone" example:"2026-11-11T00:00:00+08:00"`
	ClosesAt       string   `json:"closes_at" doc:"RFC 3339, with a zone" example:"2026-11-11T02:00:00+08:00"`
	LimitPerBuyer  int64    `json:"limit_per_buyer,omitempty" minimum:"1" maximum:"2147483647" doc:"Units; 1 when left out"`
	OrdersPerBuyer int      `json:"orders_per_buyer,omitempty" minimum:"1" maximum:"1000" doc:"Live orders; 1 when left out"`
	Rebuy          bool     `json:"rebuy,omitempty" doc:"May a buyer whose order was cancelled or expired buy again"`
	Strategy       string   `json:"strategy,omitempty" enum:"postgres,redis-sync,redis-async" doc:"redis-async when left out"`
	Buckets        int      `json:"buckets,omitempty" minimum:"1" maximum:"1024" doc:"1 when left out"`
	Tokens         int      `json:"tokens,omitempty" minimum:"0" maximum:"1000" doc:"Tickets are given to so many buyers for each unit of the stock; the sale requires them then. 0: to everybody who asks"`
	PaymentWindow  int64    `json:"payment_window,omitempty" minimum:"1" maximum:"2592000" doc:"Seconds to pay; 900 when left out"`
	EligibleTiers  []string `json:"eligible_tiers,omitempty" maxItems:"100" doc:"Everybody when left out"`
	RequireTicket  bool     `json:"require_ticket,omitempty" doc:"Who buys needs a ticket"`
	AutoOpen       *bool    `json:"auto_open,omitempty" doc:"true when left out; false: it opens only after a confirmation that follows a clean preheat"`
	// Acknowledgement is domain.Acknowledgement's.
	Acknowledgement string     `json:"acknowledgement,omitempty" enum:"memory,aof,fsync,replicated" doc:"What must have become of a purchase in the gate before its buyer hears that it was accepted: it is in the memory of the gate's server (when left out), in its append-only file, on its disk, or in the memory of a replica too. A sale does not open while its server does not give that"`
	Items           []ItemBody `json:"items" nullable:"false" minItems:"1" maxItems:"100"`
	// Database is of those that SECKILL_DATABASES names.
	Database string `json:"database,omitempty" maxLength:"31" doc:"Where sales live on several databases: the one that this sale lives on; when left out, that with the fewest units of live sales"`
}

// ItemBody is one thing to be sold.
type ItemBody struct {
	SKU      string        `json:"sku"`
	Title    string        `json:"title,omitempty"`
	Price    string        `json:"price" doc:"Decimal" example:"19.90"`
	Currency string        `json:"currency" doc:"ISO 4217" example:"CNY"`
	Stock    int64         `json:"stock" minimum:"0" maximum:"2147483647" doc:"Units over all; what no tranche holds back is on sale first"`
	Release  []TrancheBody `json:"release,omitempty" maxItems:"100" doc:"Parts of the stock that come on sale later, one after another, from opens_at and before closes_at"`
	// Overdraft is at most Stock.
	Overdraft int64 `json:"overdraft,omitempty" minimum:"0" maximum:"2147483647" doc:"Units beyond the stock that are sold rather than break a promise which the gate forgot; 0 when left out, at most the stock"`
}

// TrancheBody is a part of the stock that comes on sale at a time.
type TrancheBody struct {
	At       string `json:"at" doc:"RFC 3339, with a zone" example:"2026-11-11T00:30:00+08:00"`
	Quantity int64  `json:"quantity" minimum:"1" maximum:"2147483647"`
}

// reader reads texts of a body and remembers what is wrong.
type reader struct{ bad []domain.FieldError }

// instant reads a time with a zone; seconds may be left out. Finer parts than a
// microsecond are cut off: no store keeps them.
func (r *reader) instant(field, text string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00"} {
		t, err := time.Parse(layout, strings.ToUpper(text))
		if t = t.UTC(); err == nil && t.Year() >= 1970 && t.Year() <= 9999 {
			return t.Truncate(time.Microsecond)
		}
	}
	r.bad = append(r.bad, domain.FieldError{Field: field, Reason: "want an RFC 3339 time with a zone, such as 2026-11-11T00:00:00+08:00"})
	return time.Time{}
}

// money reads the price of an item; at gives the whole name of a field of it.
func (r *reader) money(at func(string) string, amount, currency string) domain.Money {
	m, err := domain.ParseMoney(amount, currency)
	if err == nil {
		return m
	}
	if _, err := domain.ParseMoney("1", currency); err != nil {
		r.bad = append(r.bad, domain.FieldError{Field: at("currency"), Reason: wantCurrency})
		return m
	}
	r.bad = append(r.bad, domain.FieldError{Field: at("price"), Reason: wantAmount})
	return m
}
