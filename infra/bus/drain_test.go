package bus

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"seckill/eventstore"
	"seckill/infra/testenv"
)

// winners gives a log with one event of each of count orders.
func winners(count int) []eventstore.Record {
	out := make([]eventstore.Record, count)
	var previous eventstore.Hash
	for i := range out {
		order := fmt.Sprintf("order%d", i)
		r := eventstore.Record{
			Position: int64(i + 1), ID: uuid.NewSHA1(uuid.Nil, binary.BigEndian.AppendUint64(nil, uint64(i))), Stream: "order-" + order,
			Version: 1, Type: "order.placed", Schema: 1, SaleID: "s", OrderID: order,
			RecordedAt: time.Date(2026, 11, 11, 0, 0, 0, 1000*i, time.UTC), Payload: []byte(`{"n":1}`), Metadata: []byte(`{}`),
		}
		r.Hash = eventstore.ComputeHash(previous, &r)
		previous = r.Hash
		out[i] = r
	}
	return out
}

// drained is how a backlog of winners was worked off.
type drained struct {
	calls int64         // of the handler
	peak  int64         // handlers at the same time
	took  time.Duration // from the first call to the end of the last
}

// slow is a handler that takes 2 ms, however many events a batch has.
type slow struct {
	shard            int
	calls, now, peak *atomic.Int64
	first, last      *atomic.Int64 // in nanoseconds
	events           atomic.Int64
}

func (s *slow) Projection() string { return "slow" }
func (s *slow) Shard() int         { return s.shard }

func (s *slow) Deliver(_ context.Context, b eventstore.Batch) {
	s.calls.Add(1)
	s.first.CompareAndSwap(0, time.Now().UnixNano())
	n := s.now.Add(1)
	defer s.now.Add(-1)
	for peak := s.peak.Load(); n > peak && !s.peak.CompareAndSwap(peak, n); peak = s.peak.Load() {
	}
	time.Sleep(2 * time.Millisecond) // the work
	s.last.Store(time.Now().UnixNano())
	s.events.Add(int64(len(b.Records)))
}

// drain brings a log into a topic of some partitions, and then measures how the
// consumers of one projection work it off.
func (k kafkaBus) drain(t testing.TB, log []eventstore.Record, partitions, batch int) drained {
	t.Helper()
	k.namespace = testenv.Namespace(t)
	k.options.Partitions = partitions
	k.ensure(t)
	d := &desk{records: log}
	relay, err := NewRelay(Source{Store: 1, Log: d, Place: d}, k.publisher(t), RelayOptions{
		Topics: OneTopic(k.namespace), MaxEvents: batch, Log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- relay.Run(ctx) }()
	waitUntil(t, "all is in the topic", func() bool { return relay.Stats().At.Number == int64(len(log)) })
	cancel()
	<-done

	var out drained
	var calls, now, peak, first, last atomic.Int64
	receivers := make([]Receiver, eventstore.DefaultShards)
	handlers := make([]*slow, len(receivers))
	for shard := range receivers {
		handlers[shard] = &slow{shard: shard, calls: &calls, now: &now, peak: &peak, first: &first, last: &last}
		receivers[shard] = handlers[shard]
	}
	_, stop := k.consume(t, receivers...)
	waitUntil(t, "all are worked off", func() bool {
		var sum int64
		for _, h := range handlers {
			sum += h.events.Load()
		}
		return sum >= int64(len(log))
	})
	out.took = time.Duration(last.Load() - first.Load())
	stop()
	out.calls, out.peak = calls.Load(), peak.Load()
	return out
}

func waitUntil(t testing.TB, what string, ok func() bool) {
	t.Helper()
	testenv.Eventually(t, 2*time.Minute, func() error {
		if !ok() {
			return fmt.Errorf("not yet: %s", what)
		}
		return nil
	})
}

// B81: one message at a time and partition. What is left of the handler's time is
// divided by the partitions, and by what one message holds.
func TestB81PartitionsAndBatchesDivideTheHandlersTime(t *testing.T) {
	long(t)
	k := kafkaBus{options: KafkaOptions{Brokers: []string{testenv.Kafka(t)}, Log: quiet()}}
	log := winners(800)
	for _, partitions := range []int{4, 8} {
		d := k.drain(t, log, partitions, 1)
		if d.calls != 800 || d.peak != int64(partitions) {
			t.Errorf("%d partitions, one event a message: %d calls, %d at a time; want 800 calls, one per partition at a time", partitions, d.calls, d.peak)
		}
	}
	if d := k.drain(t, log, 4, 50); d.calls > 800/50+8 {
		t.Errorf("batches of 50: %d calls of the handler, want at most %d", d.calls, 800/50+8)
	}
}

// BenchmarkB81Drain10000 prints how long 10,000 winners take at 2 ms a call.
func BenchmarkB81Drain10000(b *testing.B) {
	k := kafkaBus{options: KafkaOptions{Brokers: []string{testenv.Kafka(b)}, Log: quiet()}}
	log := winners(10_000)
	for _, c := range []struct{ partitions, batch int }{{4, 1}, {8, 1}, {8, 500}} {
		b.Run(fmt.Sprintf("partitions=%d/batch=%d", c.partitions, c.batch), func(b *testing.B) {
			var took time.Duration
			for b.Loop() {
				took += k.drain(b, log, c.partitions, c.batch).took
			}
			b.ReportMetric(float64(took.Microseconds())/1000/float64(b.N), "ms/drain")
		})
	}
}
