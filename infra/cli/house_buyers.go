package cli

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore/seal"
)

// What buyers ask of several databases: each question goes to the one that the sale or
// order lives on.

// onSale does f where a sale lives.
func onSale[T any](ctx context.Context, h *house, sale string, f func(*app) (T, error)) (T, error) {
	a, err := h.ofSale(ctx, sale)
	if err != nil {
		var none T
		return none, err
	}
	return f(a)
}

// onOrder does f where an order lives.
func onOrder[T any](h *house, order string, f func(*app) (T, error)) (T, error) {
	a, err := h.ofOrder(order)
	if err != nil {
		var none T
		return none, err
	}
	return f(a)
}

type housePurchaser struct{ *house }

// Purchase buys where the sale lives.
func (h housePurchaser) Purchase(ctx context.Context, req commands.PurchaseRequest) (commands.PurchaseResult, error) {
	return onSale(ctx, h.house, req.Sale, func(a *app) (commands.PurchaseResult, error) { return a.purchaser.Purchase(ctx, req) })
}

// LookAhead looks where the sale lives, if it is known where.
func (h housePurchaser) LookAhead(ctx context.Context, req *commands.PurchaseRequest) {
	_, _ = onSale(ctx, h.house, req.Sale, func(a *app) (struct{}, error) {
		a.purchaser.LookAhead(ctx, req)
		return struct{}{}, nil
	}) // Purchase says what is wrong
}

type houseFinder struct{ *house }

// Find finds an order of a buyer.
func (h houseFinder) Find(ctx context.Context, buyer, id string) (commands.OrderAnswer, error) {
	return onOrder(h.house, id, func(a *app) (commands.OrderAnswer, error) { return a.finder.Find(ctx, buyer, id) })
}

// Wait waits for news of an order.
func (h houseFinder) Wait(ctx context.Context, buyer, id string, after int64, wait time.Duration) (commands.OrderAnswer, error) {
	return onOrder(h.house, id, func(a *app) (commands.OrderAnswer, error) { return a.finder.Wait(ctx, buyer, id, after, wait) })
}

// List lists a buyer's orders in a sale.
func (h houseFinder) List(ctx context.Context, sale, buyer string, limit int, cursor string) (commands.OrderPage, error) {
	return onSale(ctx, h.house, sale, func(a *app) (commands.OrderPage, error) { return a.finder.List(ctx, sale, buyer, limit, cursor) })
}

type houseOrders struct{ *house }

// Look shows any order.
func (h houseOrders) Look(ctx context.Context, order string) (commands.OrderAnswer, error) {
	return onOrder(h.house, order, func(a *app) (commands.OrderAnswer, error) { return a.orders.Look(ctx, order) })
}

// Cancel ends an own order.
func (h houseOrders) Cancel(ctx context.Context, buyer, order, trace string) (commands.OrderAnswer, error) {
	return onOrder(h.house, order, func(a *app) (commands.OrderAnswer, error) { return a.orders.Cancel(ctx, buyer, order, trace) })
}

// CancelFor ends any order.
func (h houseOrders) CancelFor(ctx context.Context, order string, c domain.Cancellation, actor commands.Actor) (commands.OrderAnswer, error) {
	return onOrder(h.house, order, func(a *app) (commands.OrderAnswer, error) { return a.orders.CancelFor(ctx, order, c, actor) })
}

// Settle takes what a payment provider or an operator says of a payment.
func (h houseOrders) Settle(ctx context.Context, p commands.Payment, actor commands.Actor) (commands.OrderAnswer, error) {
	return onOrder(h.house, p.Order, func(a *app) (commands.OrderAnswer, error) { return a.orders.Settle(ctx, p, actor) })
}

type houseProver struct{ *house }

// Prove proves an own order.
func (h houseProver) Prove(ctx context.Context, buyer, id string) (seal.Proof, error) {
	return onOrder(h.house, id, func(a *app) (seal.Proof, error) {
		return (&commands.Prover{Env: a.env, Log: a.sink}).Prove(ctx, buyer, id)
	})
}

type houseTickets struct{ *house }

// Give gives a ticket.
func (h houseTickets) Give(ctx context.Context, req commands.TicketRequest) (commands.TicketAnswer, error) {
	return onSale(ctx, h.house, req.Sale, func(a *app) (commands.TicketAnswer, error) { return a.tickets.Give(ctx, req) })
}

// Challenge gives a proof of work.
func (h houseTickets) Challenge(ctx context.Context, req commands.TicketRequest) (commands.PuzzleAnswer, error) {
	return onSale(ctx, h.house, req.Sale, func(a *app) (commands.PuzzleAnswer, error) { return a.tickets.Challenge(ctx, req) })
}

// houseShower shows sales wherever they live.
type houseShower struct{ *house }

// Show shows a sale.
func (h *houseShower) Show(ctx context.Context, id string) (commands.SaleAnswer, error) {
	return onSale(ctx, h.house, id, func(a *app) (commands.SaleAnswer, error) { return a.shower.Show(ctx, id) })
}

// Look shows a sale as the log has it now.
func (h *houseShower) Look(ctx context.Context, id string) (commands.SaleAnswer, error) {
	return onSale(ctx, h.house, id, func(a *app) (commands.SaleAnswer, error) { return a.shower.Look(ctx, id) })
}

// Units tells where the items of a sale stand.
func (h *houseShower) Units(ctx context.Context, sale domain.Sale) map[string]commands.ItemUnits {
	a, err := h.ofSale(ctx, sale.ID)
	if err != nil {
		return nil
	}
	return a.shower.Units(ctx, sale)
}

// List gives a page of the sales of every database. Of one that does not answer it lists
// what this process knows; it is an error only where none answers.
func (h *houseShower) List(ctx context.Context, q commands.SaleQuery) (commands.SaleList, error) {
	lists, errs := make([]commands.SaleList, len(h.stacks)), make([]error, len(h.stacks))
	var asking sync.WaitGroup
	for i, s := range h.stacks {
		asking.Go(func() {
			a := s.app.Load()
			if a == nil {
				errs[i] = h.errNotOpen("its sales")
				return
			}
			// One that hangs is not waited for until whoever asks has given up.
			patient, cancel := context.WithTimeout(ctx, a.settings.Deadlines.Gateway*7/10)
			defer cancel()
			if lists[i], errs[i] = a.shower.List(patient, q); errs[i] != nil {
				lists[i], _ = a.shower.ListKnown(ctx, q) // no page of a cursor that is wrong, which every database says
			}
		})
	}
	asking.Wait()
	if !slices.Contains(errs, nil) {
		return commands.SaleList{}, errors.Join(errs...)
	}
	return commands.MergeSales(q, lists...), nil
}
