package memgate

import (
	"context"
	"time"

	"seckill/commands"
	"seckill/domain"
)

var (
	_ commands.Shortages = (*Gate)(nil)
	_ commands.GateTime  = (*Gate)(nil)
)

// SoldOut looks whether a purchase is sold out: see commands.Shortages.
func (g *Gate) SoldOut(ctx context.Context, r commands.Reservation) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, nothing(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.laneOf(r.Place)
	s := l.sales[r.Place]
	if !s.isOpen() {
		return false, nil
	}
	outcome, _ := domain.Judge(g.caseOf(l, s, &r, g.now()))
	return outcome == domain.SoldOut, nil
}

// Time gives the gate's clock: see commands.GateTime.
func (g *Gate) Time(context.Context) (time.Time, error) { return g.now(), nil }
