package projections_test

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"seckill/eventstore"
	"seckill/infra/bus"
	"seckill/infra/testenv"
	"seckill/projections"
)

// pace keeps load and changes a half second apart; it waits for nothing.
func pace(t *testing.T) (next func()) {
	ticker := time.NewTicker(500 * time.Millisecond)
	t.Cleanup(ticker.Stop)
	return func() { <-ticker.C }
}

// B37: each second a member joins and another leaves, while 10,000 events flow.
func TestB37RebalancesWhileEventsFlow(t *testing.T) {
	t.Parallel()
	overKafka(t, func(t *testing.T, w *wire) {
		h := newHouse(t)
		h.release(1 << 30)
		h.ensure(w, 8)
		h.relaying(w, w, projections.RelayPlace(h.pool, 1))
		var all []*projections.Projector
		var stops []func()
		join := func() {
			p := h.projector(projections.All(), patient())
			all, stops = append(all, p), append(stops, h.member(w, p))
		}
		for range 3 {
			join()
		}
		next := pace(t)
		for range 5 {
			h.fill(500)
			next()
			join()
			h.fill(500)
			next()
			stops[0]()
			stops = stops[1:]
		}
		h.brought()
		if n := h.head().Number; n != 10_001 {
			t.Fatalf("the log has %d events, want 10,001", n)
		}
		h.onceEach(all...)
		var worked int
		for _, p := range all {
			if applied(p)["stock_log"] > 0 {
				worked++
			}
		}
		if worked < 3 {
			t.Errorf("%d of %d members applied anything: this test shows little", worked, len(all))
		}
		h.sameAsQuietReplay()
	})
}

// A shard that moves to another partition may be read there before the rest of
// it is read here: checkpoints and the log put that right.
func TestPartitionsRaisedFromThreeToSixUnderLoad(t *testing.T) {
	t.Parallel()
	overKafka(t, func(t *testing.T, w *wire) {
		h := newHouse(t)
		h.release(1 << 30)
		h.ensure(w, 3)
		h.relaying(w, w, projections.RelayPlace(h.pool, 1))
		one, two := h.projector(projections.All(), patient()), h.projector(projections.All(), patient())
		h.member(w, one)
		h.member(w, two)
		raised := map[int32]bool{}
		for round := range 60 {
			if round == 5 {
				testenv.RaisePartitions(t, w.kafka.Brokers[0], w.topics()(0), 6)
			}
			h.fill(50)
			if round > 10 && round%5 == 0 {
				_, place := h.backlog()
				for _, r := range h.inTopic(w, place) {
					raised[r.Partition] = true
				}
				if len(raised) == 6 {
					break
				}
			}
		}
		h.fill(50)
		if len(raised) != 6 {
			t.Fatalf("messages stand in the partitions %v, want all six", raised)
		}
		h.brought()
		h.onceEach(one, two)
		h.sameAsQuietReplay()
	})
}

func TestAFreshGroupFoldsFromTheOldestMessage(t *testing.T) {
	t.Parallel()
	overKafka(t, func(t *testing.T, w *wire) {
		h := newHouse(t)
		h.release(1 << 30)
		h.ensure(w, 8)
		relay, _ := h.relaying(w, w, projections.RelayPlace(h.pool, 1))
		h.live(60)
		h.eventually("all is in the topic", func() bool { return relay.Stats().At == h.head() })
		// Runs nothing that reads the log: only batches without a gap are applied.
		p := h.projector(projections.All(), quick())
		receivers := make([]bus.Receiver, 0, len(p.Runners()))
		for _, r := range p.Runners() {
			receivers = append(receivers, r)
		}
		consumers, err := bus.NewConsumers(w.subscribers(t), receivers, bus.ConsumerOptions{Log: quiet(), Topics: w.topics()})
		if err != nil {
			t.Fatal(err)
		}
		h.background("consumers", consumers.Run)
		h.brought()
		h.onceEach(p)
		h.sameAsQuietReplay()
	})
}

const swallowing = "SECKILL_TEST_SWALLOW" // broker and namespace of TestSwallowingMember

// TestSwallowingMember is no test but the member that the next one kills.
func TestSwallowingMember(t *testing.T) {
	broker, namespace, ok := strings.Cut(os.Getenv(swallowing), " ")
	if !ok {
		return
	}
	subscribers, err := bus.KafkaSubscribers(namespace, bus.KafkaOptions{Brokers: []string{broker}, Log: quiet(), Session: 6 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var receivers []bus.Receiver
	for _, p := range projections.All() {
		for shard := range eventstore.DefaultShards {
			receivers = append(receivers, swallower{p.Name, shard})
		}
	}
	consumers, err := bus.NewConsumers(subscribers, receivers, bus.ConsumerOptions{Log: quiet(), Topics: bus.OneTopic(namespace)})
	if err != nil {
		t.Fatal(err)
	}
	_ = consumers.Run(t.Context()) // until it is killed
}

// A member that acknowledges what it never applies, and is then killed without
// leaving its groups: the broker believes all that was consumed. Offsets are not
// what we go by.
func TestAMemberIsKilledAfterAcknowledgingWhatItDidNotApply(t *testing.T) {
	t.Parallel()
	long(t)
	h := newHouse(t)
	w := kafkaWire(t, "Kafka", testenv.Kafka(t))
	h.release(1 << 30)
	h.ensure(w, 8)
	cmd := exec.Command(os.Args[0], "-test.run=^TestSwallowingMember$", "-test.v")
	cmd.Env = append(os.Environ(), swallowing+"="+w.kafka.Brokers[0]+" "+w.namespace)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	h.relaying(w, w, projections.RelayPlace(h.pool, 1))
	h.fill(200)
	h.eventually("the bad member's groups have committed offsets", func() bool {
		return testenv.Committed(t, w.kafka.Brokers[0], w.namespace+".order_view", w.topics()(0)) > 0
	})
	p := h.projector(projections.All(), patient())
	h.member(w, p)
	h.fill(200)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range 40 { // until the session of the dead has ended, some more
		h.fill(20)
		if len(h.behind(p)) == 0 {
			break
		}
		time.Sleep(250 * time.Millisecond)
	}
	h.brought()
	h.onceEach(p)
	h.sameAsQuietReplay()
}
