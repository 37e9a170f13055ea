package guard

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
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
	// Server, if set before the first question, names the server that a lane lives on:
	// each has a breaker of its own, so that one that fails keeps nobody from the others.
	Server func(lane int) string

	log      *slog.Logger
	only     *Breaker // of the only server there is; nobody waits for another to find it
	mu       sync.Mutex
	breakers map[string]*Breaker // by server, of several

	gate    commands.Gate
	peek    Peeker
	short   commands.Shortages
	levels  commands.Levels
	observe func(took time.Duration)
}

var (
	_ commands.Gate      = (*Gate)(nil)
	_ commands.Shortages = (*Gate)(nil)
	_ commands.Levels    = (*Gate)(nil)
)

// NewGate guards a gate. observe is told how long each Reserve took.
func NewGate(gate interface {
	commands.Gate
	commands.Shortages
	commands.Levels
	Peeker
}, log *slog.Logger, observe func(took time.Duration)) *Gate {
	return &Gate{log: log, only: newBreaker("redis", log, ofGate), breakers: map[string]*Breaker{}, gate: gate, peek: gate, short: gate, levels: gate, observe: observe}
}

// breaker gives the breaker of the server that a lane lives on.
func (g *Gate) breaker(lane int) *Breaker {
	if g.Server == nil {
		return g.only
	}
	server := g.Server(lane)
	if server == "" {
		return g.only
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	b, ok := g.breakers[server]
	if !ok {
		b = newBreaker("redis "+server, g.log, ofGate)
		g.breakers[server] = b
	}
	return b
}

// State is that of the breaker that keeps most away, of the servers that hold lanes now:
// Closed, HalfOpen or Open.
func (g *Gate) State() int {
	worst := Closed
	seen := map[*Breaker]bool{}
	for lane := range domain.Lanes {
		if b := g.breaker(lane); !seen[b] {
			seen[b] = true
			worst = max(worst, b.State())
		}
	}
	return worst
}

// Reserve is commands.Gate's. While the gate rests nothing happens.
func (g *Gate) Reserve(ctx context.Context, r commands.Reservation) (commands.Verdict, error) {
	v, err := through(g.breaker(r.Place.Lane()), func() (commands.Verdict, error) {
		began := time.Now()
		v, err := g.gate.Reserve(ctx, r)
		g.observe(time.Since(began))
		return v, err
	})
	return v, asGateError(err)
}

// SoldOut is commands.Shortages'. While the gate rests nothing is known.
func (g *Gate) SoldOut(ctx context.Context, r commands.Reservation) (commands.Shortage, error) {
	sold, err := through(g.breaker(r.Place.Lane()), func() (commands.Shortage, error) { return g.short.SoldOut(ctx, r) })
	return sold, asGateError(err)
}

// Resolve is commands.Gate's, and always asked.
func (g *Gate) Resolve(ctx context.Context, ref domain.OrderRef, buyer string) (commands.Resolution, error) {
	return g.gate.Resolve(ctx, ref, buyer)
}

// Order is commands.Gate's.
func (g *Gate) Order(ctx context.Context, ref domain.OrderRef) (commands.GateOrder, error) {
	o, err := through(g.breaker(ref.Place.Lane()), func() (commands.GateOrder, error) { return g.gate.Order(ctx, ref) })
	return o, asGateError(err)
}

// Peek looks at the gate of a sale.
func (g *Gate) Peek(ctx context.Context, place domain.Place, skus []string) (commands.Peeked, error) {
	seen, err := through(g.breaker(place.Lane()), func() (commands.Peeked, error) { return g.peek.Peek(ctx, place, skus) })
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
