package simulation

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// records gives the whole log.
func (w *World) records() []eventstore.Record {
	all, err := w.store.ReadAll(background, 0, 1<<30)
	if err != nil {
		panic(err) // only a context that ended is an error
	}
	return all
}

// changed checks the world after an effect.
func (w *World) changed(to target) {
	switch to {
	case toLog:
		w.readBook()
	case toGate:
		w.writes++
	default:
		return
	}
	w.checkCuts()
}

// readBook folds what is new in the log.
func (w *World) readBook() {
	fresh, err := w.store.ReadAll(background, w.book.head.Number, 1<<30)
	if err != nil {
		panic(err)
	}
	for i := range fresh {
		r := &fresh[i]
		if err := w.book.add(r); err != nil {
			w.violate("%v", err)
			return
		}
		w.count(r)
		if r.Type == (&domain.OrderRejected{}).EventType() {
			w.checkRejected(r.OrderID)
		}
	}
}

func (w *World) count(r *eventstore.Record) {
	switch r.Type {
	case (&domain.OrderPlaced{}).EventType():
		w.stats.Placed++
	case (&domain.OrderRejected{}).EventType():
		w.stats.Rejected++
	case (&domain.StockReturned{}).EventType():
		w.stats.Returned++
	}
}

// took notes that the gate took the units of an order.
func (w *World) took(order string) {
	w.stats.Accepted++
	w.accepted[order] = acceptance{w.stats.GateFalls}
}

// checkRejected: what the gate accepted, and has not forgotten since, is kept, unless the log
// ever forgot: a gate that is ahead of it may sell units that are not on sale there.
func (w *World) checkRejected(order string) {
	at, known := w.accepted[order]
	if known && at.gateFalls == w.stats.GateFalls && w.stats.LogFalls == 0 {
		w.violate("C3: order %s is rejected (%s), and the gate that accepted it has forgotten nothing since", short(order), w.book.orders[order].Reason)
	}
}

// places lists the buckets of the sale.
func (w *World) places() []domain.Place {
	all := make([]domain.Place, w.terms.Buckets)
	for b := range all {
		all[b] = domain.Place{Store: storeNumber, Sale: w.sale, Bucket: b}
	}
	return all
}

func (w *World) skus() []string {
	var all []string
	for _, item := range w.terms.Items {
		all = append(all, item.SKU)
	}
	return all
}

func (w *World) peek(place domain.Place) commands.Peeked {
	seen, err := w.gate.Peek(background, place, w.skus())
	if err != nil {
		panic(err) // a gate in memory always answers
	}
	return seen
}

// selling tells whether every bucket sells.
func (w *World) selling() bool {
	if w.sale == "" {
		return false
	}
	for _, place := range w.places() {
		seen := w.peek(place)
		if !seen.Lane.Selling() || seen.Sale.State != commands.HashOpen {
			return false
		}
		for _, stock := range seen.Stocks {
			if stock.State != commands.HashOpen {
				return false
			}
		}
	}
	return true
}

// unquiet says what is still under way; "" when nothing is.
func (w *World) unquiet() string {
	for _, place := range w.places() {
		if why := w.unquietBucket(place); why != "" {
			return fmt.Sprintf("bucket %d: %s", place.Bucket, why)
		}
	}
	for i, at := range w.views.at {
		if at != w.book.head {
			return fmt.Sprintf("shard %d of the views is at %d, the log at %d", i, at.Number, w.book.head.Number)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.acks)) {
		if w.book.decided[id] == 0 && !w.orphan(id) {
			return "order " + short(id) + " was acknowledged, and is not decided"
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.book.orders)) {
		if o := w.book.orders[id]; o.Status == domain.OrderStatusPlaced && o.PayBy.Before(time.Now().Add(time.Minute)) {
			return "order " + short(id) + " waits for its payment, or its end"
		}
	}
	if w.acting > 0 {
		return "somebody waits for an answer"
	}
	return ""
}

// orphan tells whether an order is known to the gate's record alone, after both stores
// fell back: the journal of an older gate does not hold it, and the log that had it, from
// which the gate had learned of it again, is gone. Such an order stays queued until a
// reconciliation finds it.
func (w *World) orphan(order string) bool {
	ref, err := domain.ParseOrderID(order)
	if err != nil || w.stats.GateFalls == 0 || w.stats.LogFalls == 0 {
		return false
	}
	entries, err := w.gate.ReadLane(background, ref.Lane, domain.EntryID{}, 1<<30)
	if err != nil {
		panic(err)
	}
	for i := range entries {
		for _, t := range w.takenBy(&entries[i]) {
			if t.id == order {
				return false
			}
		}
	}
	known, err := w.gate.Order(background, ref)
	return err == nil && (known.State == commands.OrderAccepted || known.State == commands.OrderEnded)
}

func (w *World) unquietBucket(place domain.Place) string {
	seen := w.peek(place)
	cursors, err := w.store.Cursors(background, []int{place.Lane()})
	if err != nil {
		panic(err)
	}
	sale, err := w.store.States(background, []string{domain.SaleStream(place.Sale)})
	if err != nil {
		panic(err)
	}
	switch c := cursors[0]; {
	case !seen.Lane.Selling():
		return "its lane does not sell"
	case c.Epoch != seen.Lane.Epoch || c.N != seen.Lane.N || c.Digest != seen.Lane.Digest:
		return fmt.Sprintf("its lane is at %d-%d, the cursor at %d-%d", seen.Lane.Epoch, seen.Lane.N, c.Epoch, c.N)
	case seen.Sale.State != commands.HashOpen, seen.Sale.Held, seen.Sale.Applied != (eventstore.Mark{Number: sale[0].Version, Hash: sale[0].Hash}):
		return "its record of the sale is behind the log"
	}
	for i, sku := range w.skus() {
		stream := domain.StockStream(place.Sale, sku, place.Bucket)
		head, err := w.store.States(background, []string{stream})
		if err != nil {
			panic(err)
		}
		if s := seen.Stocks[i]; s.State != commands.HashOpen || s.Applied != (eventstore.Mark{Number: head[0].Version, Hash: head[0].Hash}) {
			return "its stock of " + sku + " is behind the log"
		}
	}
	return ""
}

// finalChecks: everything is quiet, so gate, guards and views say what the log says, and
// every unit is sold.
func (w *World) finalChecks() {
	if w.violation != "" {
		return
	}
	for _, place := range w.places() {
		seen := w.peek(place)
		for i, sku := range w.skus() {
			stream := domain.StockStream(place.Sale, sku, place.Bucket)
			account := w.book.accounts[stream]
			guards, err := w.store.Guards(background, []string{stream})
			if err != nil {
				panic(err)
			}
			if got := seen.Stocks[i].Available; got != account.Left() || guards[0].Left() != account.Left() {
				w.violate("C2: %s has %d left in the log, %d in the gate, %d by its guard", stream, account.Left(), got, guards[0].Left())
			}
			if got := w.views.stocks[stream]; got != account {
				w.violate("C4: the view has %+v of %s, the log %+v", got, stream, account)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.book.orders)) {
		want := w.book.orders[id]
		if got := w.views.orders[id]; got.Status != want.Status || got.Version != want.Version {
			w.violate("C4: the view says %s of order %s, the log %s", got.Status, short(id), want.Status)
		}
	}
	for _, sku := range w.skus() {
		if left := w.book.left(sku); left != 0 {
			w.violate("liveness: %d units of %s are left, and nobody could buy them", left, sku)
		}
	}
}
