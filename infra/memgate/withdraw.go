package memgate

import (
	"context"
	"encoding/json"
	"fmt"

	"seckill/commands"
	"seckill/domain"
)

var _ commands.Withdrawer = (*Gate)(nil)

// Withdraw takes units off sale: see commands.Withdrawer.
func (g *Gate) Withdraw(_ context.Context, w commands.Withdrawal) (commands.WithdrawVerdict, error) {
	if err := w.Check(g.store); err != nil {
		return commands.WithdrawVerdict{}, nothing(err)
	}
	blob, err := commands.EncodeWithdrawal(w)
	if err != nil {
		return commands.WithdrawVerdict{}, nothing(err)
	}
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
		body, err := json.Marshal(commands.EntryBody{Form: commands.WithdrawalForm, At: g.now().UnixMicro(),
			Terms: map[string]domain.Terms{}, Purchases: []json.RawMessage{}, Withdrawals: []json.RawMessage{blob}})
		if err != nil {
			return commands.WithdrawVerdict{}, nothing(fmt.Errorf("write entry of withdrawal %s: %w", w.ID, err))
		}
		stock.units.Take(w.ID, "", w.Quantity)
		g.write(l, w.Place.Lane(), string(body))
		v.Outcome, v.N, known = commands.WithdrawTaken, l.n, stock.units.Holds[w.ID]
	}
	v.Quantity, v.Available = known.Quantity, stock.units.Available
	return v, nil
}
