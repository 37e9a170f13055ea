package projections_test

import (
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"seckill/infra/bus"
	"seckill/infra/testenv"
	"seckill/projections"
)

// B38: the broker dies under load and comes back half a minute later.
func TestB38NothingCountsAsSentWhileTheBrokerIsDown(t *testing.T) {
	t.Parallel()
	long(t)
	const down = 30 * time.Second
	server := testenv.PrivateKafka(t)
	w := kafkaWire(t, "Kafka", server.Addr)
	h := newHouse(t)
	h.release(1 << 30)
	h.ensure(w, 8)
	relay, _ := h.relaying(w, w, projections.RelayPlace(h.pool, 1))
	p := h.projector(projections.All(), patient())
	h.member(w, p)
	h.fill(500)
	h.brought()

	h.fill(500) // some of it is under way when the broker dies
	server.Kill()
	_, first := h.backlog()
	var appended, grown int64
	for began := time.Now(); time.Since(began) < down; {
		h.fill(10)
		appended += 20
		backlog, place := h.backlog()
		if place != first && appended > 200 { // a place on its way to the database may come in late
			t.Fatalf("the relay's place moved from %d to %d while there was no broker", first, place)
		}
		first = place
		if backlog < grown {
			t.Fatalf("the backlog fell from %d to %d while there was no broker", grown, backlog)
		}
		grown = backlog
		time.Sleep(50 * time.Millisecond)
	}
	if grown < appended {
		t.Errorf("the backlog is %d after %d events, want all of them waiting", grown, appended)
	}
	h.eventually("the relay tells that it fails", func() bool { s := relay.Stats(); return s.Failures > 0 && s.Fault != "" })
	server.Restart()
	h.eventually("the backlog is gone", func() bool { n, _ := h.backlog(); return n == 0 })
	h.inTopic(w, h.head().Number)
	h.brought()
	if s := relay.Stats(); s.Fault != "" {
		t.Errorf("the relay still reports %q", s.Fault)
	}
	h.onceEach(p)
	h.sameAsQuietReplay()
}

// A broker that hangs answers nothing and closes nothing.
func TestABrokerThatHangsHoldsUpNobodyForEver(t *testing.T) {
	t.Parallel()
	long(t)
	server := testenv.PrivateKafka(t)
	w := kafkaWire(t, "Kafka", server.Addr)
	h := newHouse(t)
	h.release(1 << 30)
	h.ensure(w, 8)
	relay, _ := h.relaying(w, w, projections.RelayPlace(h.pool, 1))
	h.run(h.projector(projections.All(), quick()))
	h.fill(100)
	h.eventually("it is sent", func() bool { return relay.Stats().At == h.head() })
	server.Freeze()
	h.fill(100)
	h.settle(projections.All()) // the views are read from the log meanwhile
	if at := relay.Stats().At; at == h.head() {
		t.Error("the relay's place is at the head although the broker hangs")
	}
	server.Thaw()
	h.eventually("it is sent", func() bool { return relay.Stats().At == h.head() })
	h.inTopic(w, h.head().Number)
	h.sameAsQuietReplay()
}

// B60: three relays of one log, none of which knows of the others.
func TestB60ThreeRelaysAtOnceSendEverythingInOrder(t *testing.T) {
	t.Parallel()
	overKafka(t, func(t *testing.T, w *wire) {
		h := newHouse(t)
		h.release(1 << 30)
		h.ensure(w, 8)
		p := h.projector(projections.All(), patient())
		h.member(w, p)
		h.fill(2000)
		for range 3 {
			own := kafkaWire(t, w.name, w.kafka.Brokers[0]) // as another process would
			h.relaying(w, own, projections.RelayPlace(h.pool, 1))
		}
		h.live(100) // orders to which more happens
		h.fill(2900)
		h.eventually("the place is at the head", func() bool { n, _ := h.backlog(); return n == 0 })
		head := h.head().Number
		if head < 10_000 {
			t.Fatalf("the log has %d events, want 10,000", head)
		}
		var sent int64
		newest := map[string]int64{} // by sequence: the last position that came for the first time
		seen := map[int64]bool{}
		for _, r := range h.inTopic(w, head) {
			b, err := bus.Decode(r.Value)
			if err != nil {
				t.Fatal(err)
			}
			sent += int64(len(b.Records))
			for _, e := range b.Records {
				if seen[e.Position] {
					continue
				}
				if key := e.SequenceKey(); e.Position < newest[key] {
					t.Fatalf("position %d of %s comes after position %d", e.Position, key, newest[key])
				}
				seen[e.Position], newest[e.SequenceKey()] = true, e.Position
			}
		}
		if sent <= head {
			t.Errorf("%d events stand in the topic for %d in the log: the relays never sent the same, this test shows little", sent, head)
		}
		h.brought()
		h.onceEach(p)
		h.sameAsQuietReplay()
	})
}

// B60: a relay that lost its lead in its sleep, in the middle of a page, and wakes when
// another has long gone on: what it still sends is known everywhere, and the place does
// not move back.
func TestB60ARelayThatSleptWakesUpAndChangesNothing(t *testing.T) {
	t.Parallel()
	overKafka(t, func(t *testing.T, w *wire) {
		h := newHouse(t)
		h.release(1 << 30)
		h.ensure(w, 8)
		p := h.projector(projections.All(), patient())
		h.member(w, p)
		h.fill(100)
		sleeper := &sleepy{Publisher: kafkaWire(t, w.name, w.kafka.Brokers[0]), asleep: make(chan struct{}), wake: make(chan struct{})}
		wake := sync.OnceFunc(func() { close(sleeper.wake) })
		zombie, _ := h.relaying(w, sleeper, projections.RelayPlace(h.pool, 1))
		t.Cleanup(wake)
		<-sleeper.asleep // it has read a page and its place
		other, _ := h.relaying(w, kafkaWire(t, w.name, w.kafka.Brokers[0]), projections.RelayPlace(h.pool, 1))
		h.fill(500)
		h.eventually("the other sent everything", func() bool { return other.Stats().At == h.head() })
		h.brought()
		wake()
		h.eventually("the sleeper has sent its page", func() bool { return zombie.Stats().Events > 0 })
		if n, place := h.backlog(); n != 0 {
			t.Errorf("the place moved back to %d, %d events", place, n)
		}
		h.fill(100)
		h.eventually("both go on", func() bool { return other.Stats().At == h.head() || zombie.Stats().At == h.head() })
		h.brought()
		h.onceEach(p)
		h.sameAsQuietReplay()
	})
}

// sleepy falls asleep before the first thing that it is to send.
type sleepy struct {
	bus.Publisher
	once         sync.Once
	asleep, wake chan struct{}
}

func (s *sleepy) Publish(topic string, messages ...*message.Message) error {
	s.once.Do(func() {
		close(s.asleep)
		<-s.wake
	})
	return s.Publisher.Publish(topic, messages...)
}
