package gatetest

import (
	"fmt"
	"testing"

	"seckill/commands"
	"seckill/domain"
)

// openTwo brings a sale of two buckets into the gate.
func (s *Stage) openTwo(first, second int64) (a, b *Show) {
	s.tb.Helper()
	a = s.Open(func(t *domain.SaleTerms) { t.Buckets = 2 }, first)
	b = &Show{Place: a.Place, Sale: a.Sale, Mark: a.Mark}
	b.Place.Bucket = 1
	if second > 0 {
		s.Append(b, &domain.StockReleased{SaleID: b.Place.Sale, SKU: "A", Bucket: 1, Quantity: second})
	}
	s.shows = append(s.shows, b)
	if s.lane(b.Place.Lane()).Selling() {
		s.Preheat(b, "preheat-1")
	} else {
		s.Recover(b.Place.Lane())
	}
	return a, b
}

// Move asks the gate to move units of item A and wants an outcome.
func (s *Stage) Move(from, to *Show, id string, quantity int64, want commands.WithdrawOutcome) commands.WithdrawVerdict {
	s.tb.Helper()
	v, err := s.Subject.Move(s.ctx, commands.Move{ID: id, Place: from.Place, To: to.Place.Bucket, SKU: "A", Quantity: quantity, TraceID: "trace"})
	if err != nil || v.Outcome != want {
		s.tb.Fatalf("move %d under %s: got %+v, %v, want outcome %d", quantity, id, v, err, want)
	}
	return v
}

// recordMoves writes both sides of the moves of an entry into the log, of those that
// were decided already none.
func (s *Stage) recordMoves(id domain.EntryID, body *commands.EntryBody) {
	s.tb.Helper()
	if len(body.Moves) > 0 && body.Form != commands.MoveForm {
		s.tb.Fatalf("entry %s carries moves in form %d", id, body.Form)
	}
	for entry, m := range eachTaken(s, body.Moves, id, func(m commands.JournalMove) string { return m.ID }) {
		place := domain.Place{Store: 1, Sale: m.Sale, Bucket: m.Bucket}
		s.Append(&Show{Place: place}, &domain.StockMovedOut{SaleID: m.Sale, SKU: m.SKU, Bucket: m.Bucket, MoveID: m.ID, To: m.To, Quantity: m.Quantity, Entry: entry})
		place.Bucket = m.To
		s.Append(&Show{Place: place}, &domain.StockMovedIn{SaleID: m.Sale, SKU: m.SKU, Bucket: m.To, MoveID: m.ID, From: m.Bucket, Quantity: m.Quantity})
	}
}

func testMove(t *testing.T, maker Maker) {
	t.Run("units leave one bucket at once and reach the other by the log, once under an id", func(t *testing.T) {
		s := NewStage(t, maker(t))
		a, b := s.openTwo(5, 1)
		before := s.lane(a.Place.Lane()).N
		s.Move(a, b, "m1", 6, commands.WithdrawShort)
		for range 2 {
			v := s.Move(a, b, "m1", 3, commands.WithdrawTaken)
			if v.Available != 2 || v.Quantity != 3 || v.N != before+1 {
				t.Fatalf("got %+v, want 3 taken, 2 left, one entry more than %d", v, before)
			}
		}
		s.WantLeft(b, "A", 1)
		s.Record(a)
		s.Catchup(a)
		s.Catchup(b)
		s.WantLeft(a, "A", 2)
		s.WantLeft(b, "A", 4)
	})
	t.Run("what is closed, missing or no other bucket gives nothing", func(t *testing.T) {
		s := NewStage(t, maker(t))
		a, b := s.openTwo(5, 0)
		for _, m := range []commands.Move{{ID: "m", Place: a.Place, To: 0, SKU: "A", Quantity: 1}, {ID: "m", Place: a.Place, To: -1, SKU: "A", Quantity: 1},
			{ID: "m", Place: a.Place, To: domain.MaxBuckets, SKU: "A", Quantity: 1}, {ID: "m", Place: a.Place, To: 1, SKU: "A"}} {
			if v, err := s.Subject.Move(s.ctx, m); err == nil || commands.IsUnknown(err) {
				t.Fatalf("move %+v: got %+v, %v, want an error that nothing happened", m, v, err)
			}
		}
		lane := a.Place.Lane()
		if _, err := s.CloseLane(s.ctx, lane, s.lane(lane).Epoch+1); err != nil {
			t.Fatal(err)
		}
		s.Move(a, b, "m", 1, commands.WithdrawNotReady)
	})
	t.Run("a move outlives recoveries of both sides, and one that the log refused comes back", func(t *testing.T) {
		s := NewStage(t, maker(t))
		a, b := s.openTwo(5, 0)
		s.Move(a, b, "m1", 2, commands.WithdrawTaken)
		s.Recover(a.Place.Lane())
		s.Recover(b.Place.Lane())
		s.WantLeft(a, "A", 3)
		s.WantLeft(b, "A", 2)
		s.Move(a, b, "m1", 2, commands.WithdrawTaken)
		s.Move(a, b, "m2", 2, commands.WithdrawTaken)
		s.decided["m2"] = true
		s.Append(a, &domain.StockRefused{SaleID: a.Place.Sale, SKU: "A", MoveID: "m2", Quantity: 2, Entry: "2-1.1", Reason: domain.RejectedGuard})
		s.Catchup(a)
		s.WantLeft(a, "A", 3)
		s.Move(a, b, "m2", 2, commands.WithdrawRefused)
	})
	t.Run("moves and purchases at once take no more than there is", func(t *testing.T) { testMoveRace(t, maker) })
	t.Run("levels are those of every bucket at once", func(t *testing.T) { testLevels(t, maker) })
}

func testMoveRace(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	a, b := s.openTwo(40, 3)
	raceBuyers(t, s, a, func(i int) error {
		_, err := s.Subject.Move(s.ctx, commands.Move{ID: fmt.Sprintf("m%d", i/8), Place: a.Place, To: 1, SKU: "A", Quantity: 2}) // each id twice
		return err
	})
	s.Record(a)
	s.Catchup(a)
	s.Catchup(b)
	var sum, bought int64
	for _, show := range []*Show{a, b} {
		account, sold := s.account(show)
		s.WantLeft(show, "A", account.Left())
		sum, bought = sum+account.Left(), bought+sold
	}
	if sum+bought != 43 {
		t.Errorf("got %d left and %d bought, want 43 in all", sum, bought)
	}
}

func testLevels(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	a, b := s.openTwo(5, 3)
	places := []domain.Place{b.Place, a.Place, {Store: 1, Sale: a.Place.Sale, Bucket: 9}}
	look := func() []commands.BucketLevel {
		t.Helper()
		levels, err := s.Subject.Levels(s.ctx, places, []string{"A"})
		if err != nil || len(levels) != len(places) {
			t.Fatalf("levels: got %d, %v, want %d", len(levels), err, len(places))
		}
		return levels
	}
	s.Move(a, b, "m", 2, commands.WithdrawTaken)
	s.Buy(a, "u", domain.Reserved, 1)
	levels := look()
	for i, show := range []*Show{b, a} {
		lane, stock := s.lane(show.Place.Lane()), s.peek(show, "A").Stocks[0]
		want := commands.StockLevel{Applied: stock.Applied, Available: stock.Available}
		if got := levels[i]; !got.Selling || got.Epoch != lane.Epoch || got.N != lane.N || got.Stocks[0] != want {
			t.Errorf("bucket %d: got %+v, want epoch %d, n %d and %+v", show.Place.Bucket, got, lane.Epoch, lane.N, want)
		}
	}
	if levels[2].Selling || levels[1].Stocks[0].Available != 2 {
		t.Errorf("got %+v, want 2 left in the first bucket, and one that is missing not selling", levels)
	}
	lane := s.lane(a.Place.Lane())
	if _, err := s.CloseLane(s.ctx, a.Place.Lane(), lane.Epoch+1); err != nil {
		t.Fatal(err)
	}
	if levels = look(); levels[1].Selling {
		t.Errorf("got %+v, want a closed lane not selling", levels[1])
	}
}

// move takes units for another bucket, now and then under an id that was used before.
func (w *walk) move(show *Show) {
	sku := oneOf(w, "item", show.Sale.SKUs()...)
	id := fmt.Sprintf("%s-%s-m%d", show.Place.Sale, sku, w.pick("which move", 6))
	w.check(w.Subject.Move(w.ctx, commands.Move{ID: id, Place: show.Place, To: 1 + w.pick("to", 2), SKU: sku, Quantity: int64(1 + w.pick("quantity", 3))}))
	w.check(w.Levels(w.ctx, []domain.Place{show.Place}, show.Sale.SKUs()))
}
