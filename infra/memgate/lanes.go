package memgate

import (
	"context"
	"slices"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// Lane looks at a lane: see commands.Lanes.
func (g *Gate) Lane(_ context.Context, lane int) (commands.LaneState, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.look(&g.lanes[lane]), nil
}

func (g *Gate) look(l *lane) commands.LaneState {
	s := commands.LaneState{
		Exists: l.exists, Open: l.open, SameServer: l.exists && l.server == g.server, Server: g.server,
		Epoch: l.epoch, N: l.n, Digest: l.digest, Now: g.now(), OpenedAt: l.openedAt,
	}
	s.Cut, s.Last = l.cut, l.cut.ID
	if n := len(l.journal); n > 0 {
		s.Last = l.journal[n-1].ID
	}
	return s
}

// CloseLane closes a lane under a higher epoch: see commands.Lanes. It worked if
// and only if the answer is a closed lane of that very epoch.
func (g *Gate) CloseLane(_ context.Context, lane int, epoch int64) (commands.LaneState, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := &g.lanes[lane]
	if before := g.look(l); epoch > before.Epoch && epoch > before.Last.Epoch {
		l.exists, l.open, l.epoch, l.n = true, false, epoch, 0
		l.digest, l.server = domain.FirstDigest(lane, epoch), ""
		l.openedAt = time.Time{}
	}
	return g.look(l), nil
}

// OpenLane opens a closed lane: see commands.Lanes.
func (g *Gate) OpenLane(_ context.Context, lane int, epoch int64, server string) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := &g.lanes[lane]
	if !l.recovering(epoch) || server == "" || server != g.server {
		return false, nil
	}
	l.open, l.server, l.openedAt = true, server, g.now()
	return true, nil
}

// recovering tells whether the lane is closed under the epoch.
func (l *lane) recovering(epoch int64) bool { return l.exists && !l.open && l.epoch == epoch }

// Peek reads a lane, a sale's record and stock hashes at one moment: see
// commands.Hashes.
func (g *Gate) Peek(_ context.Context, place domain.Place, skus []string) (commands.Peeked, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.peek(place, skus), nil
}

func (g *Gate) peek(place domain.Place, skus []string) commands.Peeked {
	l := g.laneOf(place)
	p := commands.Peeked{Lane: g.look(l), Stocks: make([]commands.StockHash, len(skus))}
	if s := l.sales[place]; s != nil {
		p.Sale = commands.SaleHash{State: s.state, Applied: s.applied, Held: s.hold != domain.Reserved}
	}
	for i, sku := range skus {
		if k := l.stockOf(place, sku); k != nil {
			p.Stocks[i] = commands.StockHash{State: k.state, Applied: k.applied, Available: k.units.Available, Token: k.token}
		}
	}
	return p
}

// Stubs makes stubs of what is missing during a recovery: see commands.Hashes.
func (g *Gate) Stubs(_ context.Context, place domain.Place, skus, reset []string, epoch int64) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.laneOf(place)
	if !l.recovering(epoch) {
		return false, nil
	}
	lost := l.sales[place] == nil
	if lost {
		l.put(place, newSale(""))
	}
	for _, sku := range append(slices.Clone(skus), reset...) {
		if lost || l.stockOf(place, sku) == nil || slices.Contains(reset, sku) {
			l.putStock(stockKey(place, sku), newStock(stockKey(place, sku), ""))
		}
	}
	return true, nil
}

// StartAgain makes stubs of everything during a recovery: see commands.Hashes.
func (g *Gate) StartAgain(_ context.Context, place domain.Place, skus []string, epoch int64) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.laneOf(place)
	if !l.recovering(epoch) {
		return false, nil
	}
	l.put(place, newSale(""))
	for _, sku := range skus {
		l.putStock(stockKey(place, sku), newStock(stockKey(place, sku), ""))
	}
	return true, nil
}

// OpenHashes opens hashes during a recovery: see commands.Hashes.
func (g *Gate) OpenHashes(_ context.Context, place domain.Place, marks commands.HashMarks, epoch int64) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.laneOf(place)
	s := l.sales[place]
	if !l.recovering(epoch) || s == nil || s.applied != marks.Sale || s.applied == (eventstore.Mark{}) {
		return false, nil
	}
	for i, sku := range marks.SKUs {
		if k := l.stockOf(place, sku); k == nil || k.applied != marks.Stocks[i] {
			return false, nil
		}
	}
	l.openAll(place, marks.SKUs)
	return true, nil
}

func (l *lane) openAll(place domain.Place, skus []string) {
	s := l.sales[place]
	s.state, s.token = commands.HashOpen, ""
	for _, sku := range skus {
		k := l.stockOf(place, sku)
		k.state, k.token = commands.HashOpen, ""
	}
}
