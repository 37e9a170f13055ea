package redisgate

import (
	"context"
	"strings"

	"seckill/commands"
	"seckill/domain"
)

func keyField(key string) string { return "k:" + key }

func fieldOf(u commands.Use) string {
	if u.Ticket {
		return ticketField(u.Name)
	}
	return keyField(u.Name)
}

// use reads what stands in the field of a key (order|body) or of a ticket (order).
func use(u commands.Use, value string) commands.ScannedUse {
	s := commands.ScannedUse{Use: u, Order: value}
	if !u.Ticket {
		s.Order, s.Body, _ = strings.Cut(value, "|")
	}
	return s
}

// Uses reads what the gate has of some keys and tickets: see commands.Scanner.
func (g *Gate) Uses(ctx context.Context, place domain.Place, skus []string, of []commands.Use) (commands.GateUses, error) {
	lane := place.Lane()
	args := []any{g.opt.ProcessToken}
	for _, u := range of {
		args = append(args, fieldOf(u))
	}
	l, err := g.runList(ctx, call{
		script: g.scripts.uses, batch: len(of), args: args,
		keys: append([]string{g.keys.lane(lane), g.keys.journal(lane), g.keys.sale(place)}, g.keys.stocks(place, skus)...),
	}, 3+len(skus))
	if err != nil {
		return commands.GateUses{}, err
	}
	uses := commands.GateUses{Peeked: peeked(l, len(skus)), Uses: make([]commands.GateUse, len(of))}
	answers := list(l[2+len(skus)])
	for i, u := range of {
		found := commands.GateUse{ScannedUse: commands.ScannedUse{Use: u}, State: commands.OrderUnknown}
		if i < len(answers) {
			if one := list(answers[i]); len(one) == 2 {
				found.ScannedUse = use(u, text(one[0]))
				if letter := text(one[1]); letter != "" {
					found.State = orderState(letter)
				}
			}
		}
		uses.Uses[i] = found
	}
	return uses, nil
}
