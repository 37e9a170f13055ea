package api

import (
	"fmt"

	"seckill/domain"
)

// terms gives the terms a body asks for, and what cannot be read in it.
func (b *SaleBody) terms() (domain.SaleTerms, []domain.FieldError) {
	var r reader
	t := domain.SaleTerms{
		Title: b.Title, OpensAt: r.instant("opens_at", b.OpensAt), ClosesAt: r.instant("closes_at", b.ClosesAt),
		LimitPerBuyer: b.LimitPerBuyer, OrdersPerBuyer: b.OrdersPerBuyer, Rebuy: b.Rebuy, Strategy: domain.Strategy(b.Strategy),
		Acknowledgement: domain.Acknowledgement(b.Acknowledgement),
		Buckets:         b.Buckets, Tokens: b.Tokens, PaymentWindow: b.PaymentWindow, EligibleTiers: b.EligibleTiers,
		RequireTicket: b.RequireTicket, AutoOpen: b.AutoOpen == nil || *b.AutoOpen,
	}
	for i, item := range b.Items {
		at := func(name string) string { return fmt.Sprintf("items[%d].%s", i, name) }
		read := domain.ItemTerms{SKU: item.SKU, Title: item.Title, Price: r.money(at, item.Price, item.Currency), Stock: item.Stock, Overdraft: item.Overdraft}
		for j, tranche := range item.Release {
			read.Release = append(read.Release, domain.Tranche{
				At: r.instant(at(fmt.Sprintf("release[%d].at", j)), tranche.At), Quantity: tranche.Quantity,
			})
		}
		t.Items = append(t.Items, read)
	}
	return t, r.bad
}
