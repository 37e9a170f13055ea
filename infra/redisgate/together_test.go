package redisgate_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"seckill/commands"
	"seckill/commands/gatetest"
	"seckill/domain"
	"seckill/infra/redisgate"
	"seckill/infra/testenv"
)

// TestPurchasesOfOneCallAreJudgedAsOneByOne sends random purchases of two sales of a lane
// in one call, and the same purchases one after the other to twins of those sales. What
// stands in the batch twice, an order, buyer, key or ticket, must meet what the batch itself
// has decided; and the journal must hold what was accepted, in order, byte for byte.
func TestPurchasesOfOneCallAreJudgedAsOneByOne(t *testing.T) {
	t.Run("on Redis", func(t *testing.T) {
		judgedAsOneByOne(t, openGate(t, testenv.Redis(t), redisgate.Options{}), 24)
	})
	t.Run("on miniredis", func(t *testing.T) {
		m := miniredis.RunT(t)
		judgedAsOneByOne(t, openGate(t, "redis://"+m.Addr(), redisgate.Options{ProcessToken: "this process"}), 8)
	})
}

func judgedAsOneByOne(t *testing.T, gate *redisgate.Gate, runs int) {
	stage := gatetest.NewStage(t, gatetest.Subject{Ports: gate})
	for run := range runs {
		seed := rand.Uint64()
		x := &mixed{Stage: stage, t: t, gate: gate, rand: rand.New(rand.NewPCG(seed, 0)), twins: map[string]*gatetest.Show{}}
		x.open()
		for range x.rand.IntN(8) {
			x.together(1)
		}
		x.together([]int{1, 2, 9, 10, 11, 40, 101, redisgate.MaxBatch}[run%8])
		x.together(1 + x.rand.IntN(30))
		if t.Failed() {
			t.Fatalf("run %d of seed %d", run, seed)
		}
	}
}

// mixed is a run: sales of one lane, and a twin of each.
type mixed struct {
	*gatetest.Stage
	t     *testing.T
	gate  *redisgate.Gate
	rand  *rand.Rand
	shows []*gatetest.Show
	twins map[string]*gatetest.Show
	asked []commands.Reservation
}

func (x *mixed) open() {
	limit, orders, rebuy := int64(1+x.rand.IntN(4)), 1+x.rand.IntN(3), x.rand.IntN(2) == 0
	stocks := []int64{int64(x.rand.IntN(120)), int64(x.rand.IntN(120))}
	terms := func(s *domain.SaleTerms) { s.LimitPerBuyer, s.OrdersPerBuyer, s.Rebuy = limit, orders, rebuy }
	x.shows = append(x.shows, x.Open(terms, stocks...))
	for range x.rand.IntN(2) { // a second one, in the same lane
		other := x.Schedule(terms, stocks...)
		for other.Place.Lane() != x.shows[0].Place.Lane() {
			other = x.Schedule(terms, stocks...)
		}
		x.shows = append(x.shows, other)
		x.Recover(other.Place.Lane())
	}
	for _, show := range x.shows {
		x.twins[show.Place.Sale] = x.Open(terms, stocks...)
	}
}

func (x *mixed) one(of int) commands.Reservation {
	show := x.shows[x.rand.IntN(len(x.shows))]
	buyer := fmt.Sprintf("buyer-%d", x.rand.IntN(1+of))
	quantities := []int64{int64(x.rand.IntN(3)), int64(x.rand.IntN(2))}
	if quantities[0] == 0 {
		quantities[1] = 1
	}
	r := x.Ask(show, buyer, quantities...)
	r.TraceID = fmt.Sprintf("%0*x", 1+x.rand.IntN(32), of) // entries of many lengths
	r.Eligible = x.rand.IntN(12) > 0
	if x.rand.IntN(4) == 0 {
		r.Key, r.BodyHash = fmt.Sprintf("%x", x.rand.IntN(1+of/2)), []string{"01", "02", ""}[x.rand.IntN(3)]
	}
	switch x.rand.IntN(12) {
	case 0:
		r.TicketFault = domain.TicketInvalid
	case 1, 2:
		r.Ticket = fmt.Sprintf("%x", x.rand.IntN(1+of/2))
	case 3:
		r.Promised = int64(1 + x.rand.IntN(6))
	case 4:
		if len(x.asked) > 0 { // an order once more, be it somebody else's
			r.Order = x.asked[x.rand.IntN(len(x.asked))].Order
		}
	case 5:
		r.Items = []string{r.Items[1], r.Items[0]} // a group of its own
	}
	x.asked = append(x.asked, r)
	return r
}

// together sends n purchases in one call, and one by one to the twins.
func (x *mixed) together(n int) {
	x.t.Helper()
	batch := make([]commands.Reservation, n)
	for i := range batch {
		batch[i] = x.one(n)
	}
	if x.rand.IntN(2) == 0 { // as after many that took nothing
		redisgate.MakeLean(x.gate, batch[0].Place.Lane())
	}
	var accepted []commands.Reservation
	var entry domain.EntryID
	for i, told := range redisgate.ReserveTogether(context.Background(), x.gate, batch) {
		alone := told.Reservation
		alone.Place = x.twins[alone.Place.Sale].Place
		want, err := x.gate.Reserve(context.Background(), alone)
		if told.Err != nil || err != nil {
			x.t.Fatalf("reserve: %v, %v", told.Err, err)
		}
		if told.Outcome != want.Outcome || told.Verdict.Order != want.Order {
			x.t.Errorf("purchase %d of %d, %+v: together %s %s, alone %s %s", i+1, n, told.Reservation, told.Outcome, told.Verdict.Order, want.Outcome, want.Order)
		}
		if told.Outcome == domain.Reserved {
			accepted = append(accepted, told.Reservation)
			if entry = told.Entry; entry.I != len(accepted) {
				x.t.Errorf("purchase %d of %d: place %d of the entry, want %d", i+1, n, entry.I, len(accepted))
			}
		}
	}
	x.wantEntry(entry, accepted)
	for _, show := range x.shows {
		for _, sku := range show.Sale.SKUs() {
			x.WantLeft(show, sku, x.Left(x.twins[show.Place.Sale], sku))
		}
	}
}

// wantEntry wants an entry to hold these purchases.
func (x *mixed) wantEntry(id domain.EntryID, want []commands.Reservation) {
	x.t.Helper()
	if len(want) == 0 {
		return
	}
	id.I = 0
	e, found, err := x.gate.Entry(context.Background(), want[0].Place.Lane(), id)
	if err != nil || !found {
		x.t.Fatalf("entry %v: found %t, %v", id, found, err)
	}
	body, err := commands.DecodeEntry(e.Body)
	if err != nil || len(body.Purchases) != len(want) {
		x.t.Fatalf("entry %v: %v, %s; want %d purchases", id, err, e.Body, len(want))
	}
	for i := range want {
		if raw := commands.AppendPurchase(nil, &want[i]); string(raw) != string(body.Purchases[i]) {
			x.t.Errorf("purchase %d of entry %v: got %s, want %s", i+1, id, body.Purchases[i], raw)
		}
	}
	for _, r := range want {
		if terms, ok := body.Terms[r.Place.Sale]; !ok || terms.LimitPerBuyer == 0 {
			x.t.Errorf("entry %v: got terms %+v of sale %s", id, terms, r.Place.Sale)
		}
	}
}
