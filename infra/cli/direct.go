package cli

import (
	"context"
	"time"

	"seckill/commands"
)

// timed is a gate that tells how long each Reserve took.
type timed struct {
	commands.Gate
	observe func(took time.Duration)
}

// Reserve is commands.Gate's.
func (g timed) Reserve(ctx context.Context, r commands.Reservation) (commands.Verdict, error) {
	began := time.Now()
	defer func() { g.observe(time.Since(began)) }()
	return g.Gate.Reserve(ctx, r)
}

// byStrategy asks a gate, or the log alone for the sales that have none.
func (a *app) byStrategy(gate commands.Gate) commands.ByStrategy {
	return commands.ByStrategy{Sales: a.sales, Gate: gate, Direct: timed{a.direct, a.sale.limiter.Observe}}
}
