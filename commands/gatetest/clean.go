package gatetest

import (
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

func testClean(t *testing.T, maker Maker) {
	t.Run("a removed sale leaves nothing, and its neighbour sells on", func(t *testing.T) { testRemove(t, maker) })
	t.Run("what comes for a removed sale makes nothing anew", func(t *testing.T) { testRemovedStays(t, maker) })
	t.Run("purchases in flight while a sale is removed are whole or not at all", func(t *testing.T) { testRemoveRace(t, maker) })
	t.Run("a sale is removed from a lane that is closed", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(nil, 5)
		if _, err := s.CloseLane(s.ctx, show.Place.Lane(), 7); err != nil {
			t.Fatal(err)
		}
		s.remove(show, 2)
	})
	t.Run("keeping a sale changes nothing of it, and makes nothing", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(nil, 5)
		own := s.Buy(show, "u", domain.Reserved, 1)
		keep := func() {
			t.Helper()
			if err := s.KeepSale(s.ctx, show.Place, []string{"A"}, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		keep()
		s.WantLeft(show, "A", 4)
		s.Buy(show, "v", domain.Reserved, 1)
		s.wantOrder(own, commands.OrderAccepted)
		s.remove(show, 2)
		keep()
		s.wantGone(show)
	})
	t.Run("a journal is cut, keeps the digest of the cut, and goes on", func(t *testing.T) { testCut(t, maker) })
	t.Run("a journal that was cut to nothing still knows its end", func(t *testing.T) { testCutAll(t, maker) })
}

// remove takes a sale away and wants so much to have been there.
func (s *Stage) remove(show *Show, want int, skus ...string) {
	s.tb.Helper()
	if len(skus) == 0 {
		skus = show.Sale.SKUs()
	}
	if got, err := s.RemoveSale(s.ctx, show.Place, skus); err != nil || got != want {
		s.tb.Fatalf("remove sale %s: got %d, %v, want %d", show.Place.Sale, got, err, want)
	}
	s.wantGone(show)
}

func (s *Stage) wantGone(show *Show) {
	s.tb.Helper()
	p := s.peek(show, show.Sale.SKUs()...)
	if p.Sale.State != commands.HashMissing {
		s.tb.Fatalf("the record of a removed sale: got %+v", p.Sale)
	}
	for i, stock := range p.Stocks {
		if stock.State != commands.HashMissing || stock.Available != 0 {
			s.tb.Fatalf("stock %d of a removed sale: got %+v", i, stock)
		}
	}
}

// inLaneOf opens another sale in the same lane.
func (s *Stage) inLaneOf(show *Show, stock int64) *Show {
	other := s.Open(nil, stock)
	for other.Place.Lane() != show.Place.Lane() {
		other = s.Open(nil, stock)
	}
	return other
}

func testRemove(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 5, 5)
	other := s.inLaneOf(show, 9)
	own := s.Buy(show, "u", domain.Reserved, 1)
	s.Buy(other, "u", domain.Reserved, 1)
	s.remove(show, 3, "A") // B is known by the record
	s.remove(show, 0)
	s.wantOrder(own, commands.OrderUnresolved)
	s.Buy(show, "v", domain.NotReady, 1)
	if v := s.Reserve(own); v.Outcome != domain.NotReady {
		t.Fatalf("the owner: got %s, want not_ready", v.Outcome)
	}
	if !s.lane(show.Place.Lane()).Selling() {
		t.Fatal("the lane does not sell any more")
	}
	s.Buy(other, "v", domain.Reserved, 1)
	s.WantLeft(other, "A", 7)
	s.checkJournal(show.Place.Lane(), 3)
}

func testRemovedStays(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 5)
	own := s.Buy(show, "u", domain.Reserved, 1)
	s.Record(show)
	s.Catchup(show)
	s.remove(show, 2)
	stream := domain.StockStream(show.Place.Sale, "A", 0)
	page := commands.StockPage{Place: show.Place, SKU: "A", Events: s.log[stream]}
	if done, err := s.ApplyStock(s.ctx, page); err != nil || done.Done {
		t.Errorf("apply to its stock: got %+v, %v, want a refusal", done, err)
	}
	if done, err := s.ApplySale(s.ctx, commands.SalePage{Place: show.Place, To: show.Mark, Sale: show.Sale}); err != nil || done.Done {
		t.Errorf("apply to its record: got %+v, %v, want a refusal", done, err)
	}
	if err := s.Hold(s.ctx, show.Place, domain.Ended); err != nil {
		t.Error(err)
	}
	s.wantResolve(own, commands.OrderUnresolved, 1)
	if start, err := s.ResetStock(s.ctx, show.Place, "A", 1, "token"); err != nil || start.OK {
		t.Errorf("reset its stock: got %+v, %v, want a refusal", start, err)
	}
	marks := commands.HashMarks{Sale: show.Mark, SKUs: []string{"A"}, Stocks: []eventstore.Mark{{}}}
	if ok, err := s.OpenPreheated(s.ctx, show.Place, marks, 1, "token"); err != nil || ok {
		t.Errorf("open it: got %t, %v, want a refusal", ok, err)
	}
	s.wantGone(show)
}

// Every purchase is judged before the removal or after it: what was accepted
// stands in the journal, and nothing of the sale is there again.
func testRemoveRace(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 1000)
	other := s.inLaneOf(show, 1000)
	var all []commands.Reservation
	for i := range 200 {
		all = append(all, s.Ask(show, buyer(i), 1), s.Ask(other, buyer(i), 1))
	}
	removed := make(chan error, 1)
	go func() {
		_, err := s.RemoveSale(s.ctx, show.Place, []string{"A"})
		removed <- err
	}()
	counts := s.crowd(all)
	if err := <-removed; err != nil {
		t.Fatal(err)
	}
	s.wantGone(show)
	s.WantLeft(other, "A", 800)
	if counts[domain.Reserved]+counts[domain.NotReady] != 400 || counts[domain.Reserved] < 200 {
		t.Errorf("outcomes: got %v, want reserved and not_ready alone, all of the other sale reserved", counts)
	}
	s.checkJournal(show.Place.Lane(), counts[domain.Reserved])
}

func testCut(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 100)
	lane := show.Place.Lane()
	for i := range 3 {
		s.Buy(show, buyer(i), domain.Reserved, 1)
	}
	s.Recover(lane)
	for i := range 3 {
		s.Buy(show, buyer(10+i), domain.Reserved, 1)
	}
	entries := s.journal(lane)
	cut := func(upTo domain.EntryID, want commands.JournalEntry) {
		t.Helper()
		got, err := s.CutJournal(s.ctx, lane, upTo)
		if err != nil || got != (commands.JournalCut{ID: want.ID, Digest: want.Digest}) || s.lane(lane).Cut != got {
			t.Fatalf("cut up to %s: got %+v, %v, lane %+v, want %s", upTo, got, err, s.lane(lane).Cut, want.ID)
		}
	}
	none := commands.JournalEntry{}
	cut(domain.EntryID{Epoch: 1, N: 99}, none)
	cut(domain.EntryID{}, none)
	cut(entries[1].ID, entries[1])
	cut(entries[0].ID, entries[1]) // it is gone already
	cut(entries[4].ID, entries[4]) // over the end of an epoch
	left := s.journal(lane)
	if len(left) != 1 || left[0] != entries[5] {
		t.Fatalf("left: got %+v, want %+v", left, entries[5:])
	}
	if domain.NextDigest(s.lane(lane).Cut.Digest, left[0].Body) != left[0].Digest {
		t.Error("what is left does not follow the digest of the cut")
	}
	s.Buy(show, "later", domain.Reserved, 1)
	if left := s.journal(lane); len(left) != 2 || left[1].ID != (domain.EntryID{Epoch: 2, N: 4}) {
		t.Fatalf("after the cut: got %+v, want 2-4 at the end", left)
	}
	if after, err := s.ReadLane(s.ctx, lane, domain.EntryID{Epoch: 1, N: 1}, 10); err != nil || len(after) != 2 {
		t.Fatalf("read from before the cut: got %+v, %v, want what is left", after, err)
	}
	if _, ok, err := s.Entry(s.ctx, lane, entries[0].ID); err != nil || ok {
		t.Fatalf("an entry that was cut: got %t, %v", ok, err)
	}
}

func testCutAll(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 100)
	lane := show.Place.Lane()
	s.Buy(show, "u", domain.Reserved, 1)
	last := s.journal(lane)[0]
	if _, err := s.CutJournal(s.ctx, lane, last.ID); err != nil {
		t.Fatal(err)
	}
	if l := s.lane(lane); l.Last != last.ID || !l.Selling() || l.N != 1 {
		t.Fatalf("the lane: got %+v, want it to sell and to know its last entry %s", l, last.ID)
	}
	if l, err := s.CloseLane(s.ctx, lane, 1); err != nil || !l.Open {
		t.Fatalf("close under the epoch of the cut: got %+v, %v, want no change", l, err)
	}
	s.Buy(show, "v", domain.Reserved, 1)
	if left := s.journal(lane); len(left) != 1 || domain.NextDigest(last.Digest, left[0].Body) != left[0].Digest {
		t.Fatalf("after it: got %+v, want one entry that follows the cut", left)
	}
	if l, err := s.CloseLane(s.ctx, lane, 2); err != nil || l.Cut.ID != last.ID || l.Epoch != 2 {
		t.Fatalf("close under 2: got %+v, %v, want the cut kept", l, err)
	}
}
