package simulation

import (
	"fmt"
	"strings"

	"seckill/domain"
	"seckill/eventstore"
)

// book is what the log says, folded record by record and checked on the way: by rules
// written here, not by what the commands believe.
type book struct {
	head     eventstore.Mark
	versions map[string]int64
	sale     domain.Sale
	accounts map[string]domain.Account // by stock stream
	orders   map[string]domain.Order
	decided  map[string]int // how often, by order
	holds    map[hold]held
}

// hold names the units of an order in a stock stream.
type hold struct{ stream, order string }

// held is how many units were reserved, and how many of them given back.
type held struct{ reserved, returned int64 }

func newBook() *book {
	return &book{
		versions: map[string]int64{}, accounts: map[string]domain.Account{}, orders: map[string]domain.Order{},
		decided: map[string]int{}, holds: map[hold]held{},
	}
}

// add folds the next record, and says what is wrong with it.
func (b *book) add(r *eventstore.Record) error {
	if err := eventstore.CheckNext(b.head, r); err != nil {
		return fmt.Errorf("C6: %w", err)
	}
	b.head = r.Head()
	if r.Version != b.versions[r.Stream]+1 {
		return fmt.Errorf("C6: %s has version %d after %d", short(r.Stream), r.Version, b.versions[r.Stream])
	}
	b.versions[r.Stream] = r.Version
	ev, err := domain.Decode(r.Type, r.Schema, r.Payload)
	switch {
	case err != nil:
		return fmt.Errorf("C6: position %d: %w", r.Position, err)
	case strings.HasPrefix(r.Stream, "sale-"):
		b.sale = b.sale.FoldSale(ev)
	case strings.HasPrefix(r.Stream, "stock-"):
		return b.stock(r, ev)
	case strings.HasPrefix(r.Stream, "order-"):
		return b.order(r, ev)
	}
	return nil
}

// stock folds an event of a stock: no more is taken than there is, and what an order
// took comes back once.
func (b *book) stock(r *eventstore.Record, ev domain.Event) error {
	account := b.accounts[r.Stream].Fold(ev)
	b.accounts[r.Stream] = account
	if account.Left() < 0 {
		return fmt.Errorf("C1: oversold: at position %d %s has %d units left", r.Position, r.Stream, account.Left())
	}
	at := hold{r.Stream, r.OrderID}
	h := b.holds[at]
	switch e := ev.(type) {
	case *domain.StockReserved:
		h.reserved += e.Quantity
		if h.reserved != e.Quantity {
			return fmt.Errorf("C1: order %s takes units of %s twice", short(r.OrderID), r.Stream)
		}
	case *domain.StockReturned:
		h.returned += e.Quantity
		if h.returned != e.Quantity || h.returned != h.reserved {
			return fmt.Errorf("C2: order %s gave back %d units of %s, and took %d", short(r.OrderID), h.returned, r.Stream, h.reserved)
		}
	default:
		return nil
	}
	b.holds[at] = h
	return nil
}

// order folds an event of an order: it is decided once, and its buyer keeps to the limit.
func (b *book) order(r *eventstore.Record, ev domain.Event) error {
	id := strings.TrimPrefix(r.Stream, "order-")
	o := b.orders[id].FoldOrder(ev)
	b.orders[id] = o
	switch ev.(type) {
	case *domain.OrderPlaced:
		b.decided[id]++
	case *domain.OrderRejected:
		b.decided[id]++
	default:
		return nil
	}
	if b.decided[id] > 1 {
		return fmt.Errorf("C3: order %s is decided twice", short(id))
	}
	var units int64
	live := 0
	for _, other := range b.orders {
		if other.BuyerID == o.BuyerID && other.Standing() == domain.Live && other.Status != "" {
			live++
			for _, l := range other.Lines {
				units += l.Quantity
			}
		}
	}
	if units > b.sale.Terms.LimitPerBuyer || live > b.sale.Terms.OrdersPerBuyer {
		return fmt.Errorf("C5: buyer %s holds %d units in %d orders, the limit is %d in %d", o.BuyerID, units, live,
			b.sale.Terms.LimitPerBuyer, b.sale.Terms.OrdersPerBuyer)
	}
	return nil
}

// left gives the units that the log has left of an item in all buckets.
func (b *book) left(sku string) (n int64) {
	for stream, a := range b.accounts {
		if key, err := domain.ParseStockStream(stream); err == nil && key.SKU == sku {
			n += a.Left()
		}
	}
	return n
}
