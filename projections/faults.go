package projections

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"seckill/eventstore"
	"seckill/infra/pg"
)

// ErrUnfit marks an error of folding: these events cannot be applied, however
// often it is tried. A Rows wraps it where Write finds that out.
var ErrUnfit = errors.New("these events cannot be applied")

// unfit is ErrUnfit with a cause; it says the cause alone.
type unfit struct{ cause error }

func (u *unfit) Error() string        { return u.cause.Error() }
func (u *unfit) Unwrap() error        { return u.cause }
func (u *unfit) Is(target error) bool { return target == ErrUnfit }

// isUnfit tells an error of the events from one of a store: only data makes an
// event unfit. Whatever a connection, a timeout or a conflict of transactions
// causes is tried again for ever.
func isUnfit(err error) bool {
	state := pg.SQLState(err)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, eventstore.ErrLogChanged):
		return false
	case strings.HasPrefix(state, "22"), strings.HasPrefix(state, "23"): // data, integrity
		return true
	case state != "":
		return false
	}
	return errors.Is(err, ErrUnfit)
}

// FaultError names the first event that cannot be applied, or that the log does
// not go on with.
type FaultError struct {
	Projection string // "" for a fault of the log itself
	Position   int64
	Sequence   string
	Type       string
	Cause      error
}

// Error is a sentence for the operator.
func (e *FaultError) Error() string {
	if e.Projection == "" {
		return fmt.Sprintf("the log cannot be trusted at position %d: %v", e.Position, e.Cause)
	}
	return fmt.Sprintf("%s cannot apply the event at position %d (%s, sequence %s): %v", e.Projection, e.Position, e.Type, e.Sequence, e.Cause)
}

// Unwrap gives the cause.
func (e *FaultError) Unwrap() error { return e.Cause }

func (p *Projection) faultAt(r *eventstore.Record, cause error) error {
	return &FaultError{Projection: p.Name, Position: r.Position, Sequence: r.SequenceKey(), Type: r.Type, Cause: cause}
}

// halves splits a batch of two records or more into two that follow each other.
func halves(b eventstore.Batch) (first, second eventstore.Batch) {
	middle := len(b.Records) / 2
	first, second = b, b
	first.Records, second.Records = b.Records[:middle], b.Records[middle:]
	first.Last = first.Records[middle-1].Head()
	second.Prev = first.Last
	return first, second
}
