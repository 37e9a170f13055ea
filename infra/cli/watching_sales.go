package cli

import (
	"context"
	"errors"
	"slices"

	"seckill/api"
	"seckill/commands"
	"seckill/domain"
	"seckill/infra/obs"
)

// salesSeen is what is sold now, and next.
type salesSeen struct {
	sales []api.OverviewSale
	more  int
	drift []string // sales that are paused for it, in the whole list
}

// shownSales bounds how many sales are looked at all the time.
const shownSales = 10

// errNoList is that the log has told no list of sales yet.
var errNoList = errors.New("no list of the sales was read yet")

// lookAtSales asks what is left of the sales that sell, or will next. While the log is
// away it goes by the list that was read last: what is left the gate still tells.
func (w *watching) lookAtSales(ctx context.Context) (salesSeen, error) {
	list := w.lastList()
	if list == nil {
		return salesSeen{}, errNoList
	}
	a := w.app
	seen := salesSeen{drift: []string{}}
	var live []commands.FoldedSale
	for _, s := range list {
		if slices.Contains(s.Pauses, domain.PausedByDrift) {
			seen.drift = append(seen.drift, s.ID)
		}
		if w.lives(s) {
			live = append(live, s)
		}
	}
	slices.SortFunc(live, func(x, y commands.FoldedSale) int {
		if c := w.rank(x) - w.rank(y); c != 0 {
			return c
		}
		if w.rank(x) == 0 {
			return y.Terms.OpensAt.Compare(x.Terms.OpensAt)
		}
		return x.Terms.OpensAt.Compare(y.Terms.OpensAt)
	})
	seen.more = max(len(live)-shownSales, 0)
	var stock []obs.StockLeft
	for _, s := range live[:min(len(live), shownSales)] {
		shown := w.sale(ctx, s)
		if ctx.Err() != nil {
			return salesSeen{}, ctx.Err()
		}
		seen.sales = append(seen.sales, shown)
		for _, item := range shown.Items {
			if item.Left != nil {
				stock = append(stock, obs.StockLeft{Sale: s.ID, SKU: item.SKU, Left: *item.Left})
			}
		}
	}
	a.metrics.Stock(a.env.Now(), stock, len(seen.drift))
	return seen, nil
}

// lastList is the list of sales that was read last, however old; nil before the first.
// Nobody may write to it.
func (w *watching) lastList() []commands.FoldedSale {
	seen := w.listed.Seen()
	w.mu.Lock()
	defer w.mu.Unlock()
	if seen.Known {
		w.known = seen.Value
		if w.known == nil {
			w.known = []commands.FoldedSale{} // there is none
		}
	}
	return w.known
}

// lives tells whether a sale sells, or will.
func (w *watching) lives(s commands.FoldedSale) bool { return w.rank(s) < 2 }

// rank is 0 for a sale that is open or paused, 1 for one that is scheduled, else 2.
func (w *watching) rank(s commands.FoldedSale) int {
	switch s.StateAt(w.app.env.Now()) {
	case domain.SaleStateOpen, domain.SaleStatePaused:
		return 0
	case domain.SaleStateScheduled:
		return 1
	}
	return 2
}

// sale shows one sale with what is left of it.
func (w *watching) sale(ctx context.Context, s commands.FoldedSale) api.OverviewSale {
	a := w.app
	shown := api.OverviewSale{
		ID: s.ID, Title: s.Terms.Title, State: string(s.StateAt(a.env.Now())), Pauses: []string{}, OpensAt: s.Terms.OpensAt, ClosesAt: s.Terms.ClosesAt,
		Items: []api.OverviewItem{},
	}
	for _, p := range s.Pauses {
		shown.Pauses = append(shown.Pauses, string(p))
	}
	if answer, err := a.shower.Show(ctx, s.ID); err == nil && answer.Recovering {
		shown.State, shown.Pauses = string(answer.State), append(shown.Pauses, "recovery")
	}
	units := a.shower.Units(ctx, s.Sale)
	for _, sku := range s.SKUs() {
		u := units[sku]
		item := api.OverviewItem{SKU: sku, Left: u.Available, Released: u.Released, Taken: u.Taken}
		if u.Available != nil {
			item.By = "gate"
			if u.ByLog {
				item.By = "log"
			}
		}
		shown.Items = append(shown.Items, item)
	}
	return shown
}
