package gatetest

import (
	"reflect"
	"slices"
	"testing"

	"seckill/commands"
	"seckill/domain"
)

// Texts is what callers choose of their purchases.
type Texts struct {
	Buyers      [2]string // names of buyers, maybe the same
	Key, Ticket string    // hexadecimal, "" without
	Quantities  [2]int64  // of the two items
	Promised    int64
	Limit       int64 // of the sale
	Orders      int   // per buyer
}

// AgreeOnTexts lets two buyers purchase from two gates, wants the same answers of both,
// and that journal and records tell of the purchases as they were asked for.
func AgreeOnTexts(t *testing.T, first, second Maker, x Texts) {
	s := NewStage(t, joined(t, first(t), second(t)))
	show := s.Open(func(terms *domain.SaleTerms) { terms.LimitPerBuyer, terms.OrdersPerBuyer = x.Limit, x.Orders }, 5, 5)
	var asked []commands.Reservation
	for _, buyer := range []string{x.Buyers[0], x.Buyers[1], x.Buyers[0]} {
		r := s.Ask(show, buyer, 1, 1)
		r.Lines[0].Quantity, r.Lines[1].Quantity = x.Quantities[0], x.Quantities[1]
		r.Key, r.Ticket, r.Promised = x.Key, x.Ticket, x.Promised
		if x.Key != "" {
			r.BodyHash = "00"
		}
		asked = append(asked, r)
		s.reserveAsAsked(r)
	}
	s.Record(show)
	s.Catchup(show)
	for _, r := range asked {
		s.reserveAsAsked(r)
		if _, err := s.Resolve(s.ctx, s.ref(r), r.Buyer); err != nil {
			t.Fatalf("resolve the order of %q: %v", r.Buyer, err)
		}
	}
	s.peek(show, show.Sale.SKUs()...)
	s.scanned(show, 7)
}

// reserveAsAsked reserves, and looks for what was accepted under its buyer. That a gate
// refuses what no caller may ask is its answer too: both must.
func (s *Stage) reserveAsAsked(r commands.Reservation) {
	s.tb.Helper()
	v, err := s.Subject.Reserve(s.ctx, r)
	if err != nil || v.Outcome != domain.Reserved {
		return
	}
	o, err := s.Subject.Order(s.ctx, s.ref(r))
	if err != nil || o.Buyer != r.Buyer {
		s.tb.Fatalf("the order of %q is that of %q, %v", r.Buyer, o.Buyer, err)
	}
	for _, e := range s.journal(r.Place.Lane()) {
		_, purchases := s.purchasesOf(e)
		i := slices.IndexFunc(purchases, func(p commands.Purchase) bool { return p.Order == r.Order })
		if i < 0 {
			continue
		}
		p := purchases[i]
		lines := make([]domain.Line, len(p.Lines))
		for n, l := range p.Lines {
			lines[n] = domain.Line{SKU: l.SKU, Quantity: l.Quantity}
		}
		if p.Buyer != r.Buyer || p.Key != r.Key || p.Ticket != r.Ticket || !reflect.DeepEqual(lines, r.Lines) {
			s.tb.Fatalf("%+v stands in the journal as %+v", r, p)
		}
		return
	}
	s.tb.Fatalf("the purchase of %q was accepted and stands in no entry", r.Buyer)
}
