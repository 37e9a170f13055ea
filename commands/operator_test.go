package commands_test

import (
	"errors"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
)

func TestASaleThatWouldBeOverAlreadyIsRefused(t *testing.T) {
	now := time.Date(2026, 11, 11, 0, 0, 0, 0, time.UTC)
	operator := &commands.Operator{Env: &commands.Env{Now: func() time.Time { return now }}} // nothing is stored
	terms := domain.SaleTerms{
		Title: "T", OpensAt: now.Add(-2 * time.Hour), ClosesAt: now, AutoOpen: true,
		Items: []domain.ItemTerms{{SKU: "a", Price: domain.Money{Minor: 1, Currency: "CNY"}, Stock: 1}},
	}
	_, err := operator.Schedule(t.Context(), terms, commands.Actor{})
	var p *domain.Problem
	if !errors.As(err, &p) || len(p.Fields) != 1 || p.Fields[0] != (domain.FieldError{Field: "closes_at", Reason: "must be later than now"}) {
		t.Errorf("got %v, want closes_at refused", err)
	}
}
