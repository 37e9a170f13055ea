package simulation

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// shards is how many shards the views are kept in.
const shards = 2

// views are the read models of the log's database: rows, checkpoints, and the relay's
// place.
type views struct {
	orders map[string]orderRow
	// stocks are sums by stock stream: the checkpoint alone keeps an event from counting
	// twice.
	stocks map[string]domain.Account
	at     [shards]eventstore.Mark
	relay  eventstore.Mark
}

// orderRow is an order as its events say, and when its first was recorded.
type orderRow struct {
	domain.Order
	placedAt time.Time
}

func newViews() *views {
	return &views{orders: map[string]orderRow{}, stocks: map[string]domain.Account{}}
}

func (v *views) clone() *views {
	c := *v
	c.orders, c.stocks = maps.Clone(v.orders), maps.Clone(v.stocks)
	return &c
}

// apply folds records into rows.
func (v *views) apply(records []eventstore.Record) error {
	for i := range records {
		r := &records[i]
		ev, err := domain.Decode(r.Type, r.Schema, r.Payload)
		if err != nil {
			return fmt.Errorf("read the event at position %d: %w", r.Position, err)
		}
		switch {
		case strings.HasPrefix(r.Stream, "stock-"):
			v.stocks[r.Stream] = v.stocks[r.Stream].Fold(ev)
		case strings.HasPrefix(r.Stream, "order-"):
			row := v.orders[r.OrderID]
			switch {
			case r.Version <= row.Version:
				continue
			case r.Version > row.Version+1:
				return fmt.Errorf("order %s: version %d comes after %d", short(r.OrderID), r.Version, row.Version)
			case r.Version == 1:
				row.placedAt = r.RecordedAt
			}
			row.Order = row.FoldOrder(ev)
			v.orders[r.OrderID] = row
		}
	}
	return nil
}

// viewPort is the read models as a process has them.
type viewPort struct{ p *process }

var (
	_ commands.OrderView = viewPort{}
	_ commands.DueOrders = viewPort{}
)

func readViews[T any](ctx context.Context, v viewPort, what string, f func(*views) (T, error)) (T, error) {
	q := question{to: toViews, what: what, reads: true}
	return ask(ctx, v.p, q, func() (T, error) { return f(v.p.world.views) }, nil)
}

// Order is commands.OrderView's.
func (v viewPort) Order(ctx context.Context, id string) (commands.OrderAnswer, bool, error) {
	answer, err := readViews(ctx, v, "order "+short(id), func(rows *views) (commands.OrderAnswer, error) {
		row := rows.orders[id]
		return commands.OrderAnswer{Order: row.Order, PlacedAt: row.placedAt}, nil
	})
	return answer, answer.Version > 0, err
}

// OrdersOfBuyer is commands.OrderView's; all are on one page.
func (v viewPort) OrdersOfBuyer(ctx context.Context, sale, buyer string, limit int, _ string) (commands.OrderPage, error) {
	return readViews(ctx, v, "orders of "+buyer, func(rows *views) (commands.OrderPage, error) {
		var page commands.OrderPage
		for _, row := range rows.orders {
			if row.SaleID == sale && row.BuyerID == buyer {
				page.Orders = append(page.Orders, commands.OrderAnswer{Order: row.Order, PlacedAt: row.placedAt})
			}
		}
		slices.SortFunc(page.Orders, func(a, b commands.OrderAnswer) int {
			return cmp.Or(b.PlacedAt.Compare(a.PlacedAt), strings.Compare(b.ID, a.ID))
		})
		page.Orders = page.Orders[:min(limit, len(page.Orders))]
		return page, nil
	})
}

// Due is commands.DueOrders'.
func (v viewPort) Due(ctx context.Context, after commands.Due, max int) ([]commands.Due, error) {
	return readViews(ctx, v, "due orders", func(rows *views) ([]commands.Due, error) {
		order := func(a, b commands.Due) int {
			return cmp.Or(a.PayBy.Compare(b.PayBy), strings.Compare(a.Order, b.Order))
		}
		var due []commands.Due
		for id, row := range rows.orders {
			d := commands.Due{Order: id, PayBy: row.PayBy}
			if row.Status == domain.OrderStatusPlaced && !row.PayBy.After(time.Now()) && order(d, after) > 0 {
				due = append(due, d)
			}
		}
		slices.SortFunc(due, order)
		return due[:min(max, len(due))], nil
	})
}

// SetAside is commands.DueOrders': nothing is set aside here.
func (v viewPort) SetAside(context.Context, string, int) ([]string, error) { return nil, nil }

// Load is the relay's place.
func (v viewPort) Load(ctx context.Context) (eventstore.Mark, error) {
	return readViews(ctx, v, "place of the relay", func(rows *views) (eventstore.Mark, error) { return rows.relay, nil })
}

// Save moves the relay's place forward.
func (v viewPort) Save(ctx context.Context, at eventstore.Mark) error {
	q := question{to: toViews, what: "save the place of the relay", patient: true}
	_, err := ask(ctx, v.p, q, func() (struct{}, error) {
		if rows := v.p.world.views; at.Number > rows.relay.Number {
			rows.relay = at
		}
		return struct{}{}, nil
	}, func(struct{}) string { return fmt.Sprintf("relayed up to %d", at.Number) })
	return err
}
