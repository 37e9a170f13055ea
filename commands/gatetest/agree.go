package gatetest

import (
	"fmt"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"seckill/commands"
	"seckill/domain"
)

// Agree runs random operations on two gates, with faults as far as both offer
// them, and wants the same answer to each. At the end, after a recovery, both
// must hold what the log says.
func Agree(t *testing.T, first, second Maker) {
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(label string, n int) int {
			// Each about as often (n up to 64): the ranges of rapid prefer small numbers, and
			// a walk of small numbers goes nowhere.
			bits := 0
			for _, b := range rapid.SliceOfN(rapid.Bool(), 12, 12).Draw(rt, label) {
				bits *= 2
				if b {
					bits++
				}
			}
			return bits % n
		}
		walked(&scope{TB: t, to: rt}, pick, 40+pick("steps", 64), first, second)
	})
}

// AgreeOn is Agree on the operations that an input stands for, a byte for each choice:
// for a fuzzer, which learns what a byte does.
func AgreeOn(t *testing.T, input []byte, first, second Maker) {
	const most = 60
	at := 0
	next := func(_ string, n int) int {
		if at == len(input) {
			return 0
		}
		at++
		return int(input[at-1]) % n
	}
	walked(&scope{TB: t, to: t}, next, min(len(input)/4, most), first, second)
}

// walked is one run of so many steps.
func walked(tb *scope, pick func(string, int) int, steps int, first, second Maker) {
	defer tb.end()
	a, b := first(tb), second(tb)
	run := &walk{draw: pick, Stage: NewStage(tb, joined(tb, a, b))}
	run.start()
	for range steps {
		run.step()
	}
	run.finish()
}

// scope is a testing.TB whose end is the end of one random run.
type scope struct {
	testing.TB
	to       failing
	cleanups []func()
}

// failing is what a run tells that it failed.
type failing interface {
	Fatalf(text string, a ...any)
	Fatal(a ...any)
	Errorf(text string, a ...any)
}

func (s *scope) Cleanup(f func())             { s.cleanups = append(s.cleanups, f) }
func (s *scope) Fatalf(text string, a ...any) { s.to.Fatalf(text, a...) }
func (s *scope) Fatal(a ...any)               { s.to.Fatal(a...) }
func (s *scope) Errorf(text string, a ...any) { s.to.Errorf(text, a...) }

func (s *scope) end() {
	for i := len(s.cleanups) - 1; i >= 0; i-- {
		s.cleanups[i]()
	}
}

// joined makes one subject of two, with the faults that both offer.
func joined(tb testing.TB, a, b Subject) Subject {
	s := Subject{Ports: &both{tb: tb, a: a, b: b}}
	if a.Failover != nil && b.Failover != nil {
		s.Failover = func(tb testing.TB) { a.Failover(tb); b.Failover(tb) }
	}
	if a.Copy != nil && b.Copy != nil {
		s.Copy = func(tb testing.TB) func(testing.TB) {
			backA, backB := a.Copy(tb), b.Copy(tb)
			return func(tb testing.TB) { backA(tb); backB(tb) }
		}
	}
	if a.Lose != nil && b.Lose != nil {
		s.Lose = func(tb testing.TB, p domain.Place, sku string) { a.Lose(tb, p, sku); b.Lose(tb, p, sku) }
	}
	return s
}

// walk is one random run.
type walk struct {
	*Stage
	draw  func(label string, n int) int
	asked []commands.Reservation
	back  func(testing.TB)
	token int
	terms domain.SaleTerms
}

// pick gives 0 to n-1.
func (w *walk) pick(label string, n int) int { return w.draw(label, n) }

// oneOf gives one of all.
func oneOf[T any](w *walk, label string, all ...T) T { return all[w.pick(label, len(all))] }

func (w *walk) start() {
	rebuy := w.pick("rebuy", 2) == 1
	limit := int64(1 + w.pick("limit", 5))
	orders := 1 + w.pick("orders", 3)
	terms := func(t *domain.SaleTerms) { t.Rebuy, t.LimitPerBuyer, t.OrdersPerBuyer = rebuy, limit, orders }
	w.Open(terms, int64(w.pick("stock A", 8)), int64(w.pick("stock B", 8)))
	other := w.Schedule(terms, 3)
	w.terms = w.shows[0].Sale.Terms
	if other.Place.Lane() != w.shows[0].Place.Lane() {
		w.Recover(other.Place.Lane())
	}
}

// step does one random thing. Most of them may be refused by the state the
// gates are in; that both refuse is the point.
func (w *walk) step() {
	show := oneOf(w, "show", w.shows...)
	oneOf(w, "action", w.buy, w.buy, w.buy, w.buy, w.buy, w.buy, w.again, w.again, w.look, w.resolve, w.catchup, w.catchup,
		w.catchup, w.giveBack, w.giveBack, w.writeOff, w.refuse, w.units, w.withdraw, w.withdraw, w.move, w.move, w.steer, w.hold, w.recover, w.closeOnly, w.openOnly, w.reset,
		w.preheat, w.preheat, w.fault, w.fault)(show)
	w.peek(show, append(show.Sale.SKUs(), "missing")...)
	w.check(w.Inspect(w.ctx, show.Place, append(show.Sale.SKUs(), "missing")))
}

func (w *walk) buy(show *Show) {
	skus := show.Sale.SKUs()
	quantities := make([]int64, len(skus))
	for i := range quantities {
		quantities[i] = int64(w.pick("quantity", 3))
	}
	if quantities[0] == 0 {
		quantities[len(quantities)-1] = 1
	}
	r := w.Ask(show, oneOf(w, "buyer", "u", "v", "w"), quantities...)
	r.Eligible = w.pick("eligible", 10) > 0
	if w.pick("promised", 8) == 0 {
		r.Promised = int64(1 + w.pick("limit of the promise", 6))
	}
	switch w.pick("ticket", 12) {
	case 0:
		r.TicketFault = oneOf(w, "fault of the ticket", domain.TicketRequired, domain.TicketInvalid)
	case 1, 2, 3:
		r.Ticket = fmt.Sprintf("%x", r.Buyer+oneOf(w, "which ticket", "1", "2", "3"))
	}
	if w.pick("keyed", 3) == 0 {
		r.Key = fmt.Sprintf("%x", r.Buyer+oneOf(w, "key", "1", "2", "3", "4"))
		r.BodyHash = oneOf(w, "body", "01", "02", "")
	}
	w.asked = append(w.asked, r)
	sold := r.Eligible && r.TicketFault == 0 && w.SoldOut(r)
	if v := w.Reserve(r); sold && v.Outcome != domain.SoldOut {
		w.tb.Fatalf("buyer %s asks for %v: told sold out, and the gate says %s", r.Buyer, r.Lines, v.Outcome)
	}
}

// some gives one of the purchases asked for, or a new one.
func (w *walk) some(show *Show) commands.Reservation {
	if len(w.asked) == 0 || w.pick("new", 5) == 0 {
		r := w.Ask(show, "u", 1)
		w.asked = append(w.asked, r)
		return r
	}
	return w.asked[len(w.asked)-1-w.pick("purchase", min(len(w.asked), 10))]
}

func (w *walk) again(show *Show) { w.Reserve(w.some(show)) }

func (w *walk) look(show *Show) {
	w.check(w.Subject.Order(w.ctx, w.ref(w.some(show))))
	w.journal(show.Place.Lane())
}

func (w *walk) resolve(show *Show) {
	r := w.some(show)
	w.check(w.Resolve(w.ctx, w.ref(r), r.Buyer))
}

// check fails on an error of a call whose answer does not matter.
func (w *walk) check(_ any, err error) {
	w.tb.Helper()
	if err != nil {
		w.tb.Fatalf("a gate failed: %v", err)
	}
}

// catchup records, and applies some of what is missing to one item.
func (w *walk) catchup(show *Show) {
	w.Record(show)
	sku := oneOf(w, "item", show.Sale.SKUs()...)
	p := w.peek(show, sku)
	w.check(w.ApplySale(w.ctx, commands.SalePage{Place: show.Place, From: p.Sale.Applied, To: show.Mark, Sale: show.Sale}))
	page := w.page(show, sku, p.Stocks[0].Applied)
	page.Events = page.Events[:w.pick("events", len(page.Events)+1)]
	w.check(w.ApplyStock(w.ctx, page))
}

// giveBack ends an order that the log placed. Now and then it writes what no log
// should hold: both gates must make the same of it.
func (w *walk) giveBack(show *Show) {
	r := w.some(show)
	if w.placed(r) || w.pick("nonsense", 8) == 0 {
		w.Return(w.show(r.Place.Sale), r)
		w.ended[r.Order] = true
	}
}

// writeOff ends an order that the log placed, and its units stay away. Now and
// then it does what no log should, like giveBack.
func (w *walk) writeOff(show *Show) {
	r := w.some(show)
	if w.placed(r) || w.pick("nonsense", 8) == 0 {
		w.WriteOff(w.show(r.Place.Sale), r)
		w.ended[r.Order] = true
	}
}

// placed tells whether the log holds the order as taken, on every line.
func (w *walk) placed(r commands.Reservation) bool {
	return w.taken[r.Order] && !w.ended[r.Order]
}

// refuse rejects an order that the log has not decided.
func (w *walk) refuse(show *Show) {
	r := w.some(show)
	if !w.decided[r.Order] {
		w.Refuse(w.show(r.Place.Sale), r, domain.EntryID{Epoch: 1, N: 1, I: 1})
	}
}

func (w *walk) units(show *Show) {
	sku := oneOf(w, "item", show.Sale.SKUs()...)
	q := int64(1 + w.pick("units", 3))
	w.token++
	id := "move" + strconv.Itoa(w.token)
	w.Append(show, oneOf[domain.Event](w, "event",
		&domain.StockReleased{SaleID: show.Place.Sale, SKU: sku, Quantity: q},
		&domain.StockMovedIn{SaleID: show.Place.Sale, SKU: sku, Quantity: q, MoveID: id},
		&domain.StockWithdrawn{SaleID: show.Place.Sale, SKU: sku, Quantity: q, WithdrawID: id},
		&domain.StockMovedOut{SaleID: show.Place.Sale, SKU: sku, Quantity: q, MoveID: id},
		&domain.StockAdjusted{SaleID: show.Place.Sale, SKU: sku, Kind: "gate_above_log", Before: q, After: 0}))
}
