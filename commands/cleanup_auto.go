package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"seckill/domain"
)

// autoLook is how often sales that ended long ago are looked for.
const autoLook = 10 * time.Minute

// AutoCleanup cleans up sales that nobody cleaned up, once their window has been
// over for After: what the gate holds of them does not stay for ever. It goes
// through the same checklist, so that a sale with an open order or a finding stays
// until a person has looked. Several at once are harmless, one is enough.
type AutoCleanup struct {
	Env   *Env
	Sales *Sales
	After time.Duration
	Clean func(ctx context.Context, sale string, actor Actor) (CleanReport, error)

	told map[string]bool // sales that could not be cleaned up, and that it was said
}

// Run looks from time to time until ctx ends.
func (a *AutoCleanup) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if _, err := a.Sweep(ctx); err != nil && ctx.Err() == nil {
			a.Env.Log.Warn("ended sales not cleaned up; tried again", "error", err)
		}
		pause(ctx, autoLook)
	}
	return nil
}

// Sweep cleans up every sale that is due and whose checklist holds, and gives how
// many. It is not safe for concurrent use.
func (a *AutoCleanup) Sweep(ctx context.Context) (cleaned int, err error) {
	sales, err := a.Sales.List(ctx)
	if err != nil {
		return 0, err
	}
	for _, sale := range sales {
		if sale.Cleaned || a.Env.Now().Sub(sale.Terms.ClosesAt) < a.After || ctx.Err() != nil {
			continue
		}
		_, err := a.Clean(ctx, sale.ID, Actor{By: "scheduler", Note: fmt.Sprintf("over for %s", a.After)})
		var refused *domain.Problem
		switch {
		case err == nil:
			cleaned++
			delete(a.told, sale.ID)
		case !errors.As(err, &refused):
			return cleaned, err
		case !a.told[sale.ID]:
			if a.told == nil {
				a.told = map[string]bool{}
			}
			a.told[sale.ID] = true
			a.Env.Log.Warn("a sale ended long ago and cannot be cleaned up", "sale_id", sale.ID, "code", refused.Code, "error", refused)
		}
	}
	return cleaned, nil
}
