package plan

import (
	"fmt"
	"strings"
)

// Rented is what an installation for a plan is taken to rent for its hour, in cores: a
// PostgreSQL, a master of Redis beside its replica, and each process that is no API node.
const (
	coresOfPostgres = 8
	coresOfRedis    = 2
	coresOfPart     = 1
)

// Cores gives how many cores an installation for the plan has in all.
func (p Plan) Cores() int {
	parts := 2 + p.Bus.Projectors + 1 // recorder and stand-by, projectors, scheduler
	return p.API.Nodes*p.API.CoresPerNode + p.Gate.Servers*coresOfRedis + coresOfPostgres + parts*coresOfPart
}

// Sizes are the sales of the page on scaling: the default shape, larger and larger.
func Sizes() []Wish {
	var all []Wish
	for _, size := range []struct{ participants, stock int64 }{
		{2_000, 100}, {50_000, 10_000}, {500_000, 10_000}, {1_000_000, 50_000}, {10_000_000, 100_000}, {100_000_000, 1_000_000},
	} {
		all = append(all, Wish{Participants: size.participants, Share: 0.8, Seconds: 2, Headroom: 1.5, Stock: size.stock})
	}
	return all
}

// Scaling writes the tables of the page on scaling, as Markdown.
func Scaling(c Costs) string {
	var text strings.Builder
	text.WriteString("| buyers | units | requests/s, with headroom | strategy | API nodes of 4 cores | Redis masters = buckets | memory of the gate | log and views | all recorded after | projectors | cores in all | core-hours for a million buyers |\n")
	text.WriteString("|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, w := range Sizes() {
		p := Make(w, c)
		redis := fmt.Sprintf("%d", p.Gate.Servers)
		if p.Strategy == strategyDirect {
			redis = "none"
		}
		fmt.Fprintf(&text, "| %s | %s | %s | `%s` | %d | %s | %s MB | %s MB | %s s | %d | %d | %s |\n",
			grouped(w.Participants), grouped(w.Stock), grouped(int64(p.SizedPerSecond)), p.Strategy, p.API.Nodes, redis, grouped(p.Gate.Megabytes),
			grouped(p.Log.Megabytes), Number(p.Seconds.Recorded), p.Bus.Projectors, p.Cores(), Number(float64(p.Cores())*1e6/float64(w.Participants)))
	}
	text.WriteString("\n" + outward(c) + "\n| unit cost | | | measured by |\n|---|---|---|---|\n")
	for _, cost := range c.All() {
		fmt.Fprintf(&text, "| %s | %s | %s | `%s` |\n", cost.Name, Number(cost.Value), cost.Unit, strings.ReplaceAll(cost.Command, "|", "\\|"))
	}
	return text.String()
}

// outward writes what further databases change for the largest sale, whose units are
// spread over as many sales as there are databases, or more.
func outward(c Costs) string {
	sizes := Sizes()
	w := sizes[len(sizes)-1]
	p := Make(w, c)
	var text strings.Builder
	fmt.Fprintf(&text, "| databases, for %s units | recorded a second | all recorded after | projected after | connections of a process that serves all | cores in all |\n|---|---|---|---|---|---|\n", grouped(w.Stock))
	for _, n := range []int{1, 2, 4, 8, 16} {
		more := (n - 1) * (coresOfPostgres + 2 + p.Bus.Projectors + 1) // none of them is shared
		fmt.Fprintf(&text, "| %d | %s | %s s | %s s | %d | %d |\n", n, grouped(int64(c.Recorded.Value)*int64(n)),
			Number(max(p.Seconds.SoldOut, p.Seconds.Recorded/float64(n))), Number(max(p.Seconds.SoldOut, p.Seconds.Projected/float64(n))), n*int(c.NodeConns.Value), p.Cores()+more)
	}
	return text.String()
}

// grouped writes a whole number with commas.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
