package commands

import (
	"context"
	"time"
)

// detached gives a context that a caller who hangs up does not end, but that ends
// after a budget, and no later than the caller's own deadline: what was begun is
// found out, and nobody is kept waiting for it.
func detached(ctx context.Context, budget time.Duration) (context.Context, context.CancelFunc) {
	end := time.Now().Add(budget)
	if d, ok := ctx.Deadline(); ok && d.Before(end) {
		end = d
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
