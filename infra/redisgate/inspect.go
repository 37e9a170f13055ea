package redisgate

import (
	"context"
	"fmt"

	"seckill/commands"
	"seckill/domain"
)

// Inspect reads all but what is of single buyers: see commands.Inspector.
func (g *Gate) Inspect(ctx context.Context, place domain.Place, skus []string) (commands.Inspection, error) {
	names := commands.SaleFieldNames()
	args := []any{g.opt.ProcessToken}
	for _, name := range names {
		args = append(args, name)
	}
	lane := place.Lane()
	l, err := g.runList(ctx, call{
		script: g.scripts.inspect, batch: 1, args: args,
		keys: append([]string{g.keys.lane(lane), g.keys.journal(lane), g.keys.sale(place)}, g.keys.stocks(place, skus)...),
	}, 5+len(skus))
	if err != nil {
		return commands.Inspection{}, err
	}
	seen := commands.Inspection{Peeked: peeked(l, len(skus)), Hold: text(list(l[1])[2]), Holds: make([]int64, len(skus))}
	values, counts := list(l[2+len(skus)]), list(l[4+len(skus)])
	if len(values) != len(names) || len(counts) != len(skus) {
		return commands.Inspection{}, fmt.Errorf("read the answer of script inspect: got %d values and %d counts for %d fields and %d items",
			len(values), len(counts), len(names), len(skus))
	}
	for i, name := range names {
		seen.Fields = append(seen.Fields, commands.SaleField{Name: name, Value: text(values[i])})
	}
	seen.OfBuyers = number(l[3+len(skus)])
	for i := range skus {
		seen.Holds[i] = number(counts[i])
	}
	return seen, nil
}
