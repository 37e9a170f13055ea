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
func (g *Gate) SoldOut(ctx context.Context, r commands.Reservation) (commands.Shortage, error) {
	if err := ctx.Err(); err != nil {
		return commands.Shortage{}, nothing(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.laneOf(r.Place)
	s := l.sales[r.Place]
	if !s.isOpen() {
		return commands.Shortage{}, nil
	}
	now := g.now()
	c := g.caseOf(l, s, &r, now)
	outcome, _ := domain.Judge(c)
	found := commands.Shortage{Sold: outcome == domain.SoldOut, Moment: commands.GateMoment{At: now, Epoch: l.epoch, Next: l.n + 1}, Left: domain.Unknown}
	if len(r.Lines) == 1 {
		found.Left = max(c.Left[r.Lines[0].SKU], 0)
	}
	return found, nil
}

// Time gives the gate's clock: see commands.GateTime.
func (g *Gate) Time(context.Context) (time.Time, error) { return g.now(), nil }
