package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"seckill/domain"
)

// pollEvery is how often buyers look for an order that is not decided.
const pollEvery = time.Second

// pollUndecided lets the buyers of orders that are not decided ask for them, as a page
// does that waits: what no store knows any more is found out by asking.
func (w *World) pollUndecided() {
	left := 0
	for _, id := range slices.Sorted(maps.Keys(w.acks)) {
		if w.book.decided[id] > 0 {
			continue
		}
		left++
		w.poll(id, w.acks[id])
	}
	if left > 0 {
		w.after(pollEvery, "", w.pollUndecided)
	}
}

func (w *World) poll(id string, a *ack) {
	p := w.anyAPI()
	if p == nil {
		return
	}
	a.polls++
	w.act(p, fmt.Sprintf("%s.poll%d.%s", a.buyer.name, a.polls, short(id)), func(ctx context.Context) func() {
		answer, err := p.finder.Find(ctx, a.buyer.name, id)
		return func() {
			w.tracef("%s: %s says of order %s: %s %s %v", a.buyer.name, p.name, short(id), answer.Status, answer.WaitingFor, err)
		}
	}, func() {})
}

// sellWithin bounds how long the sale of one unit may take in good weather, in virtual
// time.
const sellWithin = 30 * time.Second

// sellOut sells what is left, unit by unit, to buyers who have bought nothing yet: a unit
// that nobody can buy is lost.
func (w *World) sellOut() {
	w.lateOnly = true
	for _, sku := range w.skus() {
		for w.violation == "" && w.book.left(sku) > 0 {
			before := w.book.left(sku)
			b := w.newBuyer(fmt.Sprintf("late%02d", len(w.buyers)))
			b.late, b.lines = true, []domain.Line{{SKU: sku, Quantity: 1}}
			w.click(b)
			w.run(time.Now().Add(sellWithin), func() bool { return w.hasPlaced(b) })
			if w.violation == "" && !w.hasPlaced(b) {
				w.violate("liveness: of %d units of %s that are left one is not sold in %s of good weather", before, sku, sellWithin)
			}
			w.pay(b)
		}
	}
}

// hasPlaced tells whether the log has placed the order of a buyer.
func (w *World) hasPlaced(b *buyer) bool {
	return b.order != "" && w.book.decided[b.order] > 0 && w.book.orders[b.order].Status != domain.OrderStatusRejected
}

// pay pays what was bought, so that it does not expire meanwhile.
func (w *World) pay(b *buyer) {
	if w.violation == "" {
		w.end(b, b.order, "pay", 1)
	}
}
