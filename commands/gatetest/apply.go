package gatetest

import (
	"testing"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

func testApply(t *testing.T, maker Maker) {
	t.Run("a page that does not begin where the hash stands changes nothing", func(t *testing.T) { testFrom(t, maker) })
	t.Run("an order that the hash does not know takes its units again", func(t *testing.T) { testRetake(t, maker) })
	t.Run("what the gate knows takes nothing again", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(nil, 5)
		s.Buy(show, "u", domain.Reserved, 1)
		s.Record(show)
		s.Catchup(show)
		s.WantLeft(show, "A", 4)
	})
	t.Run("a refusal gives back what is held and leaves a tombstone otherwise", func(t *testing.T) { testRefused(t, maker) })
	t.Run("a return frees the limit", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(func(terms *domain.SaleTerms) { terms.LimitPerBuyer, terms.OrdersPerBuyer, terms.Rebuy = 3, 5, true }, 10)
		s.Buy(show, "u", domain.Reserved, 1)
		second := s.Buy(show, "u", domain.Reserved, 2)
		s.Buy(show, "u", domain.LimitExceeded, 1)
		s.Record(show)
		s.Return(show, second)
		s.Catchup(show)
		s.WantLeft(show, "A", 9)
		s.Buy(show, "u", domain.LimitExceeded, 3)
		s.Buy(show, "u", domain.Reserved, 2)
	})
	t.Run("a write-off frees the limit and not the units", func(t *testing.T) { testWrittenOff(t, maker) })
	t.Run("a noted repair moves the version and nothing else", func(t *testing.T) { testAdjusted(t, maker) })
	t.Run("a log that went back takes its returns back", func(t *testing.T) { testShorterLog(t, maker) })
	t.Run("units enter and leave by the log, below zero too", func(t *testing.T) { testMoves(t, maker) })
	t.Run("a long page is applied whole, repeated orders included", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(nil, 2000)
		for i := range 650 {
			r := commands.Reservation{Order: s.Order(show, buyer(i)), Buyer: buyer(i), Place: show.Place, Lines: []domain.Line{{SKU: "A", Quantity: 1}}}
			s.Append(show, &domain.StockReserved{SaleID: show.Place.Sale, SKU: "A", OrderID: r.Order, BuyerID: r.Buyer, Quantity: 1, Entry: "1-1.1"})
			if i%2 == 0 {
				s.Return(show, r)
			}
		}
		s.Catchup(show)
		s.WantLeft(show, "A", 2000-325)
	})
	t.Run("applying a sale takes holds away", func(t *testing.T) { testHold(t, maker) })
	t.Run("switches stop, lift the limit, and let go again", func(t *testing.T) { testSwitches(t, maker) })
	t.Run("events that cannot be of this stream are refused whole", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(nil, 5)
		for _, e := range []domain.Event{
			&domain.StockReleased{SaleID: show.Place.Sale, SKU: "B", Quantity: 1},
			&domain.StockReleased{SaleID: show.Place.Sale, SKU: "A", Quantity: 1 << 40},
			&domain.SaleClosed{SaleID: show.Place.Sale},
		} {
			_, head := s.events(show, "A")
			page := commands.StockPage{Place: show.Place, SKU: "A", From: head, Events: []commands.StockEvent{{At: stageMark("x", head.Number+1, ""), Event: e}}}
			if a, err := s.ApplyStock(s.ctx, page); err == nil || commands.IsUnknown(err) {
				t.Fatalf("apply %T: got %+v, %v, want an error that nothing happened", e, a, err)
			}
		}
		s.WantLeft(show, "A", 5)
	})
}

func testFrom(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 5)
	_, head := s.events(show, "A")
	s.Append(show, &domain.StockReleased{SaleID: show.Place.Sale, SKU: "A", Quantity: 3})
	_, next := s.events(show, "A")
	other := stageMark("another history", head.Number, "")
	page := s.page(show, "A", head)
	page.From = other
	a, err := s.ApplyStock(s.ctx, page)
	if err != nil || a.Done || a.Applied != head || a.State != commands.HashOpen {
		t.Fatalf("apply from another history: got %+v, %v, want the place %v", a, err, head)
	}
	for range 2 { // the second time the hash has moved on
		page.From = head
		if a, err = s.ApplyStock(s.ctx, page); err != nil || a.Applied != next {
			t.Fatalf("apply: got %+v, %v, want %v", a, err, next)
		}
	}
	if a.Done {
		t.Fatal("the same page was applied twice")
	}
	s.WantLeft(show, "A", 8)
	missing := commands.StockPage{Place: show.Place, SKU: "missing"}
	if a, err := s.ApplyStock(s.ctx, missing); err != nil || a.Done || a.State != commands.HashMissing {
		t.Fatalf("apply to a missing hash: got %+v, %v", a, err)
	}
	sale := commands.SalePage{Place: show.Place, From: other, To: show.Mark, Sale: show.Sale}
	if a, err := s.ApplySale(s.ctx, sale); err != nil || a.Done || a.Applied != show.Mark {
		t.Fatalf("apply a sale from another history: got %+v, %v", a, err)
	}
}

func testRetake(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(func(terms *domain.SaleTerms) { terms.LimitPerBuyer, terms.OrdersPerBuyer = 3, 3 }, 5)
	add := func(buyer, entry, key string, q int64) commands.Reservation {
		r := s.Ask(show, buyer, q)
		s.Append(show, &domain.StockReserved{SaleID: show.Place.Sale, SKU: "A", OrderID: r.Order, BuyerID: buyer, Quantity: q, Entry: entry, Key: key, BodyHash: "01"})
		return r
	}
	second := add("u", "1-2.1", "aa", 1)
	first := add("u", "1-1.7", "", 1)
	r := add("v", "1-3.1", "", 4)
	s.Catchup(show)
	s.WantLeft(show, "A", -1)
	s.Buy(show, "w", domain.SoldOut, 1)
	s.wantLatest(show, "u", second)
	if v := s.Reserve(first); v.Outcome != domain.SameOrder || v.Entry.String() != "1-1.7" {
		t.Fatalf("a restored order: got %+v, want the same order of entry 1-1.7", v)
	}
	keyed := s.Ask(show, "u", 1)
	keyed.Key, keyed.BodyHash = "aa", "01"
	if v := s.Reserve(keyed); v.Outcome != domain.SameOrder || v.Order != second.Order {
		t.Fatalf("a restored key: got %+v, want order %s", v, second.Order)
	}
	s.Return(show, r)
	s.Catchup(show)
	s.Buy(show, "u", domain.LimitExceeded, 2)
	s.Buy(show, "u", domain.Reserved, 1)
	s.Say(show, &domain.SaleRevised{SaleID: show.Place.Sale, SaleTerms: twoOrders(show.Sale.Terms)})
	s.Record(show)
	s.Catchup(show)
	last := s.Reserve(s.Ask(show, "u", 1))
	if last.Outcome != domain.Repeat || last.Order == first.Order || last.Order == second.Order {
		t.Fatalf("the latest order: got %+v, want a repeat of the third", last)
	}
}

// wantLatest lets the sale allow as many orders as the buyer has, asks for
// another one, and takes the change back.
func (s *Stage) wantLatest(show *Show, buyer string, want commands.Reservation) {
	s.tb.Helper()
	terms := show.Sale.Terms
	s.Say(show, &domain.SaleRevised{SaleID: show.Place.Sale, SaleTerms: twoOrders(terms)})
	s.Catchup(show)
	if v := s.Reserve(s.Ask(show, buyer, 1)); v.Outcome != domain.Repeat || v.Order != want.Order {
		s.tb.Fatalf("a further purchase: got %+v, want a repeat of the order of the latest entry, %s", v, want.Order)
	}
	s.Say(show, &domain.SaleRevised{SaleID: show.Place.Sale, SaleTerms: terms})
	s.Catchup(show)
}

func twoOrders(t domain.SaleTerms) domain.SaleTerms {
	t.OrdersPerBuyer = 2
	return t
}

func testShorterLog(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 5)
	r := s.Buy(show, "u", domain.Reserved, 1)
	s.Record(show)
	stream := domain.StockStream(show.Place.Sale, "A", 0)
	before := s.log[stream]
	s.Return(show, r)
	s.Catchup(show)
	s.wantOrder(r, commands.OrderEnded)
	s.log[stream] = before
	if start, err := s.ResetStock(s.ctx, show.Place, "A", 1, "token"); err != nil || !start.OK {
		t.Fatalf("reset: got %+v, %v", start, err)
	}
	s.Catchup(show)
	s.wantOrder(r, commands.OrderAccepted)
	s.WantLeft(show, "A", 4)
}

func testRefused(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 5, 5)
	held := s.Ask(show, "u", 1)
	v := s.Reserve(held)
	s.Refuse(show, held, v.Entry)
	late := s.Ask(show, "v", 1)
	s.Refuse(show, late, domain.EntryID{Epoch: 1, N: 9, I: 1})
	// What could not be recorded is refused without a buyer: the gate knows him.
	poison := s.Ask(show, "w", 1)
	unnamed := poison
	unnamed.Buyer = ""
	s.Refuse(show, unnamed, s.Reserve(poison).Entry)
	s.Catchup(show)
	s.WantLeft(show, "A", 5)
	s.Buy(show, "w", domain.Reserved, 1)
	s.wantOrder(held, commands.OrderRefused)
	for _, r := range []commands.Reservation{held, late} {
		if v := s.Reserve(r); v.Outcome != domain.Refused {
			t.Fatalf("a refused order again: got %s, want refused", v.Outcome)
		}
	}
	s.wantResolve(late, commands.OrderRefused, 1)
	s.Buy(show, "u", domain.Reserved, 1)
	s.Buy(show, "v", domain.Reserved, 1)
	s.WantLeft(show, "A", 2)
}

func testWrittenOff(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(func(terms *domain.SaleTerms) { terms.Rebuy = true }, 5)
	r := s.Buy(show, "u", domain.Reserved, 1)
	s.Record(show)
	s.WriteOff(show, r)
	s.Catchup(show)
	s.WantLeft(show, "A", 4)
	s.wantOrder(r, commands.OrderEnded)
	// Said twice, or followed by a return that no log should hold, nothing comes back.
	s.WriteOff(show, r)
	s.Return(show, r)
	s.Catchup(show)
	s.WantLeft(show, "A", 4)
	s.Buy(show, "u", domain.Reserved, 1)
	s.WantLeft(show, "A", 3)
	// An order that the gate forgot takes its units first.
	forgotten := s.Ask(show, "v", 2)
	s.WriteOff(show, forgotten)
	s.Record(show)
	s.Catchup(show)
	s.WantLeft(show, "A", 1)
	s.wantOrder(forgotten, commands.OrderEnded)
}

func testAdjusted(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 5)
	s.Buy(show, "u", domain.Reserved, 1)
	s.Record(show)
	s.Append(show, &domain.StockAdjusted{SaleID: show.Place.Sale, SKU: "A", Kind: "gate_above_log", Before: 9, After: 4})
	s.Catchup(show)
	s.WantLeft(show, "A", 4)
	if got := s.peek(show, "A").Stocks[0].Applied.Number; got != 3 {
		t.Fatalf("applied up to version %d, want 3", got)
	}
	s.Buy(show, "v", domain.Reserved, 1)
}

func testMoves(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 5)
	id := show.Place.Sale
	s.Append(show, &domain.StockMovedIn{SaleID: id, SKU: "A", MoveID: "m1", From: 1, Quantity: 2})
	s.Append(show, &domain.StockWithdrawn{SaleID: id, SKU: "A", WithdrawID: "w1", Quantity: 4, Entry: "1-1.1"})
	s.Append(show, &domain.StockMovedOut{SaleID: id, SKU: "A", MoveID: "m2", To: 1, Quantity: 6, Entry: "1-2.1"})
	s.Catchup(show)
	s.WantLeft(show, "A", -3)
	s.Append(show, &domain.StockReleased{SaleID: id, SKU: "A", Quantity: 10})
	s.Catchup(show)
	s.WantLeft(show, "A", 7)
}

func testHold(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 50)
	hold := func(o domain.Outcome) {
		t.Helper()
		if err := s.Hold(s.ctx, show.Place, o); err != nil {
			t.Fatalf("hold: %v", err)
		}
	}
	for _, o := range []domain.Outcome{domain.Paused, domain.Ended} {
		hold(o)
		s.Buy(show, "u", o, 1)
	}
	hold(domain.Paused)
	s.Buy(show, "u", domain.Ended, 1)
	if !s.peek(show).Sale.Held {
		t.Fatal("the record does not say that it is held")
	}
	s.Catchup(show)
	if s.peek(show).Sale.Held {
		t.Fatal("the record is still held after the sale was applied")
	}
	s.Buy(show, "u", domain.Reserved, 1)
	other := s.Schedule(nil, 5)
	if err := s.Hold(s.ctx, other.Place, domain.Paused); err != nil {
		t.Fatalf("hold a sale that the gate does not have: %v", err)
	}
	if p := s.peek(other); p.Sale.State != commands.HashMissing {
		t.Fatalf("a hold made a record: %+v", p.Sale)
	}
	if err := s.Hold(s.ctx, show.Place, domain.SoldOut); err == nil {
		t.Fatal("sold_out is no stopping action, but was taken for one")
	}
	stale := commands.SalePage{Place: show.Place, From: eventstore.Mark{}, To: show.Mark, Sale: show.Sale}
	hold(domain.Paused)
	if a, err := s.ApplySale(s.ctx, stale); err != nil || a.Done || !s.peek(show).Sale.Held {
		t.Fatalf("a stale page: got %+v, %v, and must leave the hold", a, err)
	}
}
