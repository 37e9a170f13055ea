package cli

import (
	"context"
	"errors"
	"fmt"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// errNotOpen is that nobody can say where something lives, because a database has not
// answered since this process started.
func (h *house) errNotOpen(what string) error {
	return fmt.Errorf("find the database of %s while one is away: %w", what, eventstore.ErrUnavailable)
}

// knownSale gives a sale as some database knows it in memory.
func (h *house) knownSale(id string) (commands.FoldedSale, bool) {
	for _, a := range h.apps() {
		if sale, ok := a.sales.Known(id); ok {
			return sale, true
		}
	}
	return commands.FoldedSale{}, false
}

// ofSale gives the application whose log has a sale. It asks all at once, and only for
// a sale that it does not know yet. Where none has it and one does not answer it is an
// error of that one; else a *domain.Problem.
func (h *house) ofSale(ctx context.Context, id string) (*app, error) {
	if s, ok := h.known.Load(id); ok {
		return s.(*stack).app.Load(), nil
	}
	type answer struct {
		of  *stack
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answers := make(chan answer, len(h.stacks))
	for _, s := range h.stacks {
		go func() {
			a := s.app.Load()
			if a == nil {
				answers <- answer{s, h.errNotOpen("sale " + id)}
				return
			}
			_, err := a.sales.Get(ctx, id)
			answers <- answer{s, err}
		}()
	}
	var none, away error
	for range h.stacks {
		switch got := <-answers; {
		case got.err == nil:
			h.known.Store(id, got.of)
			return got.of.app.Load(), nil
		case errors.As(got.err, new(*domain.Problem)):
			none = got.err
		default:
			away = got.err
		}
	}
	if away != nil {
		return nil, away
	}
	return nil, none
}

// taken tells whether some database has a sale of this id.
func (h *house) taken(ctx context.Context, id string) bool {
	_, err := h.ofSale(ctx, id)
	return err == nil
}

// ofOrder gives the application of the store that an order's id names.
func (h *house) ofOrder(id string) (*app, error) {
	ref, err := domain.ParseOrderID(id)
	if err != nil {
		return nil, &domain.Problem{Code: domain.CodeOrderNotFound}
	}
	open := h.apps()
	for _, a := range open {
		if a.env.Store == ref.Place.Store {
			return a, nil
		}
	}
	if len(open) < len(h.stacks) {
		return nil, h.errNotOpen("order " + id)
	}
	return nil, &domain.Problem{Code: domain.CodeOrderNotFound}
}
