package gatetest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"seckill/commands"
	"seckill/domain"
	"seckill/eventstore"
)

// Stage is a gate with a small log beside it. It is not safe for concurrent use;
// the gate inside is.
type Stage struct {
	Subject
	tb    testing.TB
	ctx   context.Context
	keys  domain.Keys
	made  uint64
	shows []*Show
	log   map[string][]commands.StockEvent
	// decided holds every order that the log has decided.
	decided map[string]bool
	// taken and ended hold the orders that the log placed, and those of them
	// that it ended.
	taken, ended map[string]bool
}

// Show is a sale on a stage, in one bucket.
type Show struct {
	Place domain.Place
	Sale  domain.Sale
	Mark  eventstore.Mark
}

// NewStage puts a gate on a stage.
func NewStage(tb testing.TB, s Subject) *Stage {
	return &Stage{
		Subject: s, tb: tb, ctx: soon(tb),
		keys: domain.Keys{Current: 1, Secrets: map[uint8][]byte{1: []byte("a secret of the tests")}},
		log:  map[string][]commands.StockEvent{}, decided: map[string]bool{}, taken: map[string]bool{}, ended: map[string]bool{},
	}
}

// stageMark makes up the hash of a version; salt tells apart two histories.
func stageMark(stream string, version int64, salt string) eventstore.Mark {
	return eventstore.Mark{Number: version, Hash: sha256.Sum256(fmt.Appendf(nil, "%s/%d/%s", stream, version, salt))}
}

// Schedule writes a sale into the log: open since an hour, items "A", "B", …
// with the stocks given. change may alter the terms.
func (s *Stage) Schedule(change func(*domain.SaleTerms), stocks ...int64) *Show {
	s.made++
	show := &Show{Place: domain.Place{Store: 1, Sale: domain.SaleNumber(s.made).ID()}}
	now := s.lane(show.Place.Lane()).Now
	terms := domain.SaleTerms{Title: "a sale", OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(time.Hour), AutoOpen: true}.WithDefaults()
	for i := range stocks {
		terms.Items = append(terms.Items, domain.ItemTerms{SKU: string(rune('A' + i)), Price: domain.Money{Minor: 100, Currency: "CNY"}, Stock: stocks[i]})
	}
	if change != nil {
		change(&terms)
	}
	s.Say(show, &domain.SaleScheduled{SaleID: show.Place.Sale, SaleTerms: terms})
	for i, n := range stocks {
		if n > 0 {
			s.Append(show, &domain.StockReleased{SaleID: show.Place.Sale, SKU: terms.Items[i].SKU, Quantity: n})
		}
	}
	s.shows = append(s.shows, show)
	return show
}

// Say adds an event to a sale's own stream.
func (s *Stage) Say(show *Show, e domain.Event) {
	show.Sale = show.Sale.FoldSale(e)
	show.Mark = stageMark(domain.SaleStream(show.Place.Sale), show.Sale.Version, "")
}

// Append adds an event to the end of its stock stream.
func (s *Stage) Append(show *Show, e domain.Event) {
	sku := skuOf(e)
	stream := domain.StockStream(show.Place.Sale, sku, show.Place.Bucket)
	s.log[stream] = append(s.log[stream], commands.StockEvent{At: stageMark(stream, int64(len(s.log[stream]))+1, ""), Event: e})
}

func skuOf(e domain.Event) string {
	switch e := e.(type) {
	case *domain.StockReleased:
		return e.SKU
	case *domain.StockReserved:
		return e.SKU
	case *domain.StockReturned:
		return e.SKU
	case *domain.StockRefused:
		return e.SKU
	case *domain.StockWithdrawn:
		return e.SKU
	case *domain.StockMovedOut:
		return e.SKU
	case *domain.StockMovedIn:
		return e.SKU
	case *domain.StockWrittenOff:
		return e.SKU
	case *domain.StockAdjusted:
		return e.SKU
	}
	panic(fmt.Sprintf("%T is no event of a stock", e))
}

// Open schedules a sale and brings it into the gate, ready to sell.
func (s *Stage) Open(change func(*domain.SaleTerms), stocks ...int64) *Show {
	s.tb.Helper()
	show := s.Schedule(change, stocks...)
	if lane := s.lane(show.Place.Lane()); !lane.Selling() {
		s.Recover(show.Place.Lane())
		return show
	}
	s.Preheat(show, "preheat")
	return show
}

// Order makes an order id for a buyer.
func (s *Stage) Order(show *Show, buyer string) string {
	s.tb.Helper()
	s.made++
	var random [10]byte
	binary.BigEndian.PutUint64(random[:], s.made)
	id, err := domain.NewOrderID(s.keys, show.Place, buyer, random)
	if err != nil {
		s.tb.Fatalf("make an order id: %v", err)
	}
	return id
}

// Ask makes a reservation of quantities of the first items, in their order.
func (s *Stage) Ask(show *Show, buyer string, quantities ...int64) commands.Reservation {
	s.tb.Helper()
	r := commands.Reservation{
		Order: s.Order(show, buyer), Buyer: buyer, Place: show.Place, Items: show.Sale.SKUs(), Eligible: true, TraceID: "trace",
	}
	for i, q := range quantities {
		if q > 0 {
			r.Lines = append(r.Lines, domain.Line{SKU: r.Items[i], Quantity: q})
		}
	}
	return r
}

// Reserve asks the gate and fails the test on a fault.
func (s *Stage) Reserve(r commands.Reservation) commands.Verdict {
	s.tb.Helper()
	v, err := s.Subject.Reserve(s.ctx, r)
	if err != nil {
		s.tb.Fatalf("reserve %+v: %v", r, err)
	}
	return v
}

// Buy asks for quantities and wants an outcome.
func (s *Stage) Buy(show *Show, buyer string, want domain.Outcome, quantities ...int64) commands.Reservation {
	s.tb.Helper()
	r := s.Ask(show, buyer, quantities...)
	if v := s.Reserve(r); v.Outcome != want {
		s.tb.Fatalf("buyer %s asks for %v: got %s, want %s", buyer, quantities, v.Outcome, want)
	}
	return r
}

// Left gives the units that the gate holds of an item.
func (s *Stage) Left(show *Show, sku string) int64 {
	s.tb.Helper()
	return s.peek(show, sku).Stocks[0].Available
}

// WantLeft fails the test unless the gate holds so many units of an item.
func (s *Stage) WantLeft(show *Show, sku string, want int64) {
	s.tb.Helper()
	if got := s.Left(show, sku); got != want {
		s.tb.Fatalf("units left of %s: got %d, want %d", sku, got, want)
	}
}

func (s *Stage) peek(show *Show, skus ...string) commands.Peeked {
	s.tb.Helper()
	p, err := s.Peek(s.ctx, show.Place, skus)
	if err != nil {
		s.tb.Fatalf("peek at sale %s: %v", show.Place.Sale, err)
	}
	return p
}

func (s *Stage) lane(lane int) commands.LaneState {
	s.tb.Helper()
	l, err := s.Lane(s.ctx, lane)
	if err != nil {
		s.tb.Fatalf("look at lane %d: %v", lane, err)
	}
	return l
}

// purchasesOf reads the purchases of an entry.
func (s *Stage) purchasesOf(e commands.JournalEntry) (*commands.EntryBody, []commands.Purchase) {
	s.tb.Helper()
	body, err := commands.DecodeEntry(e.Body)
	if err != nil {
		s.tb.Fatalf("entry %s: %v", e.ID, err)
	}
	all := make([]commands.Purchase, len(body.Purchases))
	for i, raw := range body.Purchases {
		if err := json.Unmarshal(raw, &all[i]); err != nil {
			s.tb.Fatalf("purchase %s.%d: %v in %s", e.ID, i+1, err, raw)
		}
	}
	return body, all
}
