package guard

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/commands"
	"seckill/domain"
)

// Peeker looks at the gate of a sale.
type Peeker interface {
	Peek(ctx context.Context, place domain.Place, skus []string) (commands.Peeked, error)
}

// Gate is a gate as buyers' questions reach it.
type Gate struct {
	*Breaker
	gate    commands.Gate
	peek    Peeker
	short   commands.Shortages
	observe func(took time.Duration)
}

var (
	_ commands.Gate      = (*Gate)(nil)
	_ commands.Shortages = (*Gate)(nil)
)

// NewGate guards a gate. observe is told how long each Reserve took.
func NewGate(gate interface {
	commands.Gate
	commands.Shortages
	Peeker
}, log *slog.Logger, observe func(took time.Duration)) *Gate {
	return &Gate{Breaker: newBreaker("redis", log, ofGate), gate: gate, peek: gate, short: gate, observe: observe}
}

// Reserve is commands.Gate's. While the gate rests nothing happens.
func (g *Gate) Reserve(ctx context.Context, r commands.Reservation) (commands.Verdict, error) {
	v, err := through(g.Breaker, func() (commands.Verdict, error) {
		began := time.Now()
		v, err := g.gate.Reserve(ctx, r)
		g.observe(time.Since(began))
		return v, err
	})
	return v, asGateError(err)
}

// SoldOut is commands.Shortages'. While the gate rests nothing is known.
func (g *Gate) SoldOut(ctx context.Context, r commands.Reservation) (bool, error) {
	sold, err := through(g.Breaker, func() (bool, error) { return g.short.SoldOut(ctx, r) })
	return sold, asGateError(err)
}

// Resolve is commands.Gate's, and always asked.
func (g *Gate) Resolve(ctx context.Context, ref domain.OrderRef, buyer string) (commands.Resolution, error) {
	return g.gate.Resolve(ctx, ref, buyer)
}

// Order is commands.Gate's.
func (g *Gate) Order(ctx context.Context, ref domain.OrderRef) (commands.GateOrder, error) {
	o, err := through(g.Breaker, func() (commands.GateOrder, error) { return g.gate.Order(ctx, ref) })
	return o, asGateError(err)
}

// Peek looks at the gate of a sale.
func (g *Gate) Peek(ctx context.Context, place domain.Place, skus []string) (commands.Peeked, error) {
	seen, err := through(g.Breaker, func() (commands.Peeked, error) { return g.peek.Peek(ctx, place, skus) })
	return seen, asGateError(err)
}

// asGateError says of what was not asked that nothing happened.
func asGateError(err error) error {
	if errors.Is(err, ErrResting) {
		return &commands.GateError{Err: err}
	}
	return err
}

// ofGate sorts an error of the gate. What ended without being sent, because we
// queued it too long or its caller left, says nothing about Redis.
func ofGate(err error) verdict {
	if err == nil {
		return good
	}
	var broken *net.OpError
	var reply redis.Error
	switch {
	case errors.Is(err, context.Canceled):
		return nothing
	case commands.IsUnknown(err), errors.As(err, &broken), errors.As(err, &reply),
		errors.Is(err, io.EOF), errors.Is(err, errPanic):
		return bad
	}
	return nothing
}
