package bus

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"seckill/eventstore"
	"seckill/infra/testenv"
)

// onKafka runs a test on an imitated Kafka and, unless time is short, on a real
// one.
func onKafka(t *testing.T, test func(t *testing.T, k kafkaBus)) {
	for name, start := range map[string]func(testing.TB) string{"kfake": testenv.FakeKafka, "Kafka": testenv.Kafka} {
		t.Run(name, func(t *testing.T) {
			if name == "Kafka" {
				long(t)
			}
			test(t, kafkaBus{namespace: testenv.Namespace(t), options: KafkaOptions{
				Brokers: []string{start(t)}, Log: quiet(), Refresh: 300 * time.Millisecond,
			}})
		})
	}
}

// long leaves a test out where time is short.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped in short mode: it takes long on a real Kafka")
	}
}

// kafkaBus is a Kafka and the namespace of a test in it.
type kafkaBus struct {
	namespace string
	options   KafkaOptions
}

func (k kafkaBus) topic() string { return OneTopic(k.namespace)(0) }

func (k kafkaBus) publisher(t testing.TB) *KafkaPublisher {
	t.Helper()
	p, err := NewKafkaPublisher(k.options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("close the publisher: %v", err)
		}
	})
	return p
}

// ensure makes the topic.
func (k kafkaBus) ensure(t testing.TB) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	n, err := EnsureTopic(ctx, k.topic(), k.options)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// consume runs consumers of the topic until stop is called.
func (k kafkaBus) consume(t testing.TB, receivers ...Receiver) (c *Consumers, stop func()) {
	t.Helper()
	subscribers, err := KafkaSubscribers(k.namespace, k.options)
	if err != nil {
		t.Fatal(err)
	}
	c, err = NewConsumers(subscribers, receivers, ConsumerOptions{Log: quiet(), Topics: OneTopic(k.namespace)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("consumers ended with %v", err)
				}
			case <-time.After(patience):
				t.Error("consumers do not stop")
			}
		})
	}
	t.Cleanup(stop)
	return c, stop
}

func shardMessage(shard int, payload []byte) *message.Message {
	m := message.NewMessage(watermill.NewUUID(), payload)
	m.Metadata.Set(ShardHeader, strconv.Itoa(shard))
	return m
}

// numbered is an envelope of a shard that covers the log from n-1 to n.
func numbered(t testing.TB, shard, n int) []byte {
	t.Helper()
	b := eventstore.Batch{Store: 1, Shard: shard, Shards: 8, Last: eventstore.Mark{Number: int64(n), Hash: eventstore.Hash{1}}}
	if n > 1 {
		b.Prev = eventstore.Mark{Number: int64(n - 1), Hash: eventstore.Hash{1}}
	}
	data, err := Encode(b)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// last gives the number of the batch that came last, 0 before any.
func (r *taker) last() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.got) == 0 {
		return 0
	}
	return r.got[len(r.got)-1].Last.Number
}

// B43 on Kafka: each projection is a group of its own.
func TestB43OnKafkaEveryProjectionGetsEveryEnvelopeInOrder(t *testing.T) {
	onKafka(t, func(t *testing.T, k kafkaBus) {
		k.options.Partitions = 3
		k.ensure(t)
		p := k.publisher(t)
		var takers []*taker
		var receivers []Receiver
		for shard := range 8 {
			for _, name := range []string{"order_view", "stock_log"} {
				r := &taker{name: name, shard: shard}
				takers, receivers = append(takers, r), append(receivers, r)
			}
		}
		k.consume(t, receivers...)
		for n := 1; n <= 20; n++ {
			for shard := range 8 {
				if err := p.Publish(k.topic(), shardMessage(shard, numbered(t, shard, n))); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, r := range takers {
			eventually(t, r.name+" has the last envelope of its shard", func() bool { return r.last() == 20 })
			if r.count() != 20 {
				t.Errorf("%s got %d envelopes of shard %d, want 20", r.name, r.count(), r.shard)
			}
			for i, b := range r.got {
				if b.Last.Number != int64(i+1) {
					t.Errorf("%s got envelope %d of shard %d as number %d", r.name, b.Last.Number, r.shard, i+1)
				}
			}
		}
		for _, record := range testenv.ReadTopic(t, k.options.Brokers[0], k.topic()) {
			shard, err := strconv.Atoi(record.Key)
			if err != nil || int32(shard%3) != record.Partition {
				t.Errorf("the record with key %q stands in partition %d", record.Key, record.Partition)
			}
		}
	})
}

func TestAFreshGroupStartsFromTheOldest(t *testing.T) {
	onKafka(t, func(t *testing.T, k kafkaBus) {
		k.ensure(t)
		p := k.publisher(t)
		for n := 1; n <= 10; n++ {
			if err := p.Publish(k.topic(), shardMessage(2, numbered(t, 2, n))); err != nil {
				t.Fatal(err)
			}
		}
		late := &taker{name: "new_view", shard: 2}
		k.consume(t, late)
		eventually(t, "the new group has everything", func() bool { return late.count() == 10 })
	})
}

func TestAConsumerThatStartsAgainGoesOn(t *testing.T) {
	onKafka(t, func(t *testing.T, k kafkaBus) {
		k.ensure(t)
		p := k.publisher(t)
		publish := func(n int) {
			if err := p.Publish(k.topic(), shardMessage(2, numbered(t, 2, n))); err != nil {
				t.Fatal(err)
			}
		}
		first := &taker{name: "view", shard: 2}
		_, stop := k.consume(t, first)
		publish(1)
		publish(2)
		eventually(t, "the first life has two", func() bool { return first.count() == 2 })
		stop()
		publish(3)
		second := &taker{name: "view", shard: 2}
		k.consume(t, second)
		eventually(t, "the second life has the third", func() bool { return second.last() == 3 })
		if second.count() != 1 {
			t.Errorf("the second life got %d envelopes, want the one that was new: its offset is saved when it stops", second.count())
		}
	})
}

// Nothing is nacked: a message that cannot be read passes once.
func TestWhatCannotBeReadPassesOnce(t *testing.T) {
	onKafka(t, func(t *testing.T, k kafkaBus) {
		k.ensure(t)
		p := k.publisher(t)
		r := &taker{name: "view", shard: 2}
		c, _ := k.consume(t, r)
		for _, payload := range [][]byte{[]byte("rubbish"), {}, []byte(`{"form":9}`), numbered(t, 3, 1), numbered(t, 2, 1)} {
			if err := p.Publish(k.topic(), shardMessage(2, payload)); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, "the good one behind them has come", func() bool { return r.count() == 1 })
		if c.Unread() != 4 {
			t.Errorf("%d messages counted as unreadable, want 4", c.Unread())
		}
	})
}

func TestTheTopicIsMadeOnceAndTakenAsItIs(t *testing.T) {
	onKafka(t, func(t *testing.T, k kafkaBus) {
		k.options.Partitions = 3
		if n := k.ensure(t); n != 3 {
			t.Errorf("made with %d partitions, want 3", n)
		}
		k.options.Partitions = 8
		if n := k.ensure(t); n != 3 {
			t.Errorf("found with %d partitions, want the 3 it has", n)
		}
	})
}

// Somebody empties the broker: the next page makes the topic again.
func TestATopicThatWasTakenAwayIsMadeAgain(t *testing.T) {
	onKafka(t, func(t *testing.T, k kafkaBus) {
		k.ensure(t)
		p := k.publisher(t)
		if err := p.Publish(k.topic(), shardMessage(0, numbered(t, 0, 1))); err != nil {
			t.Fatal(err)
		}
		testenv.DropTopic(t, k.options.Brokers[0], k.topic())
		eventually(t, "publishing works again", func() bool {
			return p.Publish(k.topic(), shardMessage(0, numbered(t, 0, 2))) == nil
		})
		eventually(t, "it stands in the new topic", func() bool {
			return len(testenv.ReadTopic(t, k.options.Brokers[0], k.topic())) > 0
		})
	})
}

func TestAMessageThatIsTooLargeHoldsNothingUp(t *testing.T) {
	onKafka(t, func(t *testing.T, k kafkaBus) {
		k.options.MaxBytes = 2 << 20
		k.ensure(t)
		p := k.publisher(t)
		large, small := make([]byte, 2<<20), numbered(t, 1, 1)
		if err := p.Publish(k.topic(), shardMessage(1, make([]byte, 2<<20+1)), shardMessage(1, large), shardMessage(1, small)); err != nil {
			t.Fatal(err)
		}
		if got := testenv.ReadTopic(t, k.options.Brokers[0], k.topic()); len(got) != 2 || len(got[0].Value) != 2<<20 {
			t.Errorf("%d records stand in the topic, want the largest allowed and the small one", len(got))
		}
	})
}

func TestUnreachableBrokersAreToldAsSuch(t *testing.T) {
	o := KafkaOptions{Brokers: []string{"127.0.0.1:1"}, Log: quiet()}
	_, err := EnsureTopic(context.Background(), "x", o)
	var unreachable *UnreachableError
	if !errors.As(err, &unreachable) || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("got %v, want an UnreachableError that names the address", err)
	}
	p, err := NewKafkaPublisher(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Publish("x", shardMessage(0, nil)); !errors.As(err, &unreachable) {
		t.Errorf("publishing gave %v, want an UnreachableError", err)
	}
	if _, err := NewKafkaPublisher(KafkaOptions{Refresh: -1}); err == nil || !strings.Contains(err.Error(), "no brokers") || !strings.Contains(err.Error(), "negative") {
		t.Errorf("got %v, want both problems", err)
	}
}
