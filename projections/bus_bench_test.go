package projections_test

import (
	"testing"
	"time"

	"seckill/infra/bus"
	"seckill/infra/testenv"
	"seckill/projections"
)

// BenchmarkRelayOverABus measures 40,000 events from the log over a bus into all
// three views: events a second, and µs of processor time per event, ours and that
// of our sessions in PostgreSQL. A broker's own time is not in it.
func BenchmarkRelayOverABus(b *testing.B) {
	b.Run("GoChannel", func(b *testing.B) {
		measureBus(b, func() *wire { return &wire{namespace: testenv.Namespace(b), local: bus.NewLocal(quiet())} })
	})
	b.Run("Kafka", func(b *testing.B) {
		addr := testenv.Kafka(b)
		measureBus(b, func() *wire { return kafkaWire(b, "Kafka", addr) })
	})
}

func measureBus(b *testing.B, open func() *wire) {
	h := newHouse(b)
	h.release(1 << 40)
	h.fill(20_000)
	last := lastPositions(h.records())
	var own, sessions time.Duration
	for b.Loop() {
		b.StopTimer()
		h.wipe()
		w := open()
		h.ensure(w, 8)
		p := h.projector(projections.All(), projections.Options{Log: quiet()})
		stopConsumers := h.consuming(w, p)
		ownBefore, sessionsBefore := ownCPU(b), h.serverCPU(true)
		b.StartTimer()
		_, stopRelay := h.relaying(w, w, projections.RelayPlace(h.pool, 1))
		h.eventually("all is applied", func() bool { return len(late(p, last)) == 0 })
		b.StopTimer()
		own, sessions = own+ownCPU(b)-ownBefore, sessions+h.serverCPU(true)-sessionsBefore
		stopRelay()
		stopConsumers()
		for _, s := range p.Stats() {
			if s.Gaps+s.Faults > 0 {
				b.Errorf("%s shard %d saw %d gaps and %d faults", s.Projection, s.Shard, s.Gaps, s.Faults)
			}
		}
		b.StartTimer()
	}
	events := float64(h.head().Number) * float64(b.N)
	b.ReportMetric(events/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(own.Microseconds())/events, "µs-ours/event")
	b.ReportMetric(float64(sessions.Microseconds())/events, "µs-postgres/event")
}

// consuming runs consumers alone, nothing that reads the log, and returns when
// they have taken something from every partition.
func (h *house) consuming(w *wire, p *projections.Projector) (stop func()) {
	h.t.Helper()
	receivers := make([]bus.Receiver, 0, len(p.Runners()))
	for _, r := range p.Runners() {
		receivers = append(receivers, r)
	}
	consumers, err := bus.NewConsumers(w.subscribers(h.t), receivers, bus.ConsumerOptions{Log: quiet(), Topics: w.topics()})
	if err != nil {
		h.t.Fatal(err)
	}
	stop = h.background("consumers", consumers.Run)
	<-consumers.Running()
	if w.publisher == nil {
		return stop
	}
	h.knock(w)
	for _, projection := range projections.All() {
		h.eventually("the groups stand", func() bool {
			return testenv.Committed(h.t, w.kafka.Brokers[0], w.namespace+"."+projection.Name, w.topics()(0)) == 8
		})
	}
	return stop
}
