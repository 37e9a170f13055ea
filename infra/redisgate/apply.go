package redisgate

import (
	"context"
	"fmt"

	"seckill/commands"
	"seckill/domain"
)

// ApplyStock brings a page into its stock hash: see commands.Applier. A long
// page goes in several calls; Applied tells how far it came. Concurrent pages of a
// lane share script calls.
func (g *Gate) ApplyStock(ctx context.Context, p commands.StockPage) (commands.Applied, error) {
	args, err := stockArgs(p)
	if err != nil {
		return commands.Applied{}, nothing(err)
	}
	from, rest, flat := p.From, p.Events, args
	for {
		n := min(len(rest), applyBound)
		to := from
		if n > 0 {
			to = rest[n-1].At
		}
		done, err := g.applyPart(ctx, &part{page: &p, from: from, to: to, events: n, flat: flat[:n*eventArgs], done: make(chan struct{})})
		if err != nil || !done.Done || n == len(rest) {
			return done, err
		}
		from, rest, flat = to, rest[n:], flat[n*eventArgs:]
	}
}

// eventArgs is how many arguments describe an event to the script.
const eventArgs = 8

// stockArgs writes the events of a page as the script reads them.
func stockArgs(p commands.StockPage) ([]any, error) {
	changes, err := p.Changes()
	if err != nil {
		return nil, err
	}
	args := make([]any, 0, len(changes)*eventArgs)
	for _, c := range changes {
		args = append(args, string(c.Kind), c.ID, c.Quantity, c.Buyer, c.Entry, c.Key, c.BodyHash, c.Ticket)
	}
	return args, nil
}

// ApplySale brings a sale's record forward: see commands.Applier.
func (g *Gate) ApplySale(ctx context.Context, p commands.SalePage) (commands.Applied, error) {
	fields, err := commands.SaleFields(p.Sale)
	if err != nil {
		return commands.Applied{}, nothing(err)
	}
	args := []any{p.From.String(), p.To.String()}
	for _, f := range fields {
		args = append(args, f.Name, f.Value)
	}
	l, err := g.runList(ctx, call{script: g.scripts.applySale, batch: 1, keys: []string{g.keys.sale(p.Place)}, args: args}, 3)
	if err != nil {
		return commands.Applied{}, err
	}
	return applied(l), nil
}

func applied(l []any) commands.Applied {
	return commands.Applied{Done: number(l[0]) == 1, State: hashState(l[1]), Applied: mark(l[2])}
}

// Hold sets a stopping action: see commands.Holder. Ended is not weakened to
// Paused by a later call.
func (g *Gate) Hold(ctx context.Context, place domain.Place, outcome domain.Outcome) error {
	if outcome != domain.Paused && outcome != domain.Ended {
		return nothing(fmt.Errorf("hold sale %s: %s stops nothing", place.Sale, outcome))
	}
	_, err := g.runFlag(ctx, call{script: g.scripts.hold, batch: 1, keys: []string{g.keys.sale(place)}, args: []any{int(outcome)}})
	return err
}
