package commands

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"seckill/domain"
	"seckill/eventstore"
)

// suspectsPage bounds how many orders one script looks at.
const suspectsPage = 100

// stranded is the units by which the gate's account of a stock is off because of
// orders that have a finding of their own; below zero where it holds too many.
type stranded map[string]int64

// judgeOrders compares what the gate holds of each order with the log. It gives
// what that explains of the gate's accounts.
func (r *reconciliation) judgeOrders(ctx context.Context) (stranded, error) {
	byPlace := map[domain.Place][]OrderOf{}
	for _, c := range r.books.cuts {
		byPlace[c.place] = nil
	}
	var suspects []string
	for _, id := range slices.Sorted(maps.Keys(r.books.orders)) {
		o := r.books.orders[id]
		place := r.placeOf(o)
		_, looked := byPlace[place]
		if looked && o.status == 0 && o.now.letter == 0 && o.inGate() && foreign(id, place) {
			r.report.found(strangeOrder(id, o, place))
			continue
		}
		if looked && o.suspect() && r.books.unread[domain.OrderStream(id)] == nil && PlainID(id) {
			suspects = append(suspects, id)
		}
	}
	for _, id := range r.few(suspects, "orders") {
		o := r.books.orders[id]
		byPlace[r.placeOf(o)] = append(byPlace[r.placeOf(o)], OrderOf{Order: id, Buyer: o.buyer})
	}
	off := stranded{}
	for _, c := range r.books.cuts {
		for page := range slices.Chunk(byPlace[c.place], suspectsPage) {
			if err := r.lookAgain(ctx, c, page, off); err != nil {
				return nil, err
			}
		}
	}
	return off, nil
}

// lookAgain reads what the gate holds of orders in one step, waits until every
// purchase of that moment is recorded, and judges each by what the log says then.
func (r *reconciliation) lookAgain(ctx context.Context, c cut, page []OrderOf, off stranded) error {
	records, err := r.recordsOf(ctx, c, page)
	if errors.Is(err, errOverdue) {
		return nil // named; nothing exact can be said of these before it is recorded
	}
	if err != nil {
		return err
	}
	for i := range page {
		facts, err := readOrderFacts(ctx, r.Log, page[i].Order)
		var unread *UnreadableError
		if errors.As(err, &unread) {
			continue // found already
		}
		if err != nil {
			return err
		}
		f, held := judgeRecord(&records, i, c, facts)
		if f.Kind == "" {
			continue
		}
		f.OrderID, f.BuyerID = page[i].Order, page[i].Buyer
		f.about.place, f.about.epoch, f.about.seen = c.place, records.Lane.Epoch, c.skus
		f.about.record, f.about.entry = &records.Orders[i], records.Orders[i].Record.Entry
		for sku, units := range held {
			off[domain.StockStream(c.place.Sale, sku, c.place.Bucket)] += units
		}
		r.report.found(f)
	}
	return nil
}

// recordsOf reads records whose every purchase is recorded.
func (r *reconciliation) recordsOf(ctx context.Context, c cut, page []OrderOf) (GateRecords, error) {
	var records GateRecords
	err := r.recordedLook(ctx, c, func() (Peeked, error) {
		var err error
		if records, err = r.Gate.Records(ctx, c.place, c.skus, page); err != nil {
			return Peeked{}, fmt.Errorf("look at %d orders in the gate: %w", len(page), err)
		}
		return records.Peeked, nil
	})
	return records, err
}

// orderFacts is what the log says of one order.
type orderFacts struct {
	decided  bool
	rejected bool
	buyer    string                 // of its reservations; "" for none
	stock    map[string][]stockFact // by SKU
}

// stockFact is an event of a stock stream about the order.
type stockFact struct {
	version int64
	event   domain.Event
}

func readOrderFacts(ctx context.Context, log eventstore.Reader, order string) (orderFacts, error) {
	facts := orderFacts{stock: map[string][]stockFact{}}
	records, err := log.Find(ctx, eventstore.Filter{OrderID: order}, 0, streamPage)
	if err != nil {
		return facts, fmt.Errorf("read what the log says of order %s: %w", order, err)
	}
	for i := range records {
		ev, err := decode(&records[i])
		if err != nil {
			return facts, err
		}
		if key, err := domain.ParseStockStream(records[i].Stream); err == nil {
			facts.stock[key.SKU] = append(facts.stock[key.SKU], stockFact{records[i].Version, ev})
			if reserved, ok := ev.(*domain.StockReserved); ok {
				facts.buyer = reserved.BuyerID
			}
			continue
		}
		facts.decided = true
		if _, ok := ev.(*domain.OrderRejected); ok {
			facts.rejected = true
		}
	}
	return facts, nil
}

// judgeRecord compares what the gate held of an order at one moment with what the
// log said up to what the gate had applied. off is by how many units the gate's
// account is too high because of it, by SKU.
func judgeRecord(g *GateRecords, i int, c cut, log orderFacts) (f Finding, off map[string]int64) {
	rec := &g.Orders[i]
	off = map[string]int64{}
	expected := map[letter]bool{}
	var wrong string
	var items, all []string // whose account is wrong, and that the log knows of
	var alone int64         // units that the gate alone knows of
	for s, sku := range c.skus {
		said, pending := toldUpTo(log.stock[sku], g.Stocks[s].Applied.Number)
		hold := rec.Holds[s]
		var held int64
		if hold.State == domain.HoldTaken {
			held = hold.Quantity
		}
		if said.letter == 0 {
			if held > 0 && !pending && (!log.decided || log.rejected) {
				alone += held
				off[sku] -= held
			}
			continue
		}
		expected[said.letter] = true
		all = append(all, sku)
		if held != int64(said.held) || hold.State != holdFor(said.letter) {
			wrong = fmt.Sprintf("the log says %d units held of %s, the gate %d", said.held, sku, held)
			off[sku] += int64(said.held) - held
			items = append(items, sku)
		}
	}
	is := letterOf(rec.Record.State)
	counts := is == letterAccepted || is == letterEnded
	switch {
	case len(expected) > 0 && wrong == "" && !expected[is]:
		wrong = "the gate's record says another state than the log"
	case len(expected) > 0 && wrong == "" && counts && !rec.Listed:
		wrong = "the gate's list of the buyer's orders lacks it"
	}
	open := !log.decided || (log.rejected && len(log.stock) == 0)
	switch {
	case len(items) > 0:
		return Finding{Kind: FindingNotInGate, Detail: wrong, about: about{wrong: items}}, off
	case wrong != "":
		return Finding{Kind: FindingNotInGate, Detail: wrong, about: about{wrong: all}}, off
	case len(expected) > 0 && rec.ofAnother(log.buyer):
		return Finding{Kind: FindingOrphan, Detail: "the gate has the order, or units of it, under another buyer than the log", about: about{strange: true}}, off
	case alone > 0:
		return Finding{Kind: FindingStranded, Detail: fmt.Sprintf("the gate holds %d units by entry %s, which is recorded without it", alone, rec.Record.Entry)}, off
	case open && len(expected) == 0 && (counts || (rec.Listed && !log.decided && is == 0)):
		return Finding{Kind: FindingOrphan, Detail: "the gate knows the order and holds no units for it; the log knows nothing"}, off
	}
	return Finding{}, nil
}

// ofAnother tells whether what the gate has of an order names another buyer.
func (g *GateRecord) ofAnother(buyer string) bool {
	other := func(name string) bool { return name != "" && name != buyer }
	return buyer != "" && (other(g.Record.Buyer) || slices.ContainsFunc(g.Holds, func(h ScannedHold) bool { return other(h.Buyer) }))
}

// toldUpTo folds the events of an order in one stock stream up to a version;
// pending tells whether there are more.
func toldUpTo(facts []stockFact, version int64) (t told, pending bool) {
	for _, f := range facts {
		if f.version > version {
			return t, true
		}
		t = t.after(f.event)
	}
	return t, false
}

func holdFor(l letter) domain.HoldState {
	switch l {
	case letterAccepted:
		return domain.HoldTaken
	case letterEnded:
		return domain.HoldReturned
	}
	return domain.HoldRefused
}
