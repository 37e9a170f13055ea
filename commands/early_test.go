package commands

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"seckill/domain"
	"seckill/eventstore"
)

// opening is a Purchaser before a sale opens, over a gate with a clock of its own
// that judges nothing but the time.
type opening struct {
	*soldBy
	gate   time.Time     // the gate's clock
	far    time.Duration // how long a question takes
	asked  int
	looked int
	sold   bool
	blind  bool // a look sees nothing
	away   error
	buyer  string
	tier   string
	gates  *GateClock
	kept   *Kept
	p      *Purchaser
}

func newOpening(t *testing.T, skew time.Duration) *opening {
	s := newSoldBy(t)
	s.log.records = nil
	s.log.add(t, domain.SaleStream(pastSale), pastSale, "", &domain.SaleScheduled{SaleID: pastSale, SaleTerms: openingTerms()})
	o := &opening{soldBy: s, gate: openingAt.Add(-10 * time.Second), buyer: "u"}
	s.now = o.gate.Add(skew)
	env := &Env{Store: 1, Keys: domain.Keys{Current: 1, Secrets: map[uint8][]byte{1: []byte("0123456789abcdef0123456789abcdef")}},
		Now: s.clock, Random: zeros{}, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}
	o.gates = NewGateClock(env, o)
	o.kept = NewKept(env, o, nil, nil)
	o.p = NewPurchaser(env, s.sales, o, nil, o.kept, PurchaserOptions{Clock: o.gates, Shortages: o})
	return o
}

var openingAt = pastBegins.Add(time.Hour)

func openingTerms() domain.SaleTerms {
	return domain.SaleTerms{
		Title: "T", OpensAt: openingAt, ClosesAt: openingAt.Add(time.Hour), AutoOpen: true,
		Items: []domain.ItemTerms{{SKU: "mug", Price: domain.Money{Minor: 1990, Currency: "CNY"}, Stock: 5}},
	}.WithDefaults()
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// pass lets time pass on both clocks.
func (o *opening) pass(d time.Duration) {
	o.gate = o.gate.Add(d)
	o.advance(d)
}

// Time answers in the middle of the question.
func (o *opening) Time(context.Context) (time.Time, error) {
	o.pass(o.far / 2)
	now := o.gate
	o.pass(o.far / 2)
	return now, nil
}

func (o *opening) Reserve(_ context.Context, r Reservation) (Verdict, error) {
	o.asked++
	if o.gate.Before(openingAt) {
		return Verdict{Outcome: domain.TooEarly, OpensAt: openingAt, Now: o.gate}, nil
	}
	if o.sold || !r.Eligible {
		return Verdict{Outcome: map[bool]domain.Outcome{true: domain.SoldOut, false: domain.NotEligible}[r.Eligible], Now: o.gate}, nil
	}
	if r.TicketFault != 0 {
		return Verdict{Outcome: r.TicketFault, Now: o.gate}, nil
	}
	return Verdict{Outcome: domain.Reserved, Order: r.Order, Now: o.gate}, nil
}

func (o *opening) Resolve(context.Context, domain.OrderRef, string) (Resolution, error) {
	return Resolution{}, errors.New("not asked here")
}

func (o *opening) Order(context.Context, domain.OrderRef) (GateOrder, error) {
	return GateOrder{}, errors.New("not asked here")
}

func (o *opening) SoldOut(context.Context, Reservation) (Shortage, error) {
	o.looked++
	if o.away != nil {
		return Shortage{}, o.away
	}
	return Shortage{Sold: o.sold && !o.blind}, nil
}

// want buys and wants an outcome, and whether the gate judged.
func (o *opening) want(t *testing.T, when string, outcome domain.Outcome, judged bool) PurchaseResult {
	t.Helper()
	before := o.asked
	result, err := o.p.Purchase(t.Context(), PurchaseRequest{Buyer: o.buyer, Tier: o.tier, Sale: pastSale, Lines: []domain.Line{{SKU: "mug", Quantity: 1}}})
	if err != nil || result.Outcome != outcome || (o.asked > before) != judged {
		t.Errorf("%s: got %s, judged by the gate %t, %v; want %s, %t", when, result.Outcome, o.asked > before, err, outcome, judged)
	}
	return result
}

func (o *opening) measure(t *testing.T) {
	t.Helper()
	if err := o.gates.Measure(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// at brings the gate's clock to a moment before the opening, measured just before.
func (o *opening) at(t *testing.T, before time.Duration) {
	t.Helper()
	o.pass(openingAt.Add(-before).Sub(o.gate) - o.far)
	o.measure(t)
}

func TestB67WhoComesEarlyIsRefusedFromMemoryAndTheLastMomentsByOneClock(t *testing.T) {
	for _, skew := range []time.Duration{-2 * time.Second, 0, 2 * time.Second} {
		t.Run("the API's clock is off by "+skew.String(), func(t *testing.T) {
			o := newOpening(t, skew)
			o.measure(t)
			if r := o.want(t, "10 s before", domain.TooEarly, false); !r.OpensAt.Equal(openingAt) || r.OpensAt.Sub(r.Now).Round(time.Millisecond) != 10*time.Second {
				t.Errorf("got opens at %s and now %s, want %s and 10 s before", r.OpensAt, r.Now, openingAt)
			}
			o.at(t, 150*time.Millisecond)
			o.want(t, "150 ms before", domain.TooEarly, false)
			o.at(t, 100*time.Millisecond)
			o.want(t, "100 ms before", domain.TooEarly, true)
			o.at(t, time.Millisecond)
			o.want(t, "1 ms before", domain.TooEarly, true)
			if n := o.kept.Size(); n != 0 {
				t.Errorf("%d purchases are held, want none", n)
			}
			o.at(t, 0)
			o.want(t, "at the opening", domain.Reserved, true)
		})
	}
}

func TestB67WhereTheGatesClockIsUncertainTheGateDecides(t *testing.T) {
	o := newOpening(t, time.Second)
	o.want(t, "never measured", domain.TooEarly, true)
	o.far = 400 * time.Millisecond
	o.at(t, 350*time.Millisecond)
	o.want(t, "known to 200 ms, 350 ms before", domain.TooEarly, false)
	o = newOpening(t, time.Second)
	o.far = 400 * time.Millisecond
	o.at(t, 290*time.Millisecond)
	o.want(t, "known to 200 ms, 290 ms before", domain.TooEarly, true)

	o = newOpening(t, 0)
	o.measure(t)
	o.pass(1100 * time.Millisecond)
	o.want(t, "not measured for long", domain.TooEarly, true)
	o.measure(t)
	o.want(t, "measured again", domain.TooEarly, false)
	o.gate = o.gate.Add(9 * time.Second) // another server answers
	o.measure(t)
	o.pass(-time.Millisecond)
	o.at(t, 90*time.Millisecond)
	o.want(t, "after the gate's clock was set", domain.TooEarly, true)
}

func TestAGoodMeasurementIsKeptOverWorseOnesUntilItIsOld(t *testing.T) {
	o := newOpening(t, 0)
	o.measure(t)
	o.far = 100 * time.Millisecond
	o.measure(t)
	if _, bound, ok := o.gates.Now(); !ok || bound > time.Millisecond {
		t.Errorf("got a bound of %s, %t; want that of the better measurement", bound, ok)
	}
	for range 300 {
		o.pass(500 * time.Millisecond)
		o.measure(t)
	}
	if _, bound, ok := o.gates.Now(); !ok || bound > 51*time.Millisecond {
		t.Errorf("after three minutes: got a bound of %s, %t; want that of a fresh measurement", bound, ok)
	}
}

func TestOnlyASaleOfWhichAllIsKnownRefusesFromMemory(t *testing.T) {
	for name, e := range map[string]domain.Event{
		"a paused sale": &domain.SalePaused{SaleID: pastSale, Reason: domain.PausedByOperator},
		"a closed sale": &domain.SaleClosed{SaleID: pastSale},
	} {
		o := newOpening(t, 0)
		o.log.add(t, domain.SaleStream(pastSale), pastSale, "", e)
		o.measure(t)
		o.want(t, name, domain.TooEarly, true)
	}
	o := newOpening(t, 0)
	later := openingTerms()
	later.OpensAt = openingAt.Add(30 * time.Minute)
	o.log.add(t, domain.SaleStream(pastSale), pastSale, "", &domain.SaleRevised{SaleID: pastSale, SaleTerms: later})
	o.measure(t)
	o.want(t, "opening was moved, and it is before both", domain.TooEarly, false)
	o.at(t, -time.Second)
	o.want(t, "opening was moved, and it is after the first", domain.Reserved, true)

	o = newOpening(t, 0)
	o.measure(t)
	o.want(t, "the log is there", domain.TooEarly, false)
	o.fail = eventstore.ErrUnavailable
	o.pass(1500 * time.Millisecond)
	o.measure(t)
	o.want(t, "the log has been away for longer than a second", domain.TooEarly, true)
}

func TestWhatASaleDoesNotHaveIsNotFoundBeforeItOpensToo(t *testing.T) {
	o := newOpening(t, 0)
	o.measure(t)
	_, err := o.p.Purchase(t.Context(), PurchaseRequest{Buyer: "u", Sale: pastSale, Lines: []domain.Line{{SKU: "cup", Quantity: 1}}})
	var p *domain.Problem
	if !errors.As(err, &p) || p.Code != domain.CodeSKUNotFound || o.asked != 0 {
		t.Errorf("got %v, the gate was asked %d times; want sku_not_found and none", err, o.asked)
	}
}

func TestB09SoldOutIsToldByALookThatBeganAfterThePurchaseCame(t *testing.T) {
	o := newOpening(t, 0)
	o.at(t, -time.Second)
	o.sold = true
	o.want(t, "the first that hears it", domain.SoldOut, true)
	o.want(t, "the next", domain.SoldOut, false)
	o.blind = true
	o.want(t, "a unit that came and went", domain.SoldOut, true)
	o.blind = false
	o.want(t, "who comes after it", domain.SoldOut, false)
	o.sold = false
	o.buyer = "v"
	o.want(t, "after a unit came back", domain.Reserved, true)
	looked := o.looked
	o.buyer = "w"
	o.want(t, "while there are units", domain.Reserved, true)
	if o.looked != looked {
		t.Errorf("the gate was looked at although nothing is short")
	}
}

func TestB09WhatWasSeenBeforeTheLinesWereKnownAnswersForOneUnitAlone(t *testing.T) {
	o := newOpening(t, 0)
	o.at(t, -time.Second)
	ahead := func(quantity int64) (PurchaseResult, error) {
		req := PurchaseRequest{Buyer: "v", Sale: pastSale}
		o.p.LookAhead(t.Context(), &req)
		req.Lines = []domain.Line{{SKU: "mug", Quantity: quantity}}
		return o.p.Purchase(t.Context(), req)
	}
	want := func(when string, quantity int64, outcome domain.Outcome, looked, asked int) {
		t.Helper()
		looks, asks := o.looked, o.asked
		if r, err := ahead(quantity); err != nil || r.Outcome != outcome || o.looked-looks != looked || o.asked-asks != asked {
			t.Errorf("%s: got %s, %v, %d looks and the gate asked %d times; want %s, %d and %d", when, r.Outcome, err, o.looked-looks, o.asked-asks, outcome, looked, asked)
		}
	}
	o.sold = true
	want("nothing is short yet", 1, domain.SoldOut, 0, 1)
	want("one unit", 1, domain.SoldOut, 1, 0)
	want("two units", 2, domain.SoldOut, 2, 0)
	o.away = &GateError{Err: errors.New("away")}
	looks := o.looked
	var problem *domain.Problem
	if _, err := ahead(1); !errors.As(err, &problem) || problem.Code != domain.CodeBusy || o.looked != looks+1 {
		t.Errorf("the gate is away: got %v and %d looks; want busy and one", err, o.looked-looks)
	}
	o.away = nil
	o.blind = true
	want("seen units that were gone then", 1, domain.SoldOut, 2, 1)
	o.sold, o.blind = false, false
	want("a unit came back", 1, domain.Reserved, 2, 1)
	want("nothing is short any more", 1, domain.Reserved, 0, 1)
}

func TestWhoMayNotBuyHearsThatFromTheGateThoughNothingIsLeft(t *testing.T) {
	o := newOpening(t, 0)
	o.log.records = nil
	terms := openingTerms()
	terms.EligibleTiers = []string{"gold"}
	o.log.add(t, domain.SaleStream(pastSale), pastSale, "", &domain.SaleScheduled{SaleID: pastSale, SaleTerms: terms})
	o.at(t, -time.Second)
	o.sold, o.tier = true, "gold"
	o.want(t, "the first that hears it", domain.SoldOut, true)
	o.want(t, "a buyer of the tier", domain.SoldOut, false)
	o.tier = "tin"
	o.want(t, "a buyer of another tier", domain.NotEligible, true)
}
