package commands

import (
	"strings"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// addOrder brings the stream of an order forward, and what it makes of the views.
func (b *books) addOrder(r *eventstore.Record, ev domain.Event) {
	id := strings.TrimPrefix(r.Stream, "order-")
	o := b.order(id)
	state := domain.Order{Status: o.status.domain(), RefundDue: o.refund}.FoldOrder(ev)
	o.status, o.refund = statusOf(state.Status), state.RefundDue
	if r.Version == 1 {
		b.firstOf(o, r, state, ev)
	}
	if r.Position <= b.claimsAt {
		o.atClaims = o.status
	}
	if r.OrderID != "" && b.inView("order_view", b.views.OrderView, r) {
		o.folded = viewRow{version: int32(r.Version), status: o.status, units: int32(o.units), refund: o.refund, position: r.Position, digest: o.digest}
	}
	if b.inView("sale_summary", b.views.Summary, r) {
		b.summarise(r.Shard(b.views.Shards), ev, o)
	}
}

// firstOf notes what the first event of an order decides.
func (b *books) firstOf(o *orderBook, r *eventstore.Record, state domain.Order, ev domain.Event) {
	if o.claim.n > 0 && o.buyer != state.BuyerID {
		o.claim.stranger = true
	}
	if o.byList && o.buyer != state.BuyerID {
		b.lists[state.ID] = append(b.lists[state.ID], o.buyer)
	}
	o.mixed = o.mixed || (o.buyer != "" && o.buyer != state.BuyerID)
	o.byList = false
	o.buyer, o.placed, o.bucket = state.BuyerID, state.Status == domain.OrderStatusPlaced, int16(state.Bucket)
	o.units = lineUnits(state)
	if !state.PayBy.IsZero() {
		o.payBy = state.PayBy.Unix()
	}
	o.digest = OrderDigest(OrderAnswer{Order: state, PlacedAt: r.RecordedAt, TraceID: traceOf(r)})
	if placed, ok := ev.(*domain.OrderPlaced); ok {
		o.ordinal, o.key = int32(placed.Ordinal), keyDigest(placed.Key, placed.BodyHash)
	}
}

// inView tells whether a view that stood at these positions had applied a record.
func (b *books) inView(projection string, at []int64, r *eventstore.Record) bool {
	if len(at) == 0 || r.Position > at[r.Shard(len(at))] {
		return false
	}
	first, aside := b.parked[projection][r.SequenceKey()]
	return !aside || r.Position < first
}

// summarise adds what an event did to an order: what is placed to the row of its
// currency, everything else to that of none.
func (b *books) summarise(shard int, ev domain.Event, o *orderBook) {
	key, c := countsKey{shard: shard}, ViewCounts{}
	switch ev := ev.(type) {
	case *domain.OrderPlaced:
		key.currency = ev.Amount.Currency
		c.Placed, c.Units, c.Amount.Minor = 1, o.units, ev.Amount.Minor
	case *domain.OrderRejected:
		c.Rejected = 1
	case *domain.OrderPaid:
		c.Paid = 1
	case *domain.OrderCancelled:
		c.Cancelled = 1
	case *domain.OrderExpired:
		c.Expired = 1
	}
	b.count[key] = b.count[key].plus(c)
}

func lineUnits(o domain.Order) int64 {
	var n int64
	for _, l := range o.Lines {
		n += l.Quantity
	}
	return n
}

// overdue tells whether an order that waits for its payment should long be over.
func (o *orderBook) overdue(now time.Time, grace time.Duration) bool {
	return o.status.domain() == domain.OrderStatusPlaced && o.payBy > 0 && now.Unix() > o.payBy+int64(grace.Seconds())
}
