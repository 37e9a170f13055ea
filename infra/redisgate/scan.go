package redisgate

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"seckill/commands"
	"seckill/domain"
)

// ScanOrders pages through a sale's record: see commands.Scanner.
func (g *Gate) ScanOrders(ctx context.Context, place domain.Place, from string, max int) (commands.OrdersPage, error) {
	var page commands.OrdersPage
	next, err := g.scan(ctx, g.keys.sale(place), from, max, func(field, value string) {
		switch kind, name, _ := strings.Cut(field, ":"); kind {
		case "o":
			page.Orders = append(page.Orders, orderRecord(name, value))
		case "b":
			page.Buyers = append(page.Buyers, commands.ScannedBuyer{Buyer: name, Orders: splitList(value)})
		case "k", "t":
			page.Uses = append(page.Uses, use(commands.Use{Ticket: kind == "t", Name: name}, value))
		}
	})
	page.Next = next
	return page, err
}

// ScanHolds pages through a stock hash: see commands.Scanner.
func (g *Gate) ScanHolds(ctx context.Context, place domain.Place, sku, from string, max int) (commands.HoldsPage, error) {
	var page commands.HoldsPage
	next, err := g.scan(ctx, g.keys.stock(place, sku), from, max, func(field, value string) {
		if id, ok := strings.CutPrefix(field, "h:"); ok {
			page.Holds = append(page.Holds, hold(id, value))
		}
	})
	page.Next = next
	return page, err
}

// scanTries is how often a page is asked for: a large sale has thousands of them, and
// one late answer is not to undo all.
const scanTries = 5

// scan reads a page of a hash with HSCAN: it blocks the server for about max
// fields, however large the hash is.
func (g *Gate) scan(ctx context.Context, key, from string, max int, each func(field, value string)) (next string, err error) {
	var cursor uint64
	if from != "" {
		if cursor, err = strconv.ParseUint(from, 10, 64); err != nil {
			return "", nothing(fmt.Errorf("scan on from %q: not a place of a scan", from))
		}
	}
	var pairs []string
	for try := 1; ; try++ {
		var at uint64
		if pairs, at, err = g.at(laneOf(key)).rest.HScan(ctx, key, cursor, "", int64(max)).Result(); err == nil {
			cursor = at
			break
		}
		if try == scanTries || ctx.Err() != nil {
			return "", nothing(fmt.Errorf("scan what the gate holds: %w", err)) // it only reads
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		each(pairs[i], pairs[i+1])
	}
	if cursor == 0 {
		return "", nil
	}
	return strconv.FormatUint(cursor, 10), nil
}

// Records reads what the gate holds of some orders: see commands.Scanner.
func (g *Gate) Records(ctx context.Context, place domain.Place, skus []string, of []commands.OrderOf) (commands.GateRecords, error) {
	lane := place.Lane()
	args := []any{g.opt.ProcessToken}
	for _, o := range of {
		args = append(args, o.Order, o.Buyer)
	}
	l, err := g.runList(ctx, call{
		script: g.scripts.records, batch: len(of), args: args,
		keys: append([]string{g.keys.lane(lane), g.keys.journal(lane), g.keys.sale(place)}, g.keys.stocks(place, skus)...),
	}, 3+len(skus))
	if err != nil {
		return commands.GateRecords{}, err
	}
	records := commands.GateRecords{Peeked: peeked(l, len(skus)), Orders: make([]commands.GateRecord, len(of))}
	answers := list(l[2+len(skus)])
	for i, o := range of {
		r := commands.GateRecord{Record: commands.ScannedOrder{Order: o.Order, State: commands.OrderUnknown}, Holds: make([]commands.ScannedHold, len(skus))}
		var one []any
		if i < len(answers) {
			one = list(answers[i])
		}
		if len(one) == 2+len(skus) {
			if text(one[0]) != "" {
				r.Record = orderRecord(o.Order, text(one[0]))
			}
			r.Listed = slices.Contains(splitList(text(one[1])), o.Order)
			for s := range skus {
				r.Holds[s] = hold(o.Order, text(one[2+s]))
			}
		}
		records.Orders[i] = r
	}
	return records, nil
}

// peeked reads the answer of peek.lua.
func peeked(l []any, stocks int) commands.Peeked {
	p := commands.Peeked{Lane: laneState(l[0]), Stocks: make([]commands.StockHash, stocks)}
	if s := list(l[1]); len(s) == 3 {
		p.Sale = commands.SaleHash{State: hashState(s[0]), Applied: mark(s[1]), Held: text(s[2]) != ""}
	}
	for i := range stocks {
		if s := list(l[i+2]); len(s) == 4 {
			p.Stocks[i] = commands.StockHash{State: hashState(s[0]), Applied: mark(s[1]), Available: number(s[2]), Token: text(s[3])}
		}
	}
	return p
}

// orderRecord reads letter|entry|items|buyer.
func orderRecord(order, value string) commands.ScannedOrder {
	parts := strings.SplitN(value, "|", 4)
	if len(parts) != 4 {
		return commands.ScannedOrder{Order: order}
	}
	return commands.ScannedOrder{Order: order, State: orderState(parts[0]), Entry: entryID(parts[1]), SKUs: splitList(parts[2]), Buyer: parts[3]}
}

// hold reads letter|quantity|buyer.
func hold(id, value string) commands.ScannedHold {
	h := commands.ScannedHold{ID: id}
	parts := strings.SplitN(value, "|", 3)
	if len(parts) != 3 {
		return h
	}
	switch parts[0] {
	case "T":
		h.State = domain.HoldTaken
	case "R":
		h.State = domain.HoldReturned
	case "X":
		h.State = domain.HoldRefused
	}
	h.Quantity, h.Buyer = number(parts[1]), parts[2]
	return h
}

func splitList(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}
