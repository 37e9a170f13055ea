package gatetest

import (
	"sync"
	"testing"

	"seckill/commands"
	"seckill/domain"
)

// crowd asks for everything at once and counts the outcomes.
func (s *Stage) crowd(all []commands.Reservation) map[domain.Outcome]int {
	s.tb.Helper()
	verdicts := make([]commands.Verdict, len(all))
	errs := make([]error, len(all))
	start := make(chan struct{})
	var done sync.WaitGroup
	for i := range all {
		done.Go(func() {
			<-start
			verdicts[i], errs[i] = s.Subject.Reserve(s.ctx, all[i])
		})
	}
	close(start)
	done.Wait()
	counts := map[domain.Outcome]int{}
	for i := range all {
		if errs[i] != nil {
			s.tb.Fatalf("reserve %d of %d: %v", i, len(all), errs[i])
		}
		counts[verdicts[i].Outcome]++
	}
	return counts
}

func wantCounts(t *testing.T, got map[domain.Outcome]int, want map[domain.Outcome]int) {
	t.Helper()
	for o, n := range want {
		if got[o] != n {
			t.Fatalf("outcomes: got %v, want %v", got, want)
		}
	}
}

func testRaces(t *testing.T, maker Maker) {
	t.Run("B01 a hundred buyers and the last unit: one of them gets it", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(nil, 1)
		var all []commands.Reservation
		for i := range 100 {
			all = append(all, s.Ask(show, buyer(i), 1))
		}
		wantCounts(t, s.crowd(all), map[domain.Outcome]int{domain.Reserved: 1, domain.SoldOut: 99})
		s.WantLeft(show, "A", 0)
		s.checkJournal(show.Place.Lane(), 1)
	})
	t.Run("B02 fifty purchases of one buyer at once: one is accepted, the others repeat it", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(nil, 100)
		var all []commands.Reservation
		for i := range 50 {
			r := s.Ask(show, "u", 1)
			r.Key, r.BodyHash = buyer(i), "00"
			all = append(all, r)
		}
		wantCounts(t, s.crowd(all), map[domain.Outcome]int{domain.Reserved: 1, domain.Repeat: 49})
		s.WantLeft(show, "A", 99)
	})
	t.Run("B02 fifty orders allowed and one unit: one is accepted, the others pass the limit", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(func(terms *domain.SaleTerms) { terms.OrdersPerBuyer = 50 }, 100)
		var all []commands.Reservation
		for range 50 {
			all = append(all, s.Ask(show, "u", 1))
		}
		wantCounts(t, s.crowd(all), map[domain.Outcome]int{domain.Reserved: 1, domain.LimitExceeded: 49})
		s.WantLeft(show, "A", 99)
	})
	t.Run("B04 two purchases of three units out of five: one is accepted", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(func(terms *domain.SaleTerms) { terms.LimitPerBuyer = 3 }, 5)
		all := []commands.Reservation{s.Ask(show, "u", 3), s.Ask(show, "v", 3)}
		wantCounts(t, s.crowd(all), map[domain.Outcome]int{domain.Reserved: 1, domain.SoldOut: 1})
		s.WantLeft(show, "A", 2)
	})
	t.Run("the same order twenty times at once takes once", func(t *testing.T) {
		s := NewStage(t, maker(t))
		show := s.Open(nil, 100)
		r := s.Ask(show, "u", 1)
		all := make([]commands.Reservation, 20)
		for i := range all {
			all[i] = r
		}
		wantCounts(t, s.crowd(all), map[domain.Outcome]int{domain.Reserved: 1, domain.SameOrder: 19})
		s.checkJournal(show.Place.Lane(), 1)
	})
	t.Run("several sales share a lane without touching each other", func(t *testing.T) { testSharedLane(t, maker) })
}

func testSharedLane(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	first := s.Open(nil, 30)
	second := s.Open(nil, 20)
	for second.Place.Lane() != first.Place.Lane() {
		second = s.Open(nil, 20)
	}
	var all []commands.Reservation
	for i := range 100 {
		show := first
		if i%2 == 1 {
			show = second
		}
		all = append(all, s.Ask(show, buyer(i), 1))
	}
	wantCounts(t, s.crowd(all), map[domain.Outcome]int{domain.Reserved: 50, domain.SoldOut: 50})
	s.WantLeft(first, "A", 0)
	s.WantLeft(second, "A", 0)
	s.checkJournal(first.Place.Lane(), 50)
}
