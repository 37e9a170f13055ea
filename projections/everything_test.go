package projections_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"seckill/domain"
	"seckill/eventstore"
	"seckill/infra/bus"
	"seckill/infra/testenv"
	"seckill/projections"
)

// dice are thrown by many at once.
type dice struct {
	mu     sync.Mutex
	random *rand.Rand
	hits   int
}

func newDice(seed uint64) *dice { return &dice{random: rand.New(rand.NewPCG(seed, 2))} }

// hit tells with a probability in a thousand.
func (d *dice) hit(perMille int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.random.IntN(1000) >= perMille {
		return false
	}
	d.hits++
	return true
}

func (d *dice) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hits
}

// forgetful loses a number of batches without a word.
type forgetful struct {
	bus.Publisher
	dice *dice
	max  int
}

func (f *forgetful) Publish(topic string, messages ...*message.Message) error {
	var kept []*message.Message
	for _, m := range messages {
		if f.dice.count() < f.max && f.dice.hit(200) {
			continue
		}
		kept = append(kept, m)
	}
	if len(kept) == 0 {
		return nil
	}
	return f.Publisher.Publish(topic, kept...)
}

// killedPlace saves nothing now and then, as when a relay is killed after
// publishing and before it has saved its place.
type killedPlace struct {
	bus.Place
	dice *dice
}

func (k killedPlace) Save(ctx context.Context, at eventstore.Mark) error {
	if k.dice.hit(100) {
		return errors.New("killed before the place was saved")
	}
	return k.Place.Save(ctx, at)
}

// B40 on a living bus: a view that fails for one sale holds up no other sale, and
// no message: the bus goes on, and what fails is parked.
func TestB40OnEveryBusASaleThatFailsHoldsUpNoOther(t *testing.T) {
	overEveryBus(t, func(t *testing.T, w *wire) {
		h := newHouse(t)
		h.release(1 << 30)
		h.ensure(w, 8)
		bad, other := h.sale, domain.SaleNumber(2).ID()
		list := projections.All()
		fold := list[0].Fold
		list[0].Fold = func(s projections.Share, facts []projections.Fact) (projections.Rows, error) {
			for _, f := range facts {
				if f.Record.SaleID == bad {
					return nil, errCrash
				}
			}
			return fold(s, facts)
		}
		h.member(w, h.projector(list, projections.Options{Log: quiet()}))
		h.relaying(w, w, projections.RelayPlace(h.pool, 1))
		h.fill(40)
		h.sale = other
		began := time.Now()
		h.fill(40)
		h.eventually("the other sale is in the view", func() bool { return h.count("order_view", "sale_id = '"+other+"'") == 40 })
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("the other sale was in the view after %v, want under 15 s even on a busy machine", took)
		}
		t.Logf("the other sale was in the view after %v", time.Since(began))
		h.eventually("what fails is parked", func() bool { return len(h.parked("order_view")) == 40 })
		if w.publisher != nil {
			h.eventually("every message is acknowledged", func() bool {
				return testenv.Committed(t, w.kafka.Brokers[0], w.namespace+".order_view", w.topics()(0)) == int64(len(h.inTopic(w, 0)))
			})
		}
	})
}

// What the read side must hold: relays and consumers that are killed, applying
// that fails, a poison order and batches that the bus loses leave the views equal,
// to the byte, to a quiet fold of the log.
func TestViewsEndExactWhateverHappensOnTheWay(t *testing.T) {
	overEveryBus(t, func(t *testing.T, w *wire) {
		h := newHouse(t)
		h.release(1 << 30)
		h.ensure(w, 8)
		applying, losing, killing := newDice(1), newDice(2), newDice(3)
		db := &crashDB{DB: h.pool, fault: func(statement string) error {
			if strings.Contains(statement, "update checkpoints") && applying.hit(25) {
				return errCrash
			}
			return nil
		}}
		to := &forgetful{Publisher: w, dice: losing, max: 25}
		place := killedPlace{projections.RelayPlace(h.pool, 1), killing}
		member := func() (stop func()) { return h.member(w, h.projectorOn(db, projections.All(), quick())) }

		stopMember := member()
		_, stopRelay := h.relaying(w, to, place)
		for round := range 40 {
			h.live(10)
			switch {
			case round == 7:
				id, group := h.placed(h.made)
				h.made++
				h.append(group...)
				h.broken(id)
			case round%8 == 3:
				stopRelay()
				_, stopRelay = h.relaying(w, to, place)
			case round%10 == 5:
				stopMember()
				stopMember = member()
			}
		}
		for range 500 { // few messages for few faults, where large batches went out
			if losing.count() == 25 && applying.count() > 20 {
				break
			}
			h.live(2)
		}
		h.settle(projections.All())
		stopRelay()
		stopMember()
		if losing.count() != 25 || applying.count() <= 20 || killing.count() == 0 {
			t.Errorf("%d batches lost, %d applications failed, %d places lost: this test shows little", losing.count(), applying.count(), killing.count())
		}
		parked := h.parked("")
		if len(parked) != 2 || !strings.Contains(parked[0].Reason, "order.paid") {
			t.Errorf("parked are %+v, want the poison order in the two views that read orders", parked)
		}
		h.sameAsQuietReplay()
		if again := h.parked(""); len(again) != len(parked) {
			t.Errorf("a quiet fold parks %d sequences, this way it were %d", len(again), len(parked))
		}
	})
}
