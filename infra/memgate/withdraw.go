package memgate

import (
	"context"
	"encoding/json"
	"fmt"

	"seckill/commands"
	"seckill/domain"
)

var (
	_ commands.Withdrawer = (*Gate)(nil)
	_ commands.Mover      = (*Gate)(nil)
	_ commands.Levels     = (*Gate)(nil)
)

// Withdraw takes units off sale: see commands.Withdrawer.
func (g *Gate) Withdraw(_ context.Context, w commands.Withdrawal) (commands.WithdrawVerdict, error) {
	if err := w.Check(g.store); err != nil {
		return commands.WithdrawVerdict{}, nothing(err)
	}
	blob, err := commands.EncodeWithdrawal(w)
	if err != nil {
		return commands.WithdrawVerdict{}, nothing(err)
	}
	return g.takeOut(w, commands.EntryBody{Form: commands.WithdrawalForm, Withdrawals: []json.RawMessage{blob}})
}

// Move takes units out of a bucket for another one: see commands.Mover.
func (g *Gate) Move(_ context.Context, m commands.Move) (commands.WithdrawVerdict, error) {
	if err := m.Check(g.store); err != nil {
		return commands.WithdrawVerdict{}, nothing(err)
	}
	blob, err := commands.EncodeMove(m)
	if err != nil {
		return commands.WithdrawVerdict{}, nothing(err)
	}
	return g.takeOut(commands.Withdrawal{ID: m.ID, Place: m.Place, SKU: m.SKU, Quantity: m.Quantity},
		commands.EntryBody{Form: commands.MoveForm, Moves: []json.RawMessage{blob}})
}

// takeOut takes the units of w by an entry that holds them.
func (g *Gate) takeOut(w commands.Withdrawal, entry commands.EntryBody) (commands.WithdrawVerdict, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.laneOf(w.Place)
	stock := l.stockOf(w.Place, w.SKU)
	v := commands.WithdrawVerdict{Epoch: l.epoch, N: l.n}
	if !g.selling(l) || !l.sales[w.Place].isOpen() || !stock.isOpen() {
		return v, nil
	}
	known := stock.units.Holds[w.ID]
	switch {
	case known.State == domain.HoldTaken:
		v.Outcome = commands.WithdrawTaken
	case known.State != domain.HoldUnknown:
		v.Outcome = commands.WithdrawRefused
	case stock.units.Available < w.Quantity:
		v.Outcome = commands.WithdrawShort
	default:
		entry.At, entry.Terms, entry.Purchases = g.now().UnixMicro(), map[string]domain.Terms{}, []json.RawMessage{}
		body, err := json.Marshal(entry)
		if err != nil {
			return commands.WithdrawVerdict{}, nothing(fmt.Errorf("write entry of %s: %w", w.ID, err))
		}
		stock.units.Take(w.ID, "", w.Quantity)
		g.write(l, w.Place.Lane(), string(body))
		v.Outcome, v.N, known = commands.WithdrawTaken, l.n, stock.units.Holds[w.ID]
	}
	v.Quantity, v.Available = known.Quantity, stock.units.Available
	return v, nil
}

// Levels looks at many buckets: see commands.Levels.
func (g *Gate) Levels(_ context.Context, places []domain.Place, skus []string) ([]commands.BucketLevel, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	levels := make([]commands.BucketLevel, len(places))
	for i, place := range places {
		l := g.laneOf(place)
		b := commands.BucketLevel{Selling: g.selling(l) && l.sales[place].isOpen(), Epoch: l.epoch, N: l.n, Stocks: make([]commands.StockLevel, len(skus))}
		for j, sku := range skus {
			stock := l.stockOf(place, sku)
			if !stock.isOpen() {
				b.Selling = false
				continue
			}
			b.Stocks[j] = commands.StockLevel{Applied: stock.applied, Available: stock.units.Available}
		}
		if b.Selling {
			levels[i] = b
		}
	}
	return levels, nil
}
