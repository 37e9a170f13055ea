package gatetest

import (
	"fmt"
	"testing"

	"seckill/commands"
	"seckill/domain"
)

// Withdraw asks the gate for units and wants an outcome.
func (s *Stage) Withdraw(show *Show, id string, quantity int64, want commands.WithdrawOutcome) commands.WithdrawVerdict {
	s.tb.Helper()
	v, err := s.Subject.Withdraw(s.ctx, commands.Withdrawal{ID: id, Place: show.Place, SKU: "A", Quantity: quantity, By: "admin", TraceID: "trace"})
	if err != nil || v.Outcome != want {
		s.tb.Fatalf("withdraw %d under %s: got %+v, %v, want outcome %d", quantity, id, v, err, want)
	}
	return v
}

// recordWithdrawals writes the withdrawals of an entry into the log, those that were
// decided already not.
func (s *Stage) recordWithdrawals(id domain.EntryID, body *commands.EntryBody) {
	s.tb.Helper()
	for entry, w := range eachTaken(s, body.Withdrawals, id, func(w commands.JournalWithdrawal) string { return w.ID }) {
		s.Append(s.show(w.Sale), &domain.StockWithdrawn{SaleID: w.Sale, SKU: w.SKU, Bucket: w.Bucket, WithdrawID: w.ID, Quantity: w.Quantity, Entry: entry, By: w.By})
	}
}

func testWithdraw(t *testing.T, maker Maker) {
	t.Run("what is left is withdrawn, once under an id, and not more", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(nil, 5)
		s.Buy(show, "u", domain.Reserved, 1)
		before := s.lane(show.Place.Lane()).N
		s.Withdraw(show, "w1", 5, commands.WithdrawShort)
		for range 2 {
			v := s.Withdraw(show, "w1", 3, commands.WithdrawTaken)
			if v.Available != 1 || v.Quantity != 3 || v.N != before+1 {
				t.Fatalf("got %+v, want 3 taken, 1 left, one entry more than %d", v, before)
			}
		}
		if v := s.Withdraw(show, "w1", 9, commands.WithdrawTaken); v.Quantity != 3 {
			t.Fatalf("another quantity under a known id: got %+v, want the 3 that were taken", v)
		}
		s.Withdraw(show, "w2", 2, commands.WithdrawShort)
		s.Buy(show, "v", domain.Reserved, 1)
		s.Buy(show, "w", domain.SoldOut, 1)
		s.Record(show)
		s.Catchup(show)
		s.WantLeft(show, "A", 0)
	})
	t.Run("what is closed or missing gives nothing", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(nil, 5)
		for _, w := range []commands.Withdrawal{
			{ID: "w", Place: show.Place, SKU: "missing", Quantity: 1},
			{ID: "w", Place: domain.Place{Store: 1, Sale: domain.SaleNumber(1 << 30).ID()}, SKU: "A", Quantity: 1},
		} {
			if v, err := s.Subject.Withdraw(s.ctx, w); err != nil || v.Outcome != commands.WithdrawNotReady {
				t.Fatalf("withdraw %+v: got %+v, %v, want not ready", w, v, err)
			}
		}
		for _, w := range []commands.Withdrawal{{ID: "w", Place: show.Place, SKU: "A"}, {ID: "a b", Place: show.Place, SKU: "A", Quantity: 1}} {
			if v, err := s.Subject.Withdraw(s.ctx, w); err == nil || commands.IsUnknown(err) {
				t.Fatalf("withdraw %+v: got %+v, %v, want an error that nothing happened", w, v, err)
			}
		}
		lane := show.Place.Lane()
		if _, err := s.CloseLane(s.ctx, lane, s.lane(lane).Epoch+1); err != nil {
			t.Fatal(err)
		}
		s.Withdraw(show, "w", 1, commands.WithdrawNotReady)
	})
	t.Run("a withdrawal outlives a recovery, and one that the log refused comes back", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(nil, 5)
		s.Withdraw(show, "w1", 2, commands.WithdrawTaken)
		s.Recover(show.Place.Lane())
		s.WantLeft(show, "A", 3)
		s.Withdraw(show, "w1", 2, commands.WithdrawTaken)
		s.Withdraw(show, "w2", 2, commands.WithdrawTaken)
		s.decided["w2"] = true
		s.Append(show, &domain.StockRefused{SaleID: show.Place.Sale, SKU: "A", WithdrawID: "w2", Quantity: 2, Entry: "2-1.1", Reason: domain.RejectedGuard})
		s.Catchup(show)
		s.WantLeft(show, "A", 3)
		s.Withdraw(show, "w2", 2, commands.WithdrawRefused)
		if start, err := s.ResetStock(s.ctx, show.Place, "A", s.lane(show.Place.Lane()).Epoch, "token"); err != nil || !start.OK {
			t.Fatalf("reset: got %+v, %v", start, err)
		}
		s.Catchup(show)
		s.WantLeft(show, "A", 3)
	})
	t.Run("withdrawals and purchases at once take no more than there is", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(nil, 40)
		raceBuyers(t, s, show, func(i int) error {
			_, err := s.Subject.Withdraw(s.ctx, commands.Withdrawal{ID: fmt.Sprintf("w%d", i/8), Place: show.Place, SKU: "A", Quantity: 2}) // each id twice
			return err
		})
		s.Record(show)
		account, _ := s.account(show)
		s.Catchup(show)
		s.WantLeft(show, "A", account.Left())
		if account.Left() != 0 || account.Reserved != 40 {
			t.Errorf("got %+v, want all 40 units taken and none more", account)
		}
	})
}

// withdraw takes units, now and then under an id that was used before.
func (w *walk) withdraw(show *Show) {
	sku := oneOf(w, "item", show.Sale.SKUs()...)
	id := fmt.Sprintf("%s-%s-%d", show.Place.Sale, sku, w.pick("which withdrawal", 6))
	w.check(w.Subject.Withdraw(w.ctx, commands.Withdrawal{ID: id, Place: show.Place, SKU: sku, Quantity: int64(1 + w.pick("quantity", 3)), By: "admin"}))
}
