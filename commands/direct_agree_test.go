package commands_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"seckill/commands"
	"seckill/commands/gatetest"
	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/memgate"
)

// pair is one sale judged twice: by a gate in memory, and by the log alone.
type pair struct {
	*till
	stage *gatetest.Stage
	show  *gatetest.Show
	rand  *rand.Rand
	// bought are the purchases that were accepted and not cancelled.
	bought []commands.Reservation
	asked  []commands.Reservation
}

// TestTheLogAndAGateJudgeAlike lets a gate and the log judge the same random purchases,
// cancellations, pauses and releases, and wants the same outcomes about the same orders.
func TestTheLogAndAGateJudgeAlike(t *testing.T) {
	const sales, steps = 12, 60
	c := newTill(t, 1, commands.DirectOptions{}, nil)
	stage := gatetest.NewStage(t, gatetest.Subject{Ports: memgate.New(1, time.Now)})
	seen := map[domain.Outcome]int{}
	// A few walks may never meet the rarest outcome: then there are more.
	for n := 0; n < sales || (n < 20*sales && len(unseen(seen)) > 0); n++ {
		seed := uint64(time.Now().UnixNano()) + uint64(n)
		p := &pair{till: c, stage: stage, rand: rand.New(rand.NewPCG(seed, 0))}
		p.begin()
		for range steps {
			p.step(seen)
			if t.Failed() {
				t.Fatalf("the seed was %d", seed)
			}
		}
	}
	if missing := unseen(seen); len(missing) > 0 {
		t.Errorf("no purchase ended %v: the walk goes nowhere", missing)
	}
}

// unseen lists the outcomes that a walk should meet and did not.
func unseen(seen map[domain.Outcome]int) (missing []domain.Outcome) {
	for _, o := range []domain.Outcome{domain.Reserved, domain.SoldOut, domain.Repeat, domain.SameOrder, domain.LimitExceeded, domain.KeyMismatch,
		domain.NotEligible, domain.TicketInvalid, domain.Paused} {
		if seen[o] == 0 {
			missing = append(missing, o)
		}
	}
	return missing
}

// begin opens the sale on both sides.
func (p *pair) begin() {
	pick := p.rand.IntN
	p.show = p.stage.Open(func(s *domain.SaleTerms) {
		s.Rebuy, s.LimitPerBuyer, s.OrdersPerBuyer = pick(2) == 1, int64(1+pick(5)), 1+pick(3)
	}, int64(1+pick(8)), int64(1+pick(8)))
	terms := p.show.Sale.Terms
	terms.Strategy = domain.StrategyPostgres
	scheduled, released := domain.Schedule(p.show.Place.Sale, terms, "test")
	group := &eventstore.Group{Appends: []eventstore.Append{p.say(scheduled)}}
	for _, r := range released {
		stream := domain.StockStream(r.SaleID, r.SKU, 0)
		group.Appends = append(group.Appends, eventstore.Append{Stream: stream, Events: []eventstore.NewEvent{p.of(r)}})
		group.Guards = append(group.Guards, eventstore.Guard{Stream: stream, Released: r.Quantity})
	}
	p.stored(group)
}

func (p *pair) of(e domain.Event) eventstore.NewEvent {
	ev := p.event(e, "")
	ev.SaleID = p.show.Place.Sale
	return ev
}

func (p *pair) say(e domain.Event) eventstore.Append {
	return eventstore.Append{Stream: domain.SaleStream(p.show.Place.Sale), Expected: eventstore.AnyVersion, Events: []eventstore.NewEvent{p.of(e)}}
}

func (p *pair) stored(group *eventstore.Group) {
	p.t.Helper()
	_, err := p.store.Submit(p.t.Context(), eventstore.Work{Decide: func(eventstore.Look) (*eventstore.Group, error) { return group, nil }})
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *pair) step(seen map[domain.Outcome]int) {
	switch n := p.rand.IntN(12); {
	case n < 7:
		p.buy(seen)
	case n < 8 && len(p.asked) > 0:
		p.judge(p.asked[p.rand.IntN(len(p.asked))], seen)
	case n < 10 && len(p.bought) > 0:
		p.cancel()
	default:
		p.steer()
	}
}

func (p *pair) buy(seen map[domain.Outcome]int) {
	pick := p.rand.IntN
	buyer := []string{"u", "v", "w"}[pick(3)]
	r := p.stage.Ask(p.show, buyer, int64(pick(3)), int64(1+pick(2)))
	r.Eligible = pick(8) > 0
	if pick(4) == 0 {
		r.Ticket = fmt.Sprintf("%x", buyer+string(rune('1'+pick(3))))
	}
	if pick(3) == 0 {
		r.Key, r.BodyHash = fmt.Sprintf("%x", buyer+string(rune('1'+pick(3)))), []string{"01", "02"}[pick(2)]
	}
	p.asked = append(p.asked, r)
	p.judge(r, seen)
}

// judge asks both.
func (p *pair) judge(r commands.Reservation, seen map[domain.Outcome]int) {
	want := p.stage.Reserve(r)
	direct := r
	direct.Place.Direct = true
	got, err := p.direct.Reserve(p.t.Context(), direct)
	if err != nil || got.Outcome != want.Outcome || got.Order != want.Order {
		p.t.Errorf("buyer %s asks for %v: the log says %s of %q (%v), the gate %s of %q", r.Buyer, r.Lines, got.Outcome, got.Order, err, want.Outcome, want.Order)
	}
	seen[want.Outcome]++
	if want.Outcome == domain.Reserved {
		p.stage.Record(p.show)
		p.bought = append(p.bought, r)
	}
}

func (p *pair) cancel() {
	i := p.rand.IntN(len(p.bought))
	r := p.bought[i]
	p.bought = append(p.bought[:i:i], p.bought[i+1:]...)
	p.stage.Return(p.show, r)
	p.stage.Catchup(p.show)
	if _, err := p.orders.CancelFor(p.t.Context(), r.Order, domain.Cancellation{By: "buyer", Restock: true}, commands.Actor{By: r.Buyer}); err != nil {
		p.t.Errorf("cancel order %s: %v", r.Order, err)
	}
}

// steer pauses the sale or lets it go on, or releases a unit.
func (p *pair) steer() {
	sale := p.show.Place.Sale
	switch {
	case p.show.Sale.Halted():
		p.tell(&domain.SaleResumed{SaleID: sale, Reason: domain.PausedByOperator})
	case p.rand.IntN(4) == 0:
		p.tell(&domain.SalePaused{SaleID: sale, Reason: domain.PausedByOperator})
	default:
		sku := p.show.Sale.SKUs()[p.rand.IntN(2)]
		released := &domain.StockReleased{SaleID: sale, SKU: sku, Quantity: 1}
		p.stage.Append(p.show, released)
		stream := domain.StockStream(sale, sku, 0)
		guards, err := p.store.Guards(p.t.Context(), []string{stream})
		if err != nil {
			p.t.Fatal(err)
		}
		guards[0].Released++
		p.stored(&eventstore.Group{Guards: guards, Appends: []eventstore.Append{{Stream: stream, Expected: eventstore.AnyVersion, Events: []eventstore.NewEvent{p.of(released)}}}})
	}
	p.stage.Catchup(p.show)
}

func (p *pair) tell(e domain.Event) {
	p.stage.Say(p.show, e)
	p.stored(&eventstore.Group{Appends: []eventstore.Append{p.say(e)}})
}
