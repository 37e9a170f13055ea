package projections_test

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"seckill/projections"
)

const dumpAll = `
select 'order ' || t::text from order_view t
union all select 'stock ' || t::text from stock_log t
union all select 'summary ' || t::text from sale_summary t
order by 1`

// dump gives every row of every view as text.
func (h *house) dump() []string {
	h.t.Helper()
	rows, err := h.pool.Query(h.ctx(), dumpAll)
	if err != nil {
		h.t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		h.t.Fatal(err)
	}
	return lines
}

// wipe takes away everything that was folded.
func (h *house) wipe() {
	h.t.Helper()
	for _, table := range []string{"order_view", "stock_log", "sale_summary", "checkpoints", "dead_letters"} {
		if _, err := h.pool.Exec(h.ctx(), "delete from "+table); err != nil {
			h.t.Fatal(err)
		}
	}
}

// sameAsQuietReplay checks that what stands in the views is, to the byte, what
// one undisturbed pass over the log gives.
func (h *house) sameAsQuietReplay() {
	h.t.Helper()
	got := h.dump()
	h.wipe()
	p := h.projector(projections.All(), quick())
	stop := h.run(p)
	h.settle(projections.All())
	stop()
	h.sameRows(got, h.dump())
}

func (h *house) sameRows(got, want []string) {
	h.t.Helper()
	in := map[string]int{}
	for _, l := range want {
		in[l]++
	}
	for _, l := range got {
		in[l]--
	}
	var diff []string
	for l, n := range in {
		if n != 0 {
			diff = append(diff, fmt.Sprintf("%+d %s", n, l))
		}
	}
	if len(diff) > 0 {
		h.t.Errorf("views differ from a quiet replay in %d rows (+ missing, - too many):\n%s", len(diff), strings.Join(diff[:min(10, len(diff))], "\n"))
	}
	if len(want) == 0 {
		h.t.Error("a quiet replay gives no rows: this test shows nothing")
	}
}

// applied sums up how many events of each projection were folded into rows.
func applied(all ...*projections.Projector) map[string]int64 {
	sum := map[string]int64{}
	for _, p := range all {
		for _, s := range p.Stats() {
			sum[s.Projection] += s.Applied
		}
	}
	return sum
}

// onceEach checks that every event was folded exactly once, by whichever of all.
func (h *house) onceEach(all ...*projections.Projector) {
	h.t.Helper()
	var order, stock int64
	for _, r := range h.records() {
		switch {
		case strings.HasPrefix(r.Type, "order."):
			order++
		case strings.HasPrefix(r.Type, "stock."):
			stock++
		}
	}
	want := map[string]int64{"order_view": order, "sale_summary": order, "stock_log": stock}
	// A commit is seen in the database a moment before the runner has counted it.
	counted := func() bool {
		got := applied(all...)
		for name := range want {
			if got[name] < want[name] {
				return false
			}
		}
		return true
	}
	h.eventually("every event is counted", counted)
	if diff := cmp.Diff(want, applied(all...)); diff != "" {
		h.t.Errorf("events folded (- in the log, + by the projectors):\n%s", diff)
	}
}
