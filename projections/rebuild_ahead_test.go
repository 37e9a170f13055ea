package projections_test

import (
	"testing"

	"seckill/projections"
)

// A log that was restored without its views has views from a future that is gone.
func TestARebuildPutsViewsThatAreAheadOfTheLogBackToIt(t *testing.T) {
	h := newHouse(t)
	h.release(1000)
	h.live(20)
	stop := h.run(h.projector(projections.All(), quick()))
	head := h.settle(projections.All())
	stop()
	want := h.dump()
	for what, sql := range map[string]string{
		"a little ahead": "update checkpoints set position = position + 3",
		"far ahead":      "update checkpoints set position = position + 100000",
		"another hash":   "update checkpoints set hash = sha256(hash)",
	} {
		for _, spoil := range []string{sql, "update order_view set status = 'paid'", "insert into stock_log select store, position + 1000000, sale_id, sku, quantity, order_id, at from stock_log limit 1"} {
			if _, err := h.pool.Exec(h.ctx(), spoil); err != nil {
				t.Fatal(err)
			}
		}
		if report := h.rebuild(projections.RebuildOptions{}); report.At != head {
			t.Errorf("%s: rebuilt at %s, want the head of the log, %s", what, report.At, head)
		}
		h.sameRows(h.dump(), want)
	}
	stop = h.run(h.projector(projections.All(), quick()))
	h.live(5)
	h.settle(projections.All())
	stop()
	h.sameAsQuietReplay()
}
