package memgate

import (
	"context"
	"strconv"

	"seckill/commands"
	"seckill/domain"
)

// Inspect reads all but what is of single buyers: see commands.Inspector.
func (g *Gate) Inspect(_ context.Context, place domain.Place, skus []string) (commands.Inspection, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.laneOf(place)
	seen := commands.Inspection{Peeked: g.peek(place, skus), Holds: make([]int64, len(skus))}
	for _, name := range commands.SaleFieldNames() {
		seen.Fields = append(seen.Fields, commands.SaleField{Name: name})
	}
	for i, sku := range skus {
		if k := l.stockOf(place, sku); k != nil {
			seen.Holds[i] = int64(len(k.units.Holds))
		}
	}
	s := l.sales[place]
	if s == nil {
		return seen, nil
	}
	seen.OfBuyers = int64(len(s.orders) + len(s.buyers) + len(s.keys) + len(s.tickets))
	if s.hold != domain.Reserved {
		seen.Hold = strconv.Itoa(int(s.hold))
	}
	if s.applied.Number == 0 {
		return seen, nil
	}
	fields, err := commands.SaleFields(s.fold)
	if err != nil {
		return commands.Inspection{}, nothing(err)
	}
	seen.Fields = fields
	return seen, nil
}
