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
	lane := w.Place.Lane()
	l, err := g.runList(ctx, call{
		script: g.scripts.withdraw, batch: 1,
		keys: []string{g.keys.lane(lane), g.keys.journal(lane), g.keys.sale(w.Place), g.keys.stock(w.Place, w.SKU)},
		args: []any{g.opt.ProcessToken, w.ID, w.Quantity, string(blob)},
	}, 5)
	if err != nil {
		return commands.WithdrawVerdict{}, err
	}
	return commands.WithdrawVerdict{
		Outcome: commands.WithdrawOutcome(number(l[0])), Available: number(l[1]), Quantity: number(l[2]), Epoch: number(l[3]), N: number(l[4]),
	}, nil
}
