package api

import (
	"context"
	"fmt"
	"slices"

	"seckill/commands"
	"seckill/domain"
)

const reviseDescription = "Changes what the body names; what it leaves out stays as it is. `version` is the sale's that its author saw: 409 `version_conflict` when it is another by now, also for one of two who change at once. " +
	"While the sale is scheduled everything may change but its items' SKUs and stock, the quantities of tranches (not their times), and its buckets; once it has opened by the gate's clock only closes_at and the titles (422). " +
	"A closes_at that is over, sent alone, ends the sale like close: its state is ended, and the closes_at that was planned stays in its terms. For the few milliseconds of a change that takes something away purchases are 503 `paused`. A sale that is over is 410. Operators read on every node at once what was changed; " +
	"what buyers read may be a second old, and another in a cache on the way."

// RevisionBody is what an operator wants to be otherwise about a sale. What is left
// out stays as it is.
type RevisionBody struct {
	Version        int64    `json:"version" minimum:"1" doc:"Of the sale as its author saw it"`
	Title          *string  `json:"title,omitempty"`
	OpensAt        *string  `json:"opens_at,omitempty" doc:"RFC 3339, with a zone"`
	ClosesAt       *string  `json:"closes_at,omitempty" doc:"RFC 3339, with a zone"`
	LimitPerBuyer  *int64   `json:"limit_per_buyer,omitempty" minimum:"1" maximum:"2147483647"`
	OrdersPerBuyer *int     `json:"orders_per_buyer,omitempty" minimum:"1" maximum:"1000"`
	Rebuy          *bool    `json:"rebuy,omitempty"`
	Strategy       *string  `json:"strategy,omitempty" enum:"postgres,redis-sync,redis-async"`
	Buckets        *int     `json:"buckets,omitempty" minimum:"1" maximum:"1024" doc:"As it is"`
	Tokens         *int     `json:"tokens,omitempty" minimum:"0" maximum:"2147483647"`
	PaymentWindow  *int64   `json:"payment_window,omitempty" minimum:"1" maximum:"2592000"`
	EligibleTiers  []string `json:"eligible_tiers,omitempty" maxItems:"100" doc:"An empty list: everybody"`
	RequireTicket  *bool    `json:"require_ticket,omitempty"`
	AutoOpen       *bool    `json:"auto_open,omitempty"`
	// Acknowledgement is domain.Acknowledgement's.
	Acknowledgement *string            `json:"acknowledgement,omitempty" enum:"memory,aof,fsync,replicated"`
	Items           []ItemRevisionBody `json:"items,omitempty" minItems:"1" maxItems:"100" doc:"All of them, in their order"`
}

// ItemRevisionBody is what is to be otherwise about one item.
type ItemRevisionBody struct {
	SKU       string        `json:"sku" doc:"As it is"`
	Title     *string       `json:"title,omitempty"`
	Price     *string       `json:"price,omitempty" doc:"Decimal" example:"19.90"`
	Currency  *string       `json:"currency,omitempty" doc:"ISO 4217; the sale's when left out" example:"CNY"`
	Stock     *int64        `json:"stock,omitempty" minimum:"0" maximum:"2147483647" doc:"As it is: units are released, not changed"`
	Release   []TrancheBody `json:"release,omitempty" maxItems:"100" doc:"Other times for the same quantities, until the sale opens"`
	Overdraft *int64        `json:"overdraft,omitempty" minimum:"0" maximum:"2147483647"`
}

// set replaces what stands at to, if there is something to replace it by.
func set[T any](to *T, by *T) {
	if by != nil {
		*to = *by
	}
}

// change gives the terms that the body asks for, and what cannot be read in it.
func (b *RevisionBody) change(t domain.SaleTerms) (domain.SaleTerms, []domain.FieldError) {
	var r reader
	set(&t.Title, b.Title)
	if b.OpensAt != nil {
		t.OpensAt = r.instant("opens_at", *b.OpensAt)
	}
	if b.ClosesAt != nil {
		t.ClosesAt = r.instant("closes_at", *b.ClosesAt)
	}
	set(&t.LimitPerBuyer, b.LimitPerBuyer)
	set(&t.OrdersPerBuyer, b.OrdersPerBuyer)
	set(&t.Rebuy, b.Rebuy)
	set((*string)(&t.Strategy), b.Strategy)
	set((*string)(&t.Acknowledgement), b.Acknowledgement)
	set(&t.Buckets, b.Buckets)
	set(&t.Tokens, b.Tokens)
	set(&t.PaymentWindow, b.PaymentWindow)
	set(&t.RequireTicket, b.RequireTicket)
	set(&t.AutoOpen, b.AutoOpen)
	if b.EligibleTiers != nil {
		t.EligibleTiers = b.EligibleTiers
	}
	if b.Items != nil {
		t.Items = r.items(b.Items, t.Items)
	}
	return t, r.bad
}

// items gives the items asked for; those that the sale does not have stand there
// too, to be refused.
func (r *reader) items(asked []ItemRevisionBody, have []domain.ItemTerms) []domain.ItemTerms {
	items := make([]domain.ItemTerms, len(asked))
	for i, a := range asked {
		at := func(name string) string { return fmt.Sprintf("items[%d].%s", i, name) }
		item := domain.ItemTerms{SKU: a.SKU}
		if len(have) > 0 { // all items of a sale have one
			item.Price.Currency = have[0].Price.Currency
		}
		if n := slices.IndexFunc(have, func(h domain.ItemTerms) bool { return h.SKU == a.SKU }); n >= 0 {
			item = have[n]
		}
		set(&item.Title, a.Title)
		set(&item.Stock, a.Stock)
		set(&item.Overdraft, a.Overdraft)
		if a.Price != nil || a.Currency != nil {
			price, currency := item.Price.Amount(), item.Price.Currency
			set(&price, a.Price)
			set(&currency, a.Currency)
			item.Price = r.money(at, price, currency)
		}
		if a.Release != nil {
			item.Release = nil
		}
		for j, tranche := range a.Release {
			item.Release = append(item.Release, domain.Tranche{
				At: r.instant(at(fmt.Sprintf("release[%d].at", j)), tranche.At), Quantity: tranche.Quantity,
			})
		}
		items[i] = item
	}
	return items
}

type reviseRequest struct {
	Sale string `path:"sale"`
	Body RevisionBody
}

func (s *Server) reviseSale(ctx context.Context, in *reviseRequest) (*steerAnswer, error) {
	sale, err := s.Reviser.Revise(ctx, commands.Revision{Sale: in.Sale, Version: in.Body.Version, Change: in.Body.change}, actorOf(ctx, ""))
	if err != nil {
		return nil, err
	}
	s.logAction(ctx, "revise-sale", sale.ID)
	return &steerAnswer{Body: s.adminView(ctx, sale)}, nil
}
