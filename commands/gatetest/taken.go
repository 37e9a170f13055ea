package gatetest

import (
	"encoding/json"
	"iter"
	"sync"
	"testing"

	"seckill/commands"
	"seckill/domain"
)

// eachTaken gives what an entry carries of one kind beside purchases, with its place
// there, but for what was decided already.
func eachTaken[T any](s *Stage, raws []json.RawMessage, entry domain.EntryID, id func(T) string) iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		s.tb.Helper()
		for i, raw := range raws {
			var one T
			entry.I = i + 1
			if err := json.Unmarshal(raw, &one); err != nil {
				s.tb.Fatalf("entry %s: %v in %s", entry, err, raw)
			}
			if s.decided[id(one)] {
				continue
			}
			s.decided[id(one)] = true
			if !yield(entry.String(), one) {
				return
			}
		}
	}
}

// raceBuyers lets 60 buyers buy a unit of 40 each, and take take others beside every
// fourth of them, all at once.
func raceBuyers(t *testing.T, s *Stage, show *Show, take func(i int) error) {
	t.Helper()
	asks := make([]commands.Reservation, 60)
	for i := range asks {
		asks[i] = s.Ask(show, buyer(i), 1)
	}
	var all sync.WaitGroup
	for i, r := range asks {
		all.Go(func() {
			if _, err := s.Subject.Reserve(s.ctx, r); err != nil {
				t.Errorf("reserve: %v", err)
			}
		})
		if i%4 != 0 {
			continue
		}
		all.Go(func() {
			if err := take(i); err != nil {
				t.Errorf("take: %v", err)
			}
		})
	}
	all.Wait()
}

// account folds what the log says of item A.
func (s *Stage) account(show *Show) (account domain.Account, bought int64) {
	s.tb.Helper()
	events, _ := s.events(show, "A")
	for _, e := range events {
		account = account.Fold(e.Event)
		if r, ok := e.Event.(*domain.StockReserved); ok {
			bought += r.Quantity
		}
	}
	return account, bought
}
