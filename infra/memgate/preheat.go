package memgate

import (
	"context"

	"seckill/commands"
	"seckill/domain"
)

// NewSale makes stubs of a sale that the gate does not hold: see
// commands.Preheater. Repeating it with the same token is harmless.
func (g *Gate) NewSale(_ context.Context, place domain.Place, skus []string, epoch int64, token string) (commands.PreheatStart, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.laneOf(place)
	start := commands.PreheatStart{Epoch: l.epoch, N: l.n}
	s := l.sales[place]
	mine := s != nil && s.state == commands.HashStub && s.token == token
	if !g.selling(l) || l.epoch != epoch || (s != nil && !mine) {
		return start, nil
	}
	if !mine {
		l.put(place, newSale(token))
		for _, sku := range skus {
			l.putStock(stockKey(place, sku), newStock(stockKey(place, sku), token))
		}
	}
	start.OK = true
	return start, nil
}

// ResetStock makes one stock hash a stub again: see commands.Preheater.
func (g *Gate) ResetStock(_ context.Context, place domain.Place, sku string, epoch int64, token string) (commands.PreheatStart, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.laneOf(place)
	start := commands.PreheatStart{Epoch: l.epoch, N: l.n}
	if !g.selling(l) || l.epoch != epoch || !l.sales[place].isOpen() {
		return start, nil
	}
	l.putStock(stockKey(place, sku), newStock(stockKey(place, sku), token))
	start.OK = true
	return start, nil
}

// OpenPreheated opens the stubs of a preheat: see commands.Preheater.
func (g *Gate) OpenPreheated(_ context.Context, place domain.Place, marks commands.HashMarks, epoch int64, token string) (bool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.laneOf(place)
	s := l.sales[place]
	if !g.selling(l) || l.epoch != epoch || s == nil {
		return false, nil
	}
	if !s.isOpen() && (s.token != token || s.applied != marks.Sale || s.applied.Number == 0) {
		return false, nil
	}
	for i, sku := range marks.SKUs {
		k := l.stockOf(place, sku)
		if k == nil || k.state != commands.HashStub || k.token != token || k.applied != marks.Stocks[i] {
			return false, nil
		}
	}
	l.openAll(place, marks.SKUs)
	return true, nil
}
