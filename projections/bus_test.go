package projections_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"seckill/eventstore"
	"seckill/infra/bus"
	"seckill/projections"
)

// line is a relay and its consumers over one bus within the process.
type line struct {
	relay     *bus.Relay
	consumers *bus.Consumers
}

// connect starts relay and consumers for p until the test ends or stop is called.
func (h *house) connect(p *projections.Projector, wrap func(bus.Publisher) bus.Publisher) (l line, stop func()) {
	h.t.Helper()
	local := bus.NewLocal(quiet())
	var receivers []bus.Receiver
	for _, r := range p.Runners() {
		receivers = append(receivers, r)
	}
	consumers, err := bus.NewConsumers(func(string) (message.Subscriber, error) { return local, nil }, receivers, bus.ConsumerOptions{Log: quiet()})
	if err != nil {
		h.t.Fatal(err)
	}
	source := bus.Source{Store: 1, Log: h.store, Place: projections.RelayPlace(h.pool, 1)}
	relay, err := bus.NewRelay(source, wrap(local), bus.RelayOptions{Backoff: time.Millisecond, Log: quiet()})
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := consumers.Run(ctx); err != nil {
			h.t.Errorf("consumers ended with %v", err)
		}
	})
	<-consumers.Running()
	relaying, stopRelay := context.WithCancel(ctx)
	running.Go(func() { _ = relay.Run(relaying) })
	var once sync.Once
	stop = func() {
		once.Do(func() {
			stopRelay()
			cancel()
			running.Wait()
			_ = local.Close()
		})
	}
	h.t.Cleanup(stop)
	return line{relay, consumers}, stop
}

func straight(p bus.Publisher) bus.Publisher { return p }

// The bus alone brings everything: the projector never looks for itself.
func TestTheBusBringsEveryEventToEveryProjection(t *testing.T) {
	h := newHouse(t)
	h.release(1000)
	h.live(30)
	p := h.projector(projections.All(), quick())
	l, _ := h.connect(p, straight)
	h.live(60)
	l.relay.Notify()
	h.eventually("every event is applied", func() bool { return len(h.behind(p)) == 0 })
	h.onceEach(p)
	if n := l.consumers.Unread(); n != 0 {
		t.Errorf("%d messages could not be read", n)
	}
	h.sameAsQuietReplay()
}

// unsteady loses messages without a word, refuses some and repeats others.
type unsteady struct {
	bus.Publisher
	mu     sync.Mutex
	random *rand.Rand
	lost   atomic.Int64
}

func (u *unsteady) Publish(topic string, messages ...*message.Message) error {
	u.mu.Lock()
	dice := u.random.IntN(10)
	u.mu.Unlock()
	switch {
	case dice < 2:
		return errors.New("the broker is away")
	case dice < 5:
		u.lost.Add(int64(len(messages)))
		return nil
	case dice < 6:
		messages = append(messages, messages[0].Copy())
	}
	return u.Publisher.Publish(topic, messages...)
}

func TestABusThatLosesAndRefusesIsHealedFromTheStore(t *testing.T) {
	h := newHouse(t)
	h.release(1000)
	p := h.projector(projections.All(), quick())
	h.run(p)
	u := &unsteady{random: rand.New(rand.NewPCG(3, 4))}
	l, _ := h.connect(p, func(to bus.Publisher) bus.Publisher { u.Publisher = to; return u })
	for range 10 {
		h.live(15)
		l.relay.Notify()
	}
	h.settle(projections.All())
	head := h.head()
	h.eventually("the relay is at the head", func() bool { return l.relay.Stats().At == head })
	if u.lost.Load() == 0 || l.relay.Stats().Failures == 0 {
		t.Errorf("%d messages lost, %d failures: this test shows nothing", u.lost.Load(), l.relay.Stats().Failures)
	}
	h.onceEach(p)
	h.sameAsQuietReplay()
}

func TestARelayGoesOnWhereItWasAfterARestart(t *testing.T) {
	h := newHouse(t)
	h.release(1000)
	h.live(30)
	p := h.projector(projections.All(), quick())
	_, stop := h.connect(p, straight)
	h.eventually("the first part is applied", func() bool { return len(h.behind(p)) == 0 })
	place := projections.RelayPlace(h.pool, 1)
	first := h.head()
	h.eventually("the place is saved", func() bool {
		at, err := place.Load(h.ctx())
		return err == nil && at == first
	})
	stop()
	h.live(30)
	l, _ := h.connect(p, straight)
	h.eventually("the second part is applied", func() bool { return l.relay.Stats().At == h.head() })
	if got, want := l.relay.Stats().Events, h.head().Number-first.Number; got != want {
		t.Errorf("the relay published %d events after its restart, want the %d new ones", got, want)
	}
	if err := place.Save(h.ctx(), first); err != nil {
		t.Fatal(err)
	}
	if at, err := place.Load(h.ctx()); err != nil || at != h.head() {
		t.Errorf("after saving an older place: at %d, error %v, want it still at the head", at.Number, err)
	}
}

// B51's other end: whoever writes at the same time, a projector that follows
// the log misses nothing.
func TestB51FollowingALogThatManyWritersAppendTo(t *testing.T) {
	h := newHouse(t)
	h.release(100_000)
	p := h.projector(projections.All(), quick())
	h.run(p)
	l, _ := h.connect(p, straight)
	var writing sync.WaitGroup
	for writer := range 8 {
		writing.Go(func() {
			for n := range 40 {
				_, group := h.placed(1000*writer + n)
				h.append(group...)
				l.relay.Notify()
			}
		})
	}
	writing.Wait()
	h.settle(projections.All())
	h.onceEach(p)
	h.sameAsQuietReplay()
}

// fill stores n purchases, two events each.
func (h *house) fill(n int) {
	var filling sync.WaitGroup
	for worker := range 50 {
		filling.Go(func() {
			for i := worker; i < n; i += 50 {
				_, group := h.placed(h.made + i)
				h.append(group...)
			}
		})
	}
	filling.Wait()
	h.made += n
}

func BenchmarkRelayToProjections(b *testing.B) {
	benchmarkFolding(b, func(h *house, p *projections.Projector) (stop func()) {
		_, stop = h.connect(p, straight)
		return stop
	})
}

func BenchmarkCatchUpFromTheStore(b *testing.B) {
	benchmarkFolding(b, (*house).run)
}

// benchmarkFolding measures how fast 20,000 events come into all projections.
func benchmarkFolding(b *testing.B, start func(*house, *projections.Projector) (stop func())) {
	h := newHouse(b)
	h.release(1 << 40)
	h.fill(10_000)
	last := lastPositions(h.records())
	for b.Loop() {
		b.StopTimer()
		h.wipe()
		p := h.projector(projections.All(), projections.Options{})
		b.StartTimer()
		stop := start(h, p)
		h.eventually("all is applied", func() bool { return len(late(p, last)) == 0 })
		b.StopTimer()
		stop()
		b.StartTimer()
	}
	b.ReportMetric(float64(h.head().Number)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// record stores n purchases, two events each, in pages of 250 as the recorder does.
func (h *house) record(n int) {
	const page = 250
	var recording sync.WaitGroup
	for from := 0; from < n; from += page {
		recording.Go(func() {
			var group []eventstore.Append
			for i := from; i < min(from+page, n); i++ {
				_, one := h.placed(h.made + i)
				group = append(group, one...)
			}
			h.append(group...)
		})
	}
	recording.Wait()
	h.made += n
}

// BenchmarkFollowing measures purchases from the append to the views, with
// everything in one process: two events each.
func BenchmarkFollowing(b *testing.B) {
	h := newHouse(b)
	h.release(1 << 40)
	p := h.projector(projections.All(), projections.Options{})
	h.run(p)
	l, _ := h.connect(p, straight)
	progress := h.progress(projections.All())
	progress.Projector = p
	from := h.head().Number
	for b.Loop() {
		h.record(10_000)
		l.relay.Notify()
		if err := progress.WaitFor(h.ctx(), h.head().Number); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(h.head().Number-from)/b.Elapsed().Seconds(), "events/s")
	var gaps int64
	for _, s := range p.Stats() {
		gaps += s.Gaps
	}
	b.ReportMetric(float64(gaps), "gaps")
}
