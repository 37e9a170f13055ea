package properties

import (
	"fmt"
	"slices"
	"time"

	"seckill/domain"
)

// model is what a person with the contract in hand expects of the sale.
type model struct {
	terms
	sale     string
	released map[string]int64 // units that were put on sale and not withdrawn
	orders   []*order         // in the order they were accepted
	paused   bool
	ended    bool // by a switch: it may go on
	closed   bool
	// shaken: a store fell, or a connection, and nobody has waited until all was well
	// again. Purchases may be refused meanwhile, but whatever is accepted counts.
	shaken bool
	// lost counts the times that Redis may have forgotten something.
	lost int
}

// order is an order that a buyer was told of.
type order struct {
	id, buyer, key string
	lines          []domain.Line
	status         domain.OrderStatus
	was            []domain.OrderStatus // every status it has had
	refund         bool
	recorded       bool     // the log has decided it, as far as anybody was told
	by             *process // who acknowledged it
	lost           int      // model.lost when it was accepted
	bought         int      // orders that were accepted before it
	unseen         bool     // it was told as one that nobody could see yet
}

func newModel(t terms) *model {
	m := &model{terms: t, released: map[string]int64{}}
	for i, sku := range skus() {
		m.released[sku] = t.Stock[i]
	}
	return m
}

// skus are the items of every sale here.
func skus() [2]string { return [2]string{"item", "other"} }

// window is the time to pay.
const window = 15 * time.Minute

const price = 1990 // of a unit of either item

func (m *model) saleTerms() domain.SaleTerms {
	t := domain.SaleTerms{
		Title: "Program", OpensAt: time.Now().Add(-time.Minute), ClosesAt: time.Now().Add(4 * time.Hour), AutoOpen: true,
		Strategy: m.Strategy, Buckets: m.Buckets, LimitPerBuyer: m.Limit, OrdersPerBuyer: m.Orders, Rebuy: m.Rebuy,
		PaymentWindow: int64(window.Seconds()),
	}
	for i, sku := range skus() {
		t.Items = append(t.Items, domain.ItemTerms{SKU: sku, Title: sku, Price: domain.Money{Minor: price, Currency: "CNY"}, Stock: m.Stock[i]})
	}
	return t
}

func (o *order) live() bool {
	return slices.Contains([]domain.OrderStatus{domain.OrderStatusQueued, domain.OrderStatusPlaced, domain.OrderStatusPaid}, o.status)
}

func (o *order) over() bool {
	return o.status == domain.OrderStatusCancelled || o.status == domain.OrderStatusExpired
}

func (o *order) units() int64 {
	var n int64
	for _, l := range o.lines {
		n += l.Quantity
	}
	return n
}

func (o *order) become(s domain.OrderStatus) {
	if o.status != s {
		o.status, o.was = s, append(o.was, s)
	}
	if s != domain.OrderStatusQueued {
		o.recorded = true
	}
}

func (m *model) left(sku string) int64 {
	n := m.released[sku]
	for _, o := range m.orders {
		for _, l := range o.lines {
			if l.SKU == sku && o.live() {
				n -= l.Quantity
			}
		}
	}
	return n
}

func (m *model) of(buyer string) []*order {
	var own []*order
	for _, o := range m.orders {
		if o.buyer == buyer {
			own = append(own, o)
		}
	}
	return own
}

func (m *model) find(id string) *order {
	for _, o := range m.orders {
		if o.id == id {
			return o
		}
	}
	return nil
}

// verdict is what a purchase must meet: an outcome, and the order where it meets one.
type verdict struct {
	outcome domain.Outcome
	order   *order
}

func (v verdict) String() string {
	if v.order != nil {
		return fmt.Sprintf("%s (order %s)", v.outcome, v.order.id)
	}
	return v.outcome.String()
}

// judge says what a purchase meets while all is well: key, repeat, end, pause, limit,
// stock, in this order.
func (m *model) judge(buyer, key string, lines []domain.Line) verdict {
	own := m.of(buyer)
	for _, o := range own {
		if key == "" || o.key != key || o.status == domain.OrderStatusRejected {
			continue
		}
		if !slices.Equal(o.lines, lines) {
			return verdict{outcome: domain.KeyMismatch}
		}
		return verdict{domain.SameOrder, o}
	}
	if met := m.repeat(own); met != nil {
		return verdict{domain.Repeat, met}
	}
	switch {
	case m.closed || m.ended:
		return verdict{outcome: domain.Ended}
	case m.paused:
		return verdict{outcome: domain.Paused}
	}
	var held, asked int64
	for _, o := range own {
		if o.live() {
			held += o.units()
		}
	}
	short := false
	for _, l := range lines {
		asked += l.Quantity
		short = short || m.left(l.SKU) < l.Quantity
	}
	switch {
	case held+asked > m.Limit:
		return verdict{outcome: domain.LimitExceeded}
	case short:
		return verdict{outcome: domain.SoldOut}
	}
	return verdict{outcome: domain.Reserved}
}

// repeat gives the order that a further purchase of a buyer with these meets.
func (m *model) repeat(own []*order) *order {
	live := 0
	var last, over *order
	for _, o := range own {
		switch {
		case o.live():
			live, last = live+1, o
		case o.over():
			over = o
		}
	}
	if live >= m.Orders {
		return last
	}
	if !m.Rebuy {
		return over
	}
	return nil
}

// forgettable tells whether an accepted order may end as one that nobody remembers:
// Redis forgot something after it was accepted and before the log had it, and who
// acknowledged it died, or sold its units, or its buyer's turn, to others meanwhile.
func (m *model) forgettable(o *order) bool {
	if o.recorded || m.Strategy.Gateless() && !o.unseen {
		return false
	}
	if o.unseen {
		return true
	}
	return m.lost > o.lost && (!o.by.alive() || m.boughtSince(o))
}

// boughtSince tells whether anything was accepted after Redis forgot something that
// o was accepted before.
func (m *model) boughtSince(o *order) bool {
	return slices.ContainsFunc(m.orders, func(other *order) bool { return other != o && other.lost > o.lost })
}
