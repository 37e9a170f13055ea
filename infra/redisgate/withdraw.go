package redisgate

import (
	"context"

	"seckill/commands"
)

// Withdraw takes units off sale: see commands.Withdrawer.
func (g *Gate) Withdraw(ctx context.Context, w commands.Withdrawal) (commands.WithdrawVerdict, error) {
	if err := w.Check(g.keys.store); err != nil {
		return commands.WithdrawVerdict{}, nothing(err)
	}
	blob, err := commands.EncodeWithdrawal(w)
	if err != nil {
		return commands.WithdrawVerdict{}, nothing(err)
	}
	return g.take(ctx, w, string(blob), commands.WithdrawalForm, "withdrawals")
}

// Move takes units out of a bucket for another one: see commands.Mover.
func (g *Gate) Move(ctx context.Context, m commands.Move) (commands.WithdrawVerdict, error) {
	if err := m.Check(g.keys.store); err != nil {
		return commands.WithdrawVerdict{}, nothing(err)
	}
	blob, err := commands.EncodeMove(m)
	if err != nil {
		return commands.WithdrawVerdict{}, nothing(err)
	}
	return g.take(ctx, commands.Withdrawal{ID: m.ID, Place: m.Place, SKU: m.SKU, Quantity: m.Quantity}, string(blob), commands.MoveForm, "moves")
}

// take takes the units of w by an entry of a form, which holds blob in a field.
func (g *Gate) take(ctx context.Context, w commands.Withdrawal, blob string, form int, field string) (commands.WithdrawVerdict, error) {
	lane := w.Place.Lane()
	l, err := g.runList(ctx, call{
		script: g.scripts.withdraw, batch: 1,
		keys: []string{g.keys.lane(lane), g.keys.journal(lane), g.keys.sale(w.Place), g.keys.stock(w.Place, w.SKU)},
		args: []any{g.opt.ProcessToken, w.ID, w.Quantity, blob, form, field},
	}, 5)
	if err != nil {
		return commands.WithdrawVerdict{}, err
	}
	return commands.WithdrawVerdict{
		Outcome: commands.WithdrawOutcome(number(l[0])), Available: number(l[1]), Quantity: number(l[2]), Epoch: number(l[3]), N: number(l[4]),
	}, nil
}
