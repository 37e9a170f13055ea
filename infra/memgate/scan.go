package memgate

import (
	"context"
	"iter"
	"maps"
	"slices"

	"seckill/commands"
	"seckill/domain"
)

// ScanOrders pages through a sale's record: see commands.Scanner.
func (g *Gate) ScanOrders(_ context.Context, place domain.Place, from string, max int) (commands.OrdersPage, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var page commands.OrdersPage
	s := g.laneOf(place).sales[place]
	if s == nil {
		return page, nil
	}
	var some []string
	some, page.Next = pageOf(s.names(), from, max)
	for _, name := range some {
		switch id := name[2:]; {
		case name[0] == 'o':
			page.Orders = append(page.Orders, s.scanned(place, id, g.laneOf(place)))
		case name[0] != 'b':
			page.Uses = append(page.Uses, s.use(commands.Use{Ticket: name[0] == 't', Name: id}))
		case len(s.buyers[id]) > 0:
			page.Buyers = append(page.Buyers, commands.ScannedBuyer{Buyer: id, Orders: slices.Clone(s.buyers[id])})
		}
	}
	return page, nil
}

// scanned gives the record of an order; its items are those that hold it.
func (s *sale) scanned(place domain.Place, id string, l *lane) commands.ScannedOrder {
	o, ok := s.orders[id]
	if !ok {
		return commands.ScannedOrder{Order: id, State: commands.OrderUnknown}
	}
	r := commands.ScannedOrder{Order: id, State: o.state, Entry: o.entry, Buyer: o.buyer}
	for key, k := range l.stocks {
		if _, held := k.units.Holds[id]; held && key.Sale == place.Sale && key.Bucket == place.Bucket {
			r.SKUs = append(r.SKUs, key.SKU)
		}
	}
	slices.Sort(r.SKUs)
	return r
}

// ScanHolds pages through a stock hash: see commands.Scanner.
func (g *Gate) ScanHolds(_ context.Context, place domain.Place, sku, from string, max int) (commands.HoldsPage, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var page commands.HoldsPage
	k := g.laneOf(place).stockOf(place, sku)
	if k == nil {
		return page, nil
	}
	var some []string
	some, page.Next = pageOf(maps.Keys(k.units.Holds), from, max)
	for _, id := range some {
		page.Holds = append(page.Holds, k.scanned(id))
	}
	return page, nil
}

func (s *stock) scanned(id string) commands.ScannedHold {
	h := s.units.Holds[id]
	return commands.ScannedHold{ID: id, State: h.State, Quantity: h.Quantity, Buyer: h.Buyer}
}

// pageOf gives the next names in order after one.
func pageOf(names iter.Seq[string], after string, max int) (page []string, next string) {
	all := slices.Sorted(names)
	at, found := slices.BinarySearch(all, after)
	if found {
		at++
	}
	page = all[at:]
	if len(page) > max {
		page = page[:max]
		next = page[max-1]
	}
	return page, next
}

// Records reads what the gate holds of some orders: see commands.Scanner.
func (g *Gate) Records(ctx context.Context, place domain.Place, skus []string, of []commands.OrderOf) (commands.GateRecords, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.laneOf(place)
	records := commands.GateRecords{Peeked: g.peek(place, skus), Orders: make([]commands.GateRecord, len(of))}
	s := l.sales[place]
	for i, o := range of {
		r := commands.GateRecord{Record: commands.ScannedOrder{Order: o.Order, State: commands.OrderUnknown}, Holds: make([]commands.ScannedHold, len(skus))}
		if s != nil {
			r.Record = s.scanned(place, o.Order, l)
			r.Listed = slices.Contains(s.buyers[o.Buyer], o.Order)
		}
		for j, sku := range skus {
			r.Holds[j] = commands.ScannedHold{ID: o.Order}
			if k := l.stockOf(place, sku); k != nil {
				r.Holds[j] = k.scanned(o.Order)
			}
		}
		records.Orders[i] = r
	}
	return records, nil
}
