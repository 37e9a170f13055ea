package gatetest

import (
	"reflect"
	"slices"
	"sync"
	"testing"

	"seckill/commands"
	"seckill/domain"
)

func testScan(t *testing.T, maker Maker) {
	t.Run("a scan finds every order, hold and buyer once, in pages of any size", func(t *testing.T) { testWholeScan(t, maker) })
	t.Run("what a scan and a look tell is what became of each order", func(t *testing.T) { testScannedStates(t, maker) })
	t.Run("a scan and a look tell which order a key or a ticket names", func(t *testing.T) { testScannedUses(t, maker) })
	t.Run("nothing is found where nothing stands, and looking makes nothing", func(t *testing.T) { testScanNothing(t, maker) })
	t.Run("what stands throughout is found while a crowd buys and nothing else is made up", func(t *testing.T) { testScanRace(t, maker) })
}

func (s *Stage) scanned(show *Show, max int) commands.OrdersPage {
	s.tb.Helper()
	page, err := wholeOrders(s.ctx, s.Ports, show.Place, max)
	if err != nil {
		s.tb.Fatalf("scan orders: %v", err)
	}
	return page
}

func (s *Stage) holds(show *Show, sku string, max int) []commands.ScannedHold {
	s.tb.Helper()
	page, err := wholeHolds(s.ctx, s.Ports, show.Place, sku, max)
	if err != nil {
		s.tb.Fatalf("scan holds: %v", err)
	}
	return page.Holds
}

func (s *Stage) records(show *Show, of ...commands.OrderOf) commands.GateRecords {
	s.tb.Helper()
	got, err := s.Records(s.ctx, show.Place, show.Sale.SKUs(), of)
	if err != nil || len(got.Orders) != len(of) {
		s.tb.Fatalf("look at %d orders: got %d, %v", len(of), len(got.Orders), err)
	}
	return got
}

func testWholeScan(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(func(terms *domain.SaleTerms) { terms.LimitPerBuyer = 3 }, 2000, 2000)
	want := map[string]commands.ScannedOrder{}
	for i := range 600 { // more than a small hash keeps in one piece
		r := s.Ask(show, buyer(i%600), 1, 2)
		v := s.Reserve(r)
		want[r.Order] = commands.ScannedOrder{Order: r.Order, State: commands.OrderAccepted, Entry: v.Entry, SKUs: []string{"A", "B"}, Buyer: r.Buyer}
	}
	before := s.peek(show, "A", "B")
	for _, max := range []int{1, 7, 1000} {
		page := s.scanned(show, max)
		if len(page.Orders) != len(want) || len(page.Buyers) != len(want) {
			t.Fatalf("pages of %d: got %d orders of %d buyers, want %d", max, len(page.Orders), len(page.Buyers), len(want))
		}
		for _, o := range page.Orders {
			if !reflect.DeepEqual(o, want[o.Order]) {
				t.Fatalf("order: got %+v, want %+v", o, want[o.Order])
			}
		}
		for _, b := range page.Buyers {
			if len(b.Orders) != 1 || want[b.Orders[0]].Buyer != b.Buyer {
				t.Fatalf("buyer: got %+v", b)
			}
		}
		for i, sku := range []string{"A", "B"} {
			holds := s.holds(show, sku, max)
			if len(holds) != len(want) {
				t.Fatalf("pages of %d: got %d holds of %s, want %d", max, len(holds), sku, len(want))
			}
			for _, h := range holds {
				if h.State != domain.HoldTaken || h.Quantity != int64(i+1) || want[h.ID].Buyer != h.Buyer {
					t.Fatalf("hold of %s: got %+v", sku, h)
				}
			}
		}
	}
	after := s.peek(show, "A", "B")
	before.Lane.Now = after.Lane.Now
	if !reflect.DeepEqual(before, after) {
		t.Errorf("a scan changed the gate: %+v, then %+v", before, after)
	}
}

func testScannedStates(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 10, 10)
	taken := s.Buy(show, "taken", domain.Reserved, 1)
	returned := s.Buy(show, "returned", domain.Reserved, 0, 1)
	refused := s.Buy(show, "refused", domain.Reserved, 1)
	lost := s.Ask(show, "lost", 1)
	s.wantResolve(lost, commands.OrderTombstone, 1)
	s.decided[refused.Order] = true
	s.Record(show)
	s.Return(show, returned)
	s.Refuse(show, refused, domain.EntryID{Epoch: 1, N: 3, I: 1})
	s.Catchup(show)
	want := map[string]struct {
		state  commands.GateOrderState
		holds  [2]domain.HoldState
		listed bool
	}{
		"taken":    {commands.OrderAccepted, [2]domain.HoldState{domain.HoldTaken, domain.HoldUnknown}, true},
		"returned": {commands.OrderEnded, [2]domain.HoldState{domain.HoldUnknown, domain.HoldReturned}, true},
		"refused":  {commands.OrderRefused, [2]domain.HoldState{domain.HoldRefused, domain.HoldUnknown}, true},
		"lost":     {commands.OrderTombstone, [2]domain.HoldState{}, false},
		"nobody":   {commands.OrderUnknown, [2]domain.HoldState{}, false},
	}
	all := []commands.Reservation{taken, returned, refused, lost, s.Ask(show, "nobody", 1)}
	var of []commands.OrderOf
	for _, r := range all {
		of = append(of, commands.OrderOf{Order: r.Order, Buyer: r.Buyer})
	}
	got := s.records(show, of...)
	if peeked := s.peek(show, "A", "B"); !reflect.DeepEqual(got.Stocks, peeked.Stocks) || got.Sale != peeked.Sale || got.Lane.N != peeked.Lane.N || got.Lane.Epoch != peeked.Lane.Epoch || !got.Lane.Selling() {
		t.Fatalf("the look: got %+v, want %+v", got.Peeked, peeked)
	}
	scanned := map[string]commands.GateOrderState{}
	for _, o := range s.scanned(show, 100).Orders {
		scanned[o.Order] = o.State
	}
	for i, r := range all {
		w, o := want[r.Buyer], got.Orders[i]
		holds := [2]domain.HoldState{o.Holds[0].State, o.Holds[1].State}
		if o.Record.Order != r.Order || o.Record.State != w.state || holds != w.holds || o.Listed != w.listed {
			t.Errorf("%s: got %+v, want %+v", r.Buyer, o, w)
		}
		if state, there := scanned[r.Order]; there != (w.state != commands.OrderUnknown) || (there && state != w.state) {
			t.Errorf("%s: scanned as %d (%t), want %d", r.Buyer, state, there, w.state)
		}
	}
}

func testScannedUses(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(several, 10)
	first, second := s.with(show, "aa", 1), s.Ask(show, "v", 1)
	first.Key, first.BodyHash = "01", "ab"
	second.Key, second.BodyHash = "02", "cd"
	s.Reserve(first)
	v := s.Reserve(second)
	s.decided[second.Order] = true
	s.Record(show)
	s.Refuse(show, second, v.Entry)
	s.Catchup(show)
	key, other, ticket, none := commands.Use{Name: "01"}, commands.Use{Name: "02"}, commands.Use{Ticket: true, Name: "aa"}, commands.Use{Name: "aa"}
	want := []commands.ScannedUse{
		{Use: key, Order: first.Order, Body: "ab"}, {Use: other, Order: second.Order, Body: "cd"}, {Use: ticket, Order: first.Order},
	}
	for _, max := range []int{1, 1000} {
		if got := s.scanned(show, max).Uses; !reflect.DeepEqual(got, want) {
			t.Errorf("pages of %d: got %+v, want %+v", max, got, want)
		}
	}
	got, err := s.Uses(s.ctx, show.Place, show.Sale.SKUs(), []commands.Use{none, key, other, ticket})
	if err != nil || !got.Lane.Selling() || got.Stocks[0].State != commands.HashOpen {
		t.Fatalf("the look: got %+v, %v", got, err)
	}
	uses := []commands.GateUse{
		{ScannedUse: commands.ScannedUse{Use: none}, State: commands.OrderUnknown}, {ScannedUse: want[0], State: commands.OrderAccepted},
		{ScannedUse: want[1], State: commands.OrderRefused}, {ScannedUse: want[2], State: commands.OrderAccepted},
	}
	if !reflect.DeepEqual(got.Uses, uses) {
		t.Errorf("the look: got %+v, want %+v", got.Uses, uses)
	}
}

func testScanNothing(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Schedule(nil, 5)
	if page := s.scanned(show, 10); len(page.Orders)+len(page.Buyers) > 0 {
		t.Errorf("a sale that is not there: got %+v", page)
	}
	if holds := s.holds(show, "A", 10); len(holds) > 0 {
		t.Errorf("an item that is not there: got %+v", holds)
	}
	got := s.records(show, commands.OrderOf{Order: s.Ask(show, "u", 1).Order, Buyer: "u"})
	if got.Lane.Exists || got.Sale.State != commands.HashMissing || got.Stocks[0].State != commands.HashMissing || got.Orders[0].Record.State != commands.OrderUnknown {
		t.Errorf("a look at nothing: got %+v", got)
	}
	if p := s.peek(show, "A"); p.Sale.State != commands.HashMissing || p.Stocks[0].State != commands.HashMissing {
		t.Errorf("after looking: got %+v, want nothing there", p)
	}
}

// testScanRace scans again and again while buyers come: whoever bought before the
// scan began is found, with what he bought.
func testScanRace(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 1000)
	early, late := make([]commands.Reservation, 300), make([]commands.Reservation, 300)
	for i := range early {
		early[i], late[i] = s.Ask(show, buyer(i), 1), s.Ask(show, buyer(i+300), 1)
	}
	s.crowd(early)
	known := map[string]string{}
	for _, r := range slices.Concat(early, late) {
		known[r.Order] = r.Buyer
	}
	stop := make(chan struct{})
	var buying sync.WaitGroup
	buying.Go(func() {
		defer close(stop)
		for _, r := range late {
			if v, err := s.Subject.Reserve(s.ctx, r); err != nil || v.Outcome != domain.Reserved {
				t.Errorf("a late buyer: got %+v, %v", v, err)
			}
		}
	})
	defer buying.Wait()
	for done := false; !done; {
		select {
		case <-stop:
			done = true
		default:
		}
		found := map[string]bool{}
		for _, o := range s.scanned(show, 10).Orders {
			if found[o.Order] = true; known[o.Order] != o.Buyer || o.State != commands.OrderAccepted {
				t.Fatalf("scanned %+v, which nobody bought", o)
			}
		}
		holds := map[string]bool{}
		for _, h := range s.holds(show, "A", 10) {
			if holds[h.ID] = true; known[h.ID] != h.Buyer || h.State != domain.HoldTaken || h.Quantity != 1 {
				t.Fatalf("scanned hold %+v, which nobody has", h)
			}
		}
		for _, r := range early {
			if !found[r.Order] || !holds[r.Order] {
				t.Fatalf("order %s stood throughout: scanned %t, its hold %t", r.Order, found[r.Order], holds[r.Order])
			}
		}
	}
}
