package simulation

import (
	"encoding/json"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// cuts remembers what was folded for the cuts before.
type cuts struct {
	stocks map[domain.StockKey]*foldedStock
	taken  map[string][]takenUnits // by the digest of an entry
}

// foldedStock is a stock as its stream says up to a place.
type foldedStock struct {
	at    eventstore.Mark
	stock *domain.Stock
}

// takenUnits are units of a stock that an entry took.
type takenUnits struct {
	key      domain.StockKey
	id       string
	quantity int64
}

func newCuts() cuts {
	return cuts{stocks: map[domain.StockKey]*foldedStock{}, taken: map[string][]takenUnits{}}
}

// checkCuts: whatever is under way, an open gate has exactly the units left that the log
// up to what it has applied, and its journal, leave it.
func (w *World) checkCuts() {
	if w.sale == "" || w.violation != "" {
		return
	}
	for _, place := range w.places() {
		seen := w.peek(place)
		if !seen.Lane.Selling() || seen.Sale.State != commands.HashOpen {
			continue
		}
		for i, sku := range w.skus() {
			s := seen.Stocks[i]
			if s.State != commands.HashOpen {
				continue
			}
			key := domain.StockKey{Sale: place.Sale, SKU: sku, Bucket: place.Bucket}
			want, ok := w.leftAt(key, place.Lane(), s.Applied, seen.Lane.Epoch)
			if ok && want != s.Available {
				w.violate("C2: the cut is not exact: bucket %d has %d of %s, and log up to version %d and journal leave it %d",
					place.Bucket, s.Available, sku, s.Applied.Number, want)
				return
			}
		}
	}
}

// leftAt gives what the log up to a mark, and the journal of an epoch, leave of a stock;
// ok is false where the log does not have that mark any more.
func (w *World) leftAt(key domain.StockKey, lane int, applied eventstore.Mark, epoch int64) (left int64, ok bool) {
	stock, ok := w.stockAt(key, applied)
	if !ok {
		return 0, false
	}
	left = stock.Available
	entries, err := w.gate.ReadLane(background, lane, domain.EntryID{Epoch: epoch}, 1<<30)
	if err != nil {
		panic(err) // a gate in memory always answers
	}
	for i := range entries {
		for _, t := range w.takenBy(&entries[i]) {
			if t.key == key && stock.Holds[t.id].State == domain.HoldUnknown {
				left -= t.quantity
			}
		}
	}
	return left, true
}

// stockAt folds a stock up to a mark.
func (w *World) stockAt(key domain.StockKey, applied eventstore.Mark) (*domain.Stock, bool) {
	f := w.cuts.stocks[key]
	if f == nil || applied.Number < f.at.Number {
		f = &foldedStock{stock: domain.NewStock(key)}
		w.cuts.stocks[key] = f
	}
	if applied == f.at {
		return f.stock, true
	}
	if last, err := w.store.ReadStream(background, key.Stream(), applied.Number-1, 1); err != nil || len(last) == 0 || last[0].At() != applied {
		return nil, false
	}
	records, err := w.store.ReadStream(background, key.Stream(), f.at.Number, int(applied.Number-f.at.Number))
	if err != nil {
		panic(err) // only a context that ended is an error
	}
	for i := range records {
		ev, err := domain.Decode(records[i].Type, records[i].Schema, records[i].Payload)
		if err == nil {
			err = f.stock.Fold(ev)
		}
		if err != nil {
			panic(err) // the book has read it
		}
	}
	f.at = applied
	return f.stock, true
}

// takenBy gives the units that an entry took.
func (w *World) takenBy(e *commands.JournalEntry) []takenUnits {
	if all, known := w.cuts.taken[e.Digest]; known {
		return all
	}
	body, err := commands.DecodeEntry(e.Body)
	if err != nil {
		panic(err) // the gate wrote it
	}
	all := []takenUnits{}
	for _, raw := range body.Purchases {
		var p commands.Purchase
		mustRead(raw, &p)
		for _, l := range p.Lines {
			all = append(all, takenUnits{domain.StockKey{Sale: p.Sale, SKU: l.SKU, Bucket: p.Bucket}, p.Order, l.Quantity})
		}
	}
	for _, list := range [][]json.RawMessage{body.Withdrawals, body.Moves} {
		for _, raw := range list {
			var m commands.JournalMove // a withdrawal has the same fields, and more
			mustRead(raw, &m)
			all = append(all, takenUnits{domain.StockKey{Sale: m.Sale, SKU: m.SKU, Bucket: m.Bucket}, m.ID, m.Quantity})
		}
	}
	w.cuts.taken[e.Digest] = all
	return all
}

func mustRead(raw json.RawMessage, to any) {
	if err := json.Unmarshal(raw, to); err != nil {
		panic(err) // the gate wrote it
	}
}
