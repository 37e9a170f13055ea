package commands

import (
	"context"
	"slices"
	"time"

	"seckill/domain"
)

// What stops is to stop also while the log is away: a process that knows the sale
// sets it in the gate before it asks the log anything. Recorded it is only once the
// log answers; until then nobody takes it out of the gate, since that asks the log
// too, and afterwards the lane keeper does unless it was recorded.
const (
	// holdBudget bounds setting it in the gate, askBudget the first question to the
	// log after that.
	holdBudget = 2 * time.Second
	askBudget  = 3 * time.Second
)

// UnrecordedError says that something was stopped in the gate, as far as this process
// knows what there is, and could not be recorded: it has to be asked for again.
type UnrecordedError struct{ Err error }

// Error says it for the log.
func (e *UnrecordedError) Error() string {
	return "stopped in the gate, but not recorded: " + e.Err.Error()
}

// Unwrap gives why it was not recorded.
func (e *UnrecordedError) Unwrap() error { return e.Err }

// unrecorded wraps err where something is held.
func unrecorded(held bool, err error) error {
	if err == nil || !held {
		return err
	}
	return &UnrecordedError{err}
}

// askWithin bounds a question where something is held already: then the caller is to
// hear soon what is known.
func askWithin(ctx context.Context, held bool) (context.Context, context.CancelFunc) {
	if !held {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, askBudget)
}

// holdKnown stops a sale in the gate by what this process remembers of it, and tells
// whether it did. One that is not known, has no gate, or is stopped so already, is left
// alone.
func (o *Operator) holdKnown(ctx context.Context, id string, outcome domain.Outcome, decide func(domain.Sale) domain.Event) bool {
	sale, known := o.Sales.Known(id)
	if !known || sale.Cleaned || sale.Gateless() || decide(sale.Sale) == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, holdBudget)
	defer cancel()
	return o.hold(ctx, sale.Sale, outcome) == nil
}

// hold sets a stopping action in every bucket of a sale.
func (o *Operator) hold(ctx context.Context, sale domain.Sale, outcome domain.Outcome) error {
	for _, place := range Places(o.Env.Store, sale) {
		if err := o.Gate.Hold(ctx, place, outcome); err != nil {
			return err
		}
	}
	return nil
}

// holdKnown stops, in the gate, every sale that this process remembers and that is
// not over, and tells whether it did.
func (b *Switchboard) holdKnown(ctx context.Context, outcome domain.Outcome) bool {
	sales := slices.DeleteFunc(b.sales.Remembered(), func(sale FoldedSale) bool { return sale.Gateless() })
	if len(sales) == 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, holdBudget)
	defer cancel()
	return b.eachOf(sales, func(sale FoldedSale) error { return b.operator.hold(ctx, sale.Sale, outcome) }) == nil
}
