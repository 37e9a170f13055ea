package plan

import (
	"fmt"
	"strconv"
)

// Row is a line of a plan for people.
type Row struct{ What, Much, Why string }

// Rows gives the numbers of a plan for people, in their order.
func (p Plan) Rows() []Row {
	n := Number
	rows := []Row{
		{"requests a second at the peak", n(p.PeakPerSecond), fmt.Sprintf("%d × %s / %s s", p.Wish.Participants, n(p.Wish.Share), n(p.Wish.Seconds))},
		{"the same with headroom", n(p.SizedPerSecond), fmt.Sprintf("× %s: what the rest is for", n(p.Wish.Headroom))},
		{"accepted in the busiest second", n(p.BusiestAccepted), fmt.Sprintf("of %d units", p.Wish.Stock)},
		{"API cores", n(p.API.Cores), fmt.Sprintf("at %.0f %%: %d nodes of %d", 100*busy, p.API.Nodes, p.API.CoresPerNode)},
	}
	if p.Strategy != strategyDirect {
		rows = append(rows,
			Row{"load of the gate's core", fmt.Sprintf("%.0f %%", 100*p.Gate.Load), fmt.Sprintf("%d Redis, %d MB until clean-up", p.Gate.Servers, p.Gate.Megabytes)},
			Row{"buckets of an item", strconv.Itoa(p.Buckets), "one, unless one master is too slow"})
	}
	rows = append(rows,
		Row{"log and views", fmt.Sprintf("%d MB", p.Log.Megabytes), "PostgreSQL, indexes included"},
		Row{"Kafka partitions, shards of the views", strconv.Itoa(p.Bus.Partitions), fmt.Sprintf("%d projectors; Kafka is %s", p.Bus.Projectors, map[bool]string{true: "needed", false: "not needed"}[p.Bus.Kafka])},
		Row{"connections to PostgreSQL, at most", strconv.Itoa(p.Conns), "API nodes, recorder and stand-by, projectors, scheduler"})
	if p.Seconds.SoldOut > 0 {
		rows = append(rows, Row{"sold out after", n(p.Seconds.SoldOut) + " s", "if they come evenly"})
	}
	return append(rows,
		Row{"all recorded after", n(p.Seconds.Recorded) + " s", ""},
		Row{"all in the views after", n(p.Seconds.Projected) + " s", ""})
}

// Number writes a number for people: no more digits than it deserves.
func Number(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}
