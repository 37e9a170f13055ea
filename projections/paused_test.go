package projections_test

import (
	"sync/atomic"
	"testing"

	"seckill/projections"
)

func TestOnlyWhatIsNotCoreStandsStillWhilePausedAndCatchesUpAfterwards(t *testing.T) {
	h := newHouse(t)
	h.release(1000)
	h.live(30)
	var paused atomic.Bool
	paused.Store(true)
	o := quick()
	o.Paused = paused.Load
	p := h.projector(projections.All(), o)
	h.run(p)
	var core []projections.Projection
	for _, one := range projections.All() {
		if one.Core {
			core = append(core, one)
		}
	}
	for _, shard := range shardsOf(h.records(), 4) { // the bus brings everything, too
		for _, b := range shard {
			deliver(h.ctx(), p, b)
		}
	}
	h.settle(core)
	for _, s := range p.Stats() {
		if !s.Core && (s.Applied != 0 || s.Faults != 0 || s.At.Number != 0) {
			t.Errorf("%s shard %d applied %d events up to %d while it was paused", s.Projection, s.Shard, s.Applied, s.At.Number)
		}
	}
	paused.Store(false)
	h.settle(projections.All())
	h.sameAsQuietReplay()
}
