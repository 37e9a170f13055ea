package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"seckill/api"
	"seckill/commands"
	"seckill/domain"
)

type houseTeller struct{ *house }

// Tell tells an order where it lives, and a buyer or a trace id over all databases. The
// story of a buyer is without a database that is away, and says so.
func (h houseTeller) Tell(ctx context.Context, ask commands.StoryAsk) (commands.Story, error) {
	if _, err := domain.ParseOrderID(ask.ID); err == nil && (ask.As == "" || ask.As == commands.StoryOfOrder) {
		return onOrder(h.house, ask.ID, func(a *app) (commands.Story, error) { return a.teller().Tell(ctx, ask) })
	}
	if ask.Sale != "" {
		return onSale(ctx, h.house, ask.Sale, func(a *app) (commands.Story, error) { return a.teller().Tell(ctx, ask) })
	}
	var whole commands.Story
	told := 0
	var away []string
	for _, s := range h.stacks {
		a := s.app.Load()
		if a == nil {
			away = append(away, fmt.Sprintf("database %s: it has not answered since this process started", s.name))
			continue
		}
		story, err := a.teller().Tell(ctx, ask)
		switch {
		case err != nil && !storeAway(err):
			return story, err
		case err != nil:
			away = append(away, fmt.Sprintf("database %s: %v", s.name, err))
		case told == 0:
			whole, told = story, 1
		default:
			whole.Purchases = append(whole.Purchases, story.Purchases...)
			whole.More += story.More
			whole.Sales += story.Sales
			whole.Unasked = append(whole.Unasked, story.Unasked...)
		}
	}
	if told == 0 {
		return whole, h.errNotOpen("the purchases of " + ask.ID)
	}
	whole.Unasked = append(whole.Unasked, away...)
	slices.SortStableFunc(whole.Purchases, func(a, b commands.PurchaseStory) int { return cmp.Compare(b.Began(), a.Began()) })
	return whole, nil
}

type houseReceipts struct{ *house }

// Append signs by the keys of the database that the sale lives on; where nobody here asked
// for the sale yet, there is no receipt.
func (h houseReceipts) Append(dst []byte, of *domain.Refusal) ([]byte, bool) {
	s, ok := h.known.Load(of.Sale)
	if !ok {
		return dst, false
	}
	return s.(*stack).app.Load().receipts.Append(dst, of)
}

// Explain explains a receipt by the database that its sale lives on. One of a sale that none
// has is no receipt of ours.
func (h houseTeller) Explain(ctx context.Context, receipt, buyer string) (commands.ReceiptReport, error) {
	r, err := domain.ParseReceipt(receipt)
	if err != nil {
		return commands.NoReceipt(receipt), nil
	}
	a, err := h.ofSale(ctx, r.Sale)
	var problem *domain.Problem
	if errors.As(err, &problem) && problem.Code == domain.CodeSaleNotFound {
		return commands.NoReceipt(receipt), nil
	}
	if err != nil {
		return commands.ReceiptReport{}, err
	}
	return a.teller().Explain(ctx, receipt, buyer)
}

// requests gives who is told of purchases over HTTP: the tracer of the first application,
// since the process has one address for spans.
func (h *house) requests() api.Spans {
	for _, a := range h.apps() {
		if spans := a.requests(); spans != nil {
			return spans
		}
	}
	return nil
}
