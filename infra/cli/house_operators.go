package cli

import (
	"context"
	"errors"
	"sync"
	"time"

	"seckill/api"
	"seckill/commands"
	"seckill/domain"
)

// What operators ask of several databases.

// Operator gives who schedules sales on the database of a name.
func (h *house) Operator(name string) (api.Operator, bool) {
	for _, s := range h.stacks {
		if s.name == name {
			return stackOperator{houseOperator{h}, s}, true
		}
	}
	return nil, false
}

// Of names the database of a sale.
func (h *house) Of(ctx context.Context, sale string) string {
	if _, err := h.ofSale(ctx, sale); err != nil {
		return ""
	}
	s, _ := h.known.Load(sale)
	return s.(*stack).name
}

// houseOperator schedules sales where there is least to do, and steers them where they
// live.
type houseOperator struct{ *house }

// stackOperator schedules them on one database.
type stackOperator struct {
	houseOperator
	on *stack
}

// Schedule stores a sale on this database.
func (o stackOperator) Schedule(ctx context.Context, terms domain.SaleTerms, actor commands.Actor) (commands.FoldedSale, error) {
	a := o.on.app.Load()
	if a == nil {
		return commands.FoldedSale{}, o.errNotOpen("a new sale")
	}
	return a.operator.Schedule(ctx, terms, actor)
}

// Schedule stores a sale on the database with the fewest units of live sales.
func (h houseOperator) Schedule(ctx context.Context, terms domain.SaleTerms, actor commands.Actor) (commands.FoldedSale, error) {
	a, err := h.leastLoaded(ctx)
	if err != nil {
		return commands.FoldedSale{}, err
	}
	return a.operator.Schedule(ctx, terms, actor)
}

// loadBudget bounds asking one database how much it has to do.
const loadBudget = time.Second

// leastLoaded gives the database with the fewest units of sales that are not over,
// among those that answer.
func (h *house) leastLoaded(ctx context.Context) (*app, error) {
	open := h.apps()
	units, errs := make([]int64, len(open)), make([]error, len(open))
	var asking sync.WaitGroup
	for i, a := range open {
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, loadBudget)
			defer cancel()
			sales, err := a.sales.List(ctx)
			errs[i] = err
			for _, sale := range sales {
				if sale.Cleaned || sale.Over(a.env.Now()) {
					continue
				}
				units[i]++ // a sale is something to do, too
				for _, item := range sale.Terms.Items {
					units[i] += item.Stock
				}
			}
		})
	}
	asking.Wait()
	best := -1
	for i, err := range errs {
		if err == nil && (best < 0 || units[i] < units[best]) {
			best = i
		}
	}
	if best < 0 {
		return nil, errors.Join(append(errs, h.errNotOpen("a new sale"))...)
	}
	return open[best], nil
}

// Pause stops selling for a while.
func (h houseOperator) Pause(ctx context.Context, sale string, reason domain.PauseReason, actor commands.Actor) (commands.FoldedSale, error) {
	return onSale(ctx, h.house, sale, func(a *app) (commands.FoldedSale, error) { return a.operator.Pause(ctx, sale, reason, actor) })
}

// Resume sells again.
func (h houseOperator) Resume(ctx context.Context, sale string, reason domain.PauseReason, actor commands.Actor) (commands.FoldedSale, error) {
	return onSale(ctx, h.house, sale, func(a *app) (commands.FoldedSale, error) { return a.operator.Resume(ctx, sale, reason, actor) })
}

// Close ends a sale.
func (h houseOperator) Close(ctx context.Context, sale string, actor commands.Actor) (commands.FoldedSale, error) {
	return onSale(ctx, h.house, sale, func(a *app) (commands.FoldedSale, error) { return a.operator.Close(ctx, sale, actor) })
}

// Release puts more units on sale, or takes units off sale.
func (h houseOperator) Release(ctx context.Context, r commands.Release, actor commands.Actor) (commands.Released, error) {
	return onSale(ctx, h.house, r.Sale, func(a *app) (commands.Released, error) { return a.operator.Release(ctx, r, actor) })
}

type houseReviser struct{ *house }

// Revise changes what a sale says.
func (h houseReviser) Revise(ctx context.Context, r commands.Revision, actor commands.Actor) (commands.FoldedSale, error) {
	return onSale(ctx, h.house, r.Sale, func(a *app) (commands.FoldedSale, error) { return a.operator.Revise(ctx, r, actor) })
}

// Confirm lets a sale open that waits for that.
func (h houseReviser) Confirm(ctx context.Context, sale string, actor commands.Actor) (commands.FoldedSale, error) {
	return onSale(ctx, h.house, sale, func(a *app) (commands.FoldedSale, error) { return a.operator.Confirm(ctx, sale, actor) })
}

type housePreheats struct{ *house }

// Full makes the gate ready for a sale.
func (h housePreheats) Full(ctx context.Context, sale string, actor commands.Actor) (commands.PreheatReport, error) {
	return onSale(ctx, h.house, sale, func(a *app) (commands.PreheatReport, error) { return a.preheats.Full(ctx, sale, actor) })
}

// Verify compares what the gate holds of a sale with the log.
func (h housePreheats) Verify(ctx context.Context, sale string) (commands.PreheatReport, error) {
	return onSale(ctx, h.house, sale, func(a *app) (commands.PreheatReport, error) { return a.preheats.Verify(ctx, sale) })
}

type houseRehydrator struct{ *house }

// Rehydrate builds the gate of a sale again.
func (h houseRehydrator) Rehydrate(ctx context.Context, sale string, tell func(commands.RehydrateProgress)) (commands.Rehydration, error) {
	return onSale(ctx, h.house, sale, func(a *app) (commands.Rehydration, error) { return a.keeper.Rehydrate(ctx, sale, tell) })
}

type houseCleanup struct{ *house }

// Clean ends the life of a sale that is over.
func (h houseCleanup) Clean(ctx context.Context, sale string, actor commands.Actor) (commands.CleanReport, error) {
	return onSale(ctx, h.house, sale, func(a *app) (commands.CleanReport, error) { return a.cleanup.Clean(ctx, sale, actor) })
}

type houseReconciler struct{ *house }

// Reconcile compares the books of a sale.
func (h houseReconciler) Reconcile(ctx context.Context, sale string) (commands.ReconcileReport, error) {
	return onSale(ctx, h.house, sale, func(a *app) (commands.ReconcileReport, error) { return a.repairer.Reconcile(ctx, sale) })
}

// Repair mends what it finds.
func (h houseReconciler) Repair(ctx context.Context, sale string, actor commands.Actor) (commands.ReconcileReport, error) {
	return onSale(ctx, h.house, sale, func(a *app) (commands.ReconcileReport, error) { return a.repairer.Repair(ctx, sale, actor) })
}

type houseStater struct{ *house }

// State makes the closing statement of a sale.
func (h houseStater) State(ctx context.Context, sale string) (*commands.SignedStatement, error) {
	return onSale(ctx, h.house, sale, func(a *app) (*commands.SignedStatement, error) { return a.closer.State(ctx, sale) })
}

type houseMembers struct{ *house }

// Replace replaces who may buy in a sale.
func (h houseMembers) Replace(ctx context.Context, sale string, next func() (string, error), actor commands.Actor) (commands.FoldedSale, error) {
	return onSale(ctx, h.house, sale, func(a *app) (commands.FoldedSale, error) { return a.members.Replace(ctx, sale, next, actor) })
}
