package bus

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"seckill/eventstore"
)

// taker is a receiver that remembers; do is what it does with a batch.
type taker struct {
	name  string
	shard int
	do    func(ctx context.Context)

	mu  sync.Mutex
	got []eventstore.Batch
}

func (r *taker) Projection() string { return r.name }
func (r *taker) Shard() int         { return r.shard }
func (r *taker) Deliver(ctx context.Context, b eventstore.Batch) {
	if r.do != nil {
		r.do(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, b)
}

func (r *taker) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.got)
}

// consume runs consumers on a local bus until stop is called.
func consume(t *testing.T, receivers ...Receiver) (local Local, c *Consumers, stop func()) {
	t.Helper()
	return consumeFrom(t, NewLocal(quiet()), ConsumerOptions{Log: quiet()}, receivers...)
}

func consumeFrom(t *testing.T, local Local, o ConsumerOptions, receivers ...Receiver) (_ Local, c *Consumers, stop func()) {
	t.Helper()
	c, err := NewConsumers(func(string) (message.Subscriber, error) { return local, nil }, receivers, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	<-c.Running()
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
	return local, c, stop
}

func envelopeOf(t *testing.T, shard int) (eventstore.Batch, []byte) {
	t.Helper()
	b := batchOf(chain(40), shard, eventstore.DefaultShards)
	data, err := Encode(b)
	if err != nil {
		t.Fatal(err)
	}
	return b, data
}

func TestEveryReceiverOfAShardGetsEveryBatch(t *testing.T) {
	one, two, other := &taker{name: "one", shard: 3}, &taker{name: "two", shard: 3}, &taker{name: "one", shard: 4}
	local, _, _ := consume(t, one, two, other)
	_, data := envelopeOf(t, 3)
	for range 5 {
		if err := local.Publish(TopicPerShard("seckill")(3), message.NewMessage(watermill.NewUUID(), data)); err != nil {
			t.Fatal(err)
		}
	}
	if one.count() != 5 || two.count() != 5 || other.count() != 0 {
		t.Errorf("got %d, %d and %d batches, want 5, 5 and 0", one.count(), two.count(), other.count())
	}
}

// What a broker with one topic of many partitions needs.
func TestShardsMayShareATopic(t *testing.T) {
	local := NewLocal(quiet())
	three, four := &taker{name: "view", shard: 3}, &taker{name: "view", shard: 4}
	o := ConsumerOptions{Log: quiet(), Topics: func(int) string { return "events" }}
	_, _, _ = consumeFrom(t, local, o, three, four)
	for _, shard := range []int{3, 4, 4} {
		_, data := envelopeOf(t, shard)
		m := message.NewMessage(watermill.NewUUID(), data)
		m.Metadata.Set(ShardHeader, strconv.Itoa(shard))
		if err := local.Publish("events", m); err != nil {
			t.Fatal(err)
		}
	}
	if three.count() != 1 || four.count() != 2 {
		t.Errorf("got %d and %d batches, want 1 and 2", three.count(), four.count())
	}
}

// A message that was nacked would come back at once and for ever; publishing
// would never end.
func TestWhatCannotBeReadOrAppliedIsAcknowledged(t *testing.T) {
	bad := true
	r := &taker{name: "view", shard: 3, do: func(context.Context) {
		if bad {
			bad = false
			panic("a fault of the receiver")
		}
	}}
	local, c, _ := consume(t, r)
	topic := TopicPerShard("seckill")(3)
	_, data := envelopeOf(t, 3)
	_, foreign := envelopeOf(t, 4)
	for i, payload := range [][]byte{data, []byte("rubbish"), foreign, []byte(`{"form":9}`), data} {
		published := make(chan error, 1)
		go func() { published <- local.Publish(topic, message.NewMessage(string(rune('a'+i)), payload)) }()
		select {
		case err := <-published:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(patience):
			t.Fatalf("message %d is never acknowledged", i)
		}
	}
	if r.count() != 1 {
		t.Errorf("%d batches arrived, want the last one alone", r.count())
	}
	if c.Unread() != 3 {
		t.Errorf("%d messages counted as unreadable, want 3", c.Unread())
	}
}

func TestADeliveryUnderWayOutlivesTheStop(t *testing.T) {
	began, finish := make(chan struct{}), make(chan struct{})
	var during error
	r := &taker{name: "view", shard: 3, do: func(ctx context.Context) {
		close(began)
		<-finish
		during = ctx.Err()
	}}
	local, _, stop := consume(t, r)
	_, data := envelopeOf(t, 3)
	go func() { _ = local.Publish(TopicPerShard("seckill")(3), message.NewMessage("id", data)) }()
	<-began
	stopped := make(chan struct{})
	go func() { stop(); close(stopped) }()
	eventually(t, "the bus is closing", func() bool {
		return local.Publish("nobody", message.NewMessage("x", nil)) != nil
	})
	close(finish)
	<-stopped
	if during != nil || r.count() != 1 {
		t.Errorf("the delivery saw %v and %d batches arrived, want it undisturbed", during, r.count())
	}
}

func TestAReceiverIsToldTheTraceThatItsMessageCameIn(t *testing.T) {
	const want = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	heard := make(chan string, 1)
	r := &taker{name: "p", shard: 0, do: func(ctx context.Context) { heard <- eventstore.OriginOf(ctx) }}
	local, _, stop := consume(t, r)
	defer stop()
	all := chain(3)
	var sent []error
	e := &envelopes{store: 1, publish: local, options: RelayOptions{Shards: 1, Traced: func(events []eventstore.Record) (string, func(error)) {
		if len(events) != 3 {
			t.Errorf("told of %d events, want those of the envelope", len(events))
		}
		return want, func(err error) { sent = append(sent, err) }
	}}.withDefaults()}
	e.begin(eventstore.Mark{})
	if _, err := e.ship(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if got := <-heard; got != want || len(sent) != 1 || sent[0] != nil {
		t.Errorf("got %q and the ends %v; want %q, sent once", got, sent, want)
	}
}
