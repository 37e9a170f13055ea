package projections_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"seckill/eventstore"
	"seckill/infra/bus"
	"seckill/infra/testenv"
	"seckill/projections"
)

// wire is a bus on which relays and consumers of several lives meet.
type wire struct {
	name      string
	namespace string
	kafka     bus.KafkaOptions // no brokers: within the process

	mu        sync.Mutex
	local     bus.Local // of the consumers of now
	publisher *bus.KafkaPublisher
}

// overEveryBus runs a test in the process, on an imitated Kafka and on a real one.
func overEveryBus(t *testing.T, test func(t *testing.T, w *wire)) {
	t.Run("GoChannel", func(t *testing.T) {
		test(t, &wire{name: "GoChannel", namespace: testenv.Namespace(t), local: bus.NewLocal(quiet())})
	})
	t.Run("kfake", func(t *testing.T) { test(t, kafkaWire(t, "kfake", testenv.FakeKafka(t))) })
	t.Run("Kafka", func(t *testing.T) { test(t, kafkaWire(t, "Kafka", testenv.Kafka(t))) })
}

// overKafka runs a test on an imitated Kafka and, unless time is short, on a real
// one.
func overKafka(t *testing.T, test func(t *testing.T, w *wire)) {
	t.Run("kfake", func(t *testing.T) { test(t, kafkaWire(t, "kfake", testenv.FakeKafka(t))) })
	t.Run("Kafka", func(t *testing.T) {
		long(t)
		test(t, kafkaWire(t, "Kafka", testenv.Kafka(t)))
	})
}

// long leaves a test out where time is short.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped in short mode: it takes long on a real Kafka")
	}
}

func kafkaWire(t testing.TB, name, addr string) *wire {
	t.Helper()
	w := &wire{name: name, namespace: testenv.Namespace(t), kafka: bus.KafkaOptions{
		Brokers: []string{addr}, Log: quiet(), Refresh: 300 * time.Millisecond, Session: 6 * time.Second,
	}}
	var err error
	if w.publisher, err = bus.NewKafkaPublisher(w.kafka); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.publisher.Close() }) // the broker may be gone
	return w
}

func (w *wire) topics() bus.Topics {
	if w.publisher == nil {
		return bus.TopicPerShard(w.namespace)
	}
	return bus.OneTopic(w.namespace)
}

// Publish sends to the consumers of now.
func (w *wire) Publish(topic string, messages ...*message.Message) error {
	if w.publisher != nil {
		return w.publisher.Publish(topic, messages...)
	}
	w.mu.Lock()
	local := w.local
	w.mu.Unlock()
	return local.Publish(topic, messages...)
}

// subscribers is for one life of consumers: they close what they subscribed to.
func (w *wire) subscribers(t testing.TB) bus.Subscribers {
	t.Helper()
	if w.publisher != nil {
		s, err := bus.KafkaSubscribers(w.namespace, w.kafka)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	local := bus.NewLocal(quiet())
	w.local = local
	return func(string) (message.Subscriber, error) { return local, nil }
}

// ensure makes the topic with a number of partitions.
func (h *house) ensure(w *wire, partitions int) {
	h.t.Helper()
	if w.publisher == nil {
		return
	}
	o := w.kafka
	o.Partitions = partitions
	if n, err := bus.EnsureTopic(h.ctx(), w.topics()(0), o); err != nil || n != partitions {
		h.t.Fatalf("make the topic: %d partitions, error %v", n, err)
	}
}

// patient is a projector that never looks into the log by itself once it runs:
// what it applies was brought by the bus, or read where a batch showed a gap.
func patient() projections.Options {
	o := quick()
	o.Poll = time.Hour
	return o
}

// member runs a projector and its consumers on a bus until stop is called.
func (h *house) member(w *wire, p *projections.Projector) (stop func()) {
	h.t.Helper()
	stopProjector := h.run(p)
	receivers := make([]bus.Receiver, 0, len(p.Runners()))
	for _, r := range p.Runners() {
		receivers = append(receivers, r)
	}
	consumers, err := bus.NewConsumers(w.subscribers(h.t), receivers, bus.ConsumerOptions{Log: quiet(), Topics: w.topics()})
	if err != nil {
		h.t.Fatal(err)
	}
	stopConsumers := h.background("consumers", consumers.Run)
	select {
	case <-consumers.Running():
	case <-time.After(patience):
		h.t.Fatal("the consumers do not start")
	}
	return func() { stopConsumers(); stopProjector() }
}

// background runs something until the test ends or stop is called.
func (h *house) background(what string, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-done:
				if err != nil {
					h.t.Errorf("%s ended with %v", what, err)
				}
			case <-time.After(patience):
				h.t.Errorf("%s: no end", what)
			}
		})
	}
	h.t.Cleanup(stop)
	return stop
}

// relaying runs a relay from the log to a bus until stop is called.
func (h *house) relaying(w *wire, to bus.Publisher, place bus.Place) (r *bus.Relay, stop func()) {
	h.t.Helper()
	r, err := bus.NewRelay(bus.Source{Store: 1, Log: h.store, Place: place}, to, bus.RelayOptions{
		Topics: w.topics(), Backoff: 10 * time.Millisecond, Poll: 20 * time.Millisecond, Log: quiet(),
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return r, h.background("relay", r.Run)
}

// brought waits until the checkpoint of every shard has reached the shard's last
// record, whoever applied it.
func (h *house) brought() {
	h.t.Helper()
	last := lastPositions(h.records())
	var late []string
	defer func() {
		if h.t.Failed() {
			h.t.Logf("behind are %v", late)
		}
	}()
	h.eventually("every shard has its last record", func() bool {
		stats, err := h.progress(projections.All()).Stats(h.ctx())
		if err != nil {
			h.t.Fatal(err)
		}
		late = nil
		for _, s := range stats.Shards {
			if s.At.Number < last[s.Shard] {
				late = append(late, fmt.Sprintf("%s-%d", s.Projection, s.Shard))
			}
		}
		return len(late) == 0
	})
}

// backlog is how many records the relay has not published yet.
func (h *house) backlog() (backlog, place int64) {
	h.t.Helper()
	stats, err := h.progress(projections.All()).Stats(h.ctx())
	if err != nil {
		h.t.Fatal(err)
	}
	return stats.Head.Number - stats.Relay.At.Number, stats.Relay.At.Number
}

// inTopic gives every batch that stands in the topic of our envelopes, partition
// by partition in order, and checks that each record up to place is there.
func (h *house) inTopic(w *wire, place int64) (records []testenv.TopicRecord) {
	h.t.Helper()
	records = testenv.ReadTopic(h.t, w.kafka.Brokers[0], w.topics()(0))
	there := map[int64]bool{}
	for _, r := range records {
		b, err := bus.Decode(r.Value)
		if err != nil {
			h.t.Fatal(err)
		}
		for i := range b.Records {
			there[b.Records[i].Position] = true
		}
	}
	for n := int64(1); n <= place; n++ {
		if !there[n] {
			h.t.Fatalf("the relay's place is %d, but position %d is not in the topic", place, n)
		}
	}
	return records
}

// swallower acknowledges every batch and does nothing with it.
type swallower struct {
	projection string
	shard      int
}

func (s swallower) Projection() string                      { return s.projection }
func (s swallower) Shard() int                              { return s.shard }
func (swallower) Deliver(context.Context, eventstore.Batch) {}

// knock sends a message to every shard that says nothing.
func (h *house) knock(w *wire) {
	h.t.Helper()
	for shard := range eventstore.DefaultShards {
		m := message.NewMessage(fmt.Sprint("knock ", shard), []byte("knock"))
		m.Metadata.Set(bus.ShardHeader, fmt.Sprint(shard))
		if err := w.Publish(w.topics()(shard), m); err != nil {
			h.t.Fatal(err)
		}
	}
}
