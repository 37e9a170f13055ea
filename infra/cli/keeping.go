package cli

import (
	"context"
	"time"

	"seckill/infra/lifecycle"
)

// drainKept bounds how long a process that stops waits for what it acknowledged to be
// recorded. What is not by then stands in the gate's journal, as for any process that
// dies.
const drainKept = 5 * time.Second

// keeping holds what this process acknowledged, as long as it matters.
type keeping struct {
	*lifecycle.Loop
	app *app
}

func (a *app) keeping() *keeping { return &keeping{lifecycle.NewLoop(a.kept.Run), a} }

// Stop waits until what was acknowledged here is recorded: a gate that forgets would
// then find nobody who knows of it.
func (k *keeping) Stop(ctx context.Context) error {
	wait, cancel := context.WithTimeout(ctx, drainKept)
	defer cancel()
	if left := k.app.kept.Drain(wait); left > 0 {
		k.app.log.Warn("stopped before all acknowledged purchases were recorded: the gate's journal has them", "purchases", left)
	}
	return k.Loop.Stop(ctx)
}
