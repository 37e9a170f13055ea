package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// table tells the result to a person.
func (r *result) table() table.Writer {
	t := newTable()
	t.SetTitle(fmt.Sprintf("Sale %s · %s · %s buyers for %s units", r.SaleID, r.Strategy, grouped(int64(r.Buyers)), grouped(r.Stock)))
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 2, Align: text.AlignRight},
	})
	row := func(name string, value any, note string) { t.AppendRow(table.Row{name, value, note}) }
	r.crowdRows(row)
	t.AppendSeparator()
	r.speedRows(row)
	t.AppendSeparator()
	r.proofRows(row)
	return t
}

func (r *result) crowdRows(row func(string, any, string)) {
	row("accepted", grouped(int64(r.Accepted)), "a unit is held for this buyer: 202, or 201 once it is recorded")
	row("sold out", grouped(int64(r.SoldOut)), "409")
	for _, code := range slices.Sorted(maps.Keys(r.Refused)) {
		row(code, grouped(int64(r.Refused[code])), "refused")
	}
	row("errors", grouped(int64(r.Errors)), r.faults())
	if r.sent.Retries > 0 {
		row("pressed again", grouped(int64(r.sent.Retries)), "told to come again in a moment, and did")
	}
}

// faults names the kinds of errors, the most frequent first.
func (r *result) faults() string {
	counts := map[string]int{}
	for i := range r.sent.Sights {
		if s := &r.sent.Sights[i]; s.Failed {
			counts[s.Outcome]++
		} else if !s.Done {
			counts["never answered"]++
		}
	}
	kinds := slices.Sorted(maps.Keys(counts))
	slices.SortStableFunc(kinds, func(a, b string) int { return counts[b] - counts[a] })
	if len(kinds) == 0 {
		return "no answer, or none that the API gives"
	}
	for i, k := range kinds {
		kinds[i] = fmt.Sprintf("%s %s", grouped(int64(counts[k])), k)
	}
	return strings.Join(kinds, ", ")
}

func (r *result) speedRows(row func(string, any, string)) {
	row("accepted per second", whole(r.AcceptPerS), "from the opening to the last acceptance, "+short(r.recorded))
	row("placed per second", whole(r.PlacedPerS), "from the opening to the last order in the view, "+short(r.drained))
	row("latency p50 / p99", fmt.Sprintf("%.1f / %.1f ms", r.P50MS, r.P99MS), "of all answers, from the moment each buyer pressed")
	row("longest wait to be sent", short(r.sent.MaxQueued), fmt.Sprintf("%s waited over 100 ms for a connection; it counts into the latency", grouped(int64(r.sent.Late))))
	if r.sent.PaceLate > 20*time.Millisecond {
		row("crowd behind its clock", short(r.sent.PaceLate), "the machine was too busy to send on time")
	}
	row("drained after", short(time.Duration(r.DrainMS)*time.Millisecond), "from the last acceptance until all was recorded and projected")
	row("first purchase after", short(r.firstAfter), "from the start of this program")
}

func (r *result) proofRows(row func(string, any, string)) {
	row("placed", grouped(r.Placed), "orders in the view, folded from the log")
	if r.rejected > 0 {
		row("rejected", grouped(r.rejected), "accepted, then refused by the log with a reason")
	}
	row("asked for one by one", grouped(int64(r.followed.OK)), "accepted orders that their buyers found placed")
	row("oversold", verdict(r.Oversold), "units sold that do not exist")
	row("undersold", verdict(r.Undersold), "units wanted and not sold")
	row("drift", verdict(int64(r.Drift)), fmt.Sprintf("gate %s left, log %s reserved of %s",
		grouped(r.report.Available), grouped(r.report.Reserved), grouped(r.report.Released)))
}

// verdict marks a number that must be 0.
func verdict(n int64) string {
	if n == 0 {
		return "0 ✓"
	}
	return grouped(n) + " ✗"
}

func whole(perSecond float64) string { return grouped(int64(perSecond + 0.5)) }

func short(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
