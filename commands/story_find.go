package commands

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"seckill/domain"
	"seckill/eventstore"
)

// ofBuyer finds the purchases of a buyer: those that the log knows by its claims, and
// those that were rejected, which only the views know by their buyer.
func (t *Teller) ofBuyer(ctx context.Context, ask StoryAsk, s *Story) ([]string, error) {
	sales := []string{ask.Sale}
	if ask.Sale == "" {
		var err error
		if sales, err = t.Sales.IDs(ctx); err != nil {
			return nil, err
		}
	} else if _, err := t.Sales.Get(ctx, ask.Sale); err != nil {
		return nil, err
	}
	s.Sales = len(sales)
	claims, err := inParallel(sales, func(_ int, sale string) ([]eventstore.Claim, error) {
		return t.Log.ClaimsOf(ctx, eventstore.ClaimKey{SaleID: sale, BuyerID: ask.ID})
	})
	if err != nil {
		return nil, fmt.Errorf("read the claims of a buyer: %w", err)
	}
	var orders []string
	within, cancel := context.WithTimeout(ctx, storyBudget)
	defer cancel()
	if orders, err = t.Views.OfBuyer(within, sales, ask.ID); err != nil {
		s.unasked("views", err)
	}
	fresh := notAmong(orders, claims)
	if over := len(fresh) + len(orders) - ask.Limit; over > 0 {
		s.More = over
	}
	orders = orders[:min(len(orders), ask.Limit)]
	if len(fresh) > 0 {
		if orders, err = t.newestFirst(ctx, append(fresh, orders...)); err != nil {
			return nil, err
		}
	}
	return orders[:min(len(orders), ask.Limit)], nil
}

// notAmong gives the orders of claims that the views do not have yet. They need not be
// newer than all that those have: each shard of a view follows the log by itself.
func notAmong(seen []string, claims [][]eventstore.Claim) (fresh []string) {
	known := map[string]bool{}
	for _, id := range seen {
		known[id] = true
	}
	for _, ofSale := range claims {
		for _, c := range ofSale {
			if !known[c.OrderID] {
				known[c.OrderID] = true
				fresh = append(fresh, c.OrderID)
			}
		}
	}
	return fresh
}

// newestFirst sorts orders by where the log decided them.
func (t *Teller) newestFirst(ctx context.Context, orders []string) ([]string, error) {
	type placed struct {
		order string
		at    int64
	}
	all, err := inParallel(orders, func(_ int, id string) (placed, error) {
		first, err := t.Log.ReadStream(ctx, domain.OrderStream(id), 0, 1)
		if err != nil || len(first) == 0 {
			return placed{id, 0}, err
		}
		return placed{id, first[0].Position}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("read where orders were decided: %w", err)
	}
	slices.SortStableFunc(all, func(a, b placed) int { return cmp.Compare(b.at, a.at) })
	for i := range all {
		orders[i] = all[i].order
	}
	return orders, nil
}

// ofTrace finds the purchase with a trace id: by the index of the view, and in the part
// of the log that the view does not have yet, as far as storyTail.
func (t *Teller) ofTrace(ctx context.Context, trace string, s *Story) ([]string, error) {
	within, cancel := context.WithTimeout(ctx, storyBudget)
	defer cancel()
	orders, known, err := t.Views.OfTrace(within, trace)
	if err != nil {
		s.unasked("views", err)
		known = s.Head
	}
	if len(orders) > 0 {
		return orders, nil
	}
	from := max(known, s.Head-storyTail)
	if from > known {
		s.Unasked = append(s.Unasked, fmt.Sprintf("events %d to %d: the views do not have them yet, and they are too many to look through", known+1, from))
	}
	for {
		page, err := t.Log.ReadAll(ctx, from, asOfPage)
		if err != nil {
			return nil, fmt.Errorf("look for a trace id in the log after %d: %w", from, err)
		}
		for i := range page {
			from = page[i].Position
			if page[i].OrderID != "" && page[i].Stream == domain.OrderStream(page[i].OrderID) && page[i].Version == 1 && traceOf(&page[i]) == trace {
				return []string{page[i].OrderID}, nil
			}
		}
		if len(page) < asOfPage || from >= s.Head {
			return nil, nil
		}
	}
}
