package gatetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"seckill/commands"
	"seckill/domain"
)

func testTickets(t *testing.T, maker Maker) {
	t.Run("a ticket is used up by the purchase that is accepted with it", func(t *testing.T) { testTicketOnce(t, maker) })
	t.Run("a ticket that will not do is told after eligibility and before the limit", func(t *testing.T) { testTicketOrder(t, maker) })
	t.Run("used tickets come back from the log", func(t *testing.T) { testTicketFromLog(t, maker) })
	t.Run("a ticket of a purchase that the log refused is good again", func(t *testing.T) { testTicketRefused(t, maker) })
	t.Run("fifty purchases at once with one ticket are one", func(t *testing.T) { testTicketRace(t, maker) })
}

// several lets a buyer have many orders.
func several(terms *domain.SaleTerms) { terms.LimitPerBuyer, terms.OrdersPerBuyer = 100, 100 }

// with makes a reservation with a ticket.
func (s *Stage) with(show *Show, ticket string, quantity int64) commands.Reservation {
	r := s.Ask(show, "u", quantity)
	r.Ticket = ticket
	return r
}

// wantTicket asks and wants an outcome.
func (s *Stage) wantTicket(when string, r commands.Reservation, want domain.Outcome) {
	s.tb.Helper()
	if v := s.Reserve(r); v.Outcome != want {
		s.tb.Fatalf("%s: got %s, want %s", when, v.Outcome, want)
	}
}

func (s *Stage) wantUsed(show *Show, ticket string, want bool) {
	s.tb.Helper()
	if used, err := s.TicketUsed(s.ctx, show.Place, ticket); err != nil || used != want {
		s.tb.Fatalf("ticket %s: got used %t, %v; want %t", ticket, used, err, want)
	}
}

func testTicketOnce(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(several, 3)
	s.wantTicket("more than there is", s.with(show, "aa", 4), domain.SoldOut)
	s.wantUsed(show, "aa", false)
	first := s.with(show, "aa", 1)
	s.wantTicket("a refusal used nothing up", first, domain.Reserved)
	s.wantUsed(show, "aa", true)
	s.wantTicket("the same purchase again", first, domain.SameOrder)
	s.wantTicket("another purchase with it", s.with(show, "aa", 1), domain.TicketInvalid)
	s.wantTicket("another ticket", s.with(show, "bb", 1), domain.Reserved)
	s.WantLeft(show, "A", 1)
	other := s.Open(several, 3)
	s.wantUsed(other, "aa", false)
}

func testTicketOrder(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(nil, 3)
	s.Buy(show, "u", domain.Reserved, 1)
	for _, fault := range []domain.Outcome{domain.TicketRequired, domain.TicketInvalid} {
		r := s.Ask(show, "v", 5) // beyond the limit
		r.TicketFault = fault
		s.wantTicket("before the limit", r, fault)
		r.Eligible = false
		s.wantTicket("after eligibility", r, domain.NotEligible)
		own := s.Ask(show, "u", 1)
		own.TicketFault = fault
		s.wantTicket("an owner", own, domain.Repeat)
	}
	r := s.Ask(show, "v", 1)
	r.TicketFault = domain.SoldOut - 2
	wantNothing(t, s, r)
	r.TicketFault, r.Ticket = 0, "not a ticket"
	wantNothing(t, s, r)
}

func testTicketFromLog(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	if s.Lose == nil {
		t.Skip("this gate forgets nothing")
	}
	show := s.Open(several, 5)
	s.wantTicket("a first purchase", s.with(show, "aa", 1), domain.Reserved)
	s.Record(show)
	s.Lose(t, show.Place, "")
	s.Recover(show.Place.Lane())
	s.wantUsed(show, "aa", true)
	s.wantTicket("after a recovery", s.with(show, "aa", 1), domain.TicketInvalid)
	s.wantTicket("another one", s.with(show, "bb", 1), domain.Reserved)
}

func testTicketRefused(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(several, 5)
	r := s.with(show, "aa", 1)
	v := s.Reserve(r)
	s.Refuse(show, r, v.Entry)
	s.Catchup(show)
	s.wantTicket("after the refusal", s.with(show, "aa", 1), domain.Reserved)
	s.wantTicket("once more", s.with(show, "aa", 1), domain.TicketInvalid)
}

func testTicketRace(t *testing.T, maker Maker) {
	s := NewStage(t, maker(t))
	show := s.Open(several, 100)
	asks := make([]commands.Reservation, 50)
	for i := range asks {
		asks[i] = s.with(show, fmt.Sprintf("%02x", i%2), 1)
	}
	var won, lost atomic.Int64
	var all sync.WaitGroup
	for _, r := range asks {
		all.Go(func() {
			v, err := s.Subject.Reserve(s.ctx, r)
			switch {
			case err == nil && v.Outcome == domain.Reserved:
				won.Add(1)
			case err == nil && v.Outcome == domain.TicketInvalid:
				lost.Add(1)
			default:
				t.Errorf("got %+v, %v", v, err)
			}
		})
	}
	all.Wait()
	if won.Load() != 2 || lost.Load() != 48 {
		t.Errorf("got %d accepted and %d refused with two tickets, want 2 and 48", won.Load(), lost.Load())
	}
}
