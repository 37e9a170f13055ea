package bench

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strings"

	"seckill/infra/load"
)

//go:embed page.html
var pageText string

// Title says a kind for people.
func Title(kind string) string {
	switch kind {
	case load.KindPurchase:
		return "purchase, each try"
	case load.KindVerdict:
		return "from the button to the last answer"
	case load.KindPlaced:
		return "from the button to the order placed"
	case load.KindPoll:
		return "look at orders"
	case load.KindPage:
		return "page and sale read"
	case load.KindPayment:
		return "where to pay"
	case load.KindWebhook:
		return "payment told"
	case load.KindAttack:
		return "attack"
	}
	return kind
}

// Page writes a report as one HTML page that needs nothing else: no scripts, no fonts,
// no pictures from elsewhere.
func Page(r *Report) ([]byte, error) {
	funcs := template.FuncMap{
		"title": Title, "number": number, "percent": func(v float64) string { return fmt.Sprintf("%.2f %%", 100*v) },
		"ms": func(v float64) string { return fmt.Sprintf("%.1f", v) }, "outcomes": outcomes,
		"held": func(ok *bool) bool { return *ok },
	}
	page, err := template.New("page").Funcs(funcs).Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("read the page's template: %w", err)
	}
	var out bytes.Buffer
	if err := page.Execute(&out, map[string]any{"R": r, "Charts": charts(r), "Purchases": find(r, load.KindPurchase)}); err != nil {
		return nil, fmt.Errorf("write the page: %w", err)
	}
	return out.Bytes(), nil
}

func find(r *Report, kind string) Kind {
	for _, k := range r.Kinds {
		if k.Name == kind {
			return k
		}
	}
	return Kind{}
}

// outcome is a line of the list of answers.
type outcome struct {
	Name  string
	N     int64
	Share float64
}

// outcomes lists the answers of a kind, the most frequent first.
func outcomes(k Kind) []outcome {
	var all []outcome
	for _, name := range slices.Sorted(maps.Keys(k.Outcomes)) {
		all = append(all, outcome{name, k.Outcomes[name], float64(k.Outcomes[name]) / float64(max(k.Sent, 1))})
	}
	slices.SortStableFunc(all, func(a, b outcome) int { return int(b.N - a.N) })
	return all
}

// charts draws what there is to draw.
func charts(r *Report) []chart {
	all := []chart{rates(r), delays(r), curves(r)}
	if r.Backlog.Seen && len(r.Backlog.Samples) > 1 {
		all = append(all, backlogChart(r.Backlog))
	}
	if len(r.Generator.CPU) > 1 {
		cpu := line{Name: "processor of the generator"}
		for i, v := range r.Generator.CPU {
			cpu.Xs, cpu.Ys = append(cpu.Xs, float64(i+1)), append(cpu.Ys, 100*v)
		}
		c := plot("The generator itself", "seconds", "% of its cores", false, cpu)
		c.Note = "Above 90 % a run is invalid: then the generator is what was measured."
		all = append(all, c)
	}
	return all
}

func rates(r *Report) chart {
	lines := []line{{Name: "sent"}, {Name: "accepted, or the own order"}, {Name: "refused"}, {Name: "failed"}}
	for _, s := range r.Series {
		per := 1000 / float64(max(s.ForMS, 1))
		for i, n := range []int64{s.Sent, s.OK, s.Refused, s.Failed} {
			lines[i].Xs, lines[i].Ys = append(lines[i].Xs, float64(s.AtMS)/1000), append(lines[i].Ys, float64(n)*per)
		}
	}
	c := plot("Purchases a second", "seconds", "a second", false, lines...)
	c.Note = "By when each was to be sent; tries again count for themselves."
	return c
}

func delays(r *Report) chart {
	lines := []line{{Name: "p50"}, {Name: "p99"}, {Name: "most"}}
	for _, s := range r.Series {
		if s.Sent == 0 {
			continue
		}
		for i, v := range []float64{s.P50, s.P99, s.Max} {
			lines[i].Xs, lines[i].Ys = append(lines[i].Xs, float64(max(s.AtMS, 0))/1000), append(lines[i].Ys, v)
		}
	}
	c := plot("Latency of purchases", "seconds", "ms", true, lines...)
	c.Note = "From when each was to be sent: who was to be sent into a stall counts with all of it."
	return c
}

func curves(r *Report) chart {
	var lines []line
	for _, k := range r.Kinds {
		if slices.Index(order[:], k.Name) > slices.Index(order[:], load.KindPage) {
			continue // more lines than anybody tells apart
		}
		l := line{Name: Title(k.Name)}
		for i := range k.Curve {
			l.Xs, l.Ys = append(l.Xs, float64(i)), append(l.Ys, k.Curve[i])
		}
		lines = append(lines, l)
	}
	c := plot("Latency by share", "share of the answers, %", "ms", true, lines...)
	x := scale{min: 0, max: float64(len(Quantiles()) - 1), from: plotLeft, to: chartWidth - plotRight}
	c.XTicks = nil
	for i, q := range Quantiles() {
		c.XTicks = append(c.XTicks, tick{x.at(float64(i)), number(q)})
	}
	c.Note = "Read: 99 % of the answers came within the value above 99."
	return c
}

func backlogChart(b Backlog) chart {
	lines := []line{{Name: "purchases undecided"}, {Name: "journal entries unrecorded"}, {Name: "events unpublished"}}
	views := slices.Sorted(maps.Keys(b.Peak.Views))
	for _, name := range views {
		lines = append(lines, line{Name: "events behind: " + strings.ReplaceAll(name, "_", " ")})
	}
	for _, s := range b.Samples {
		values := []float64{float64(s.Undecided), float64(s.Journal), float64(s.Relay)}
		for _, name := range views {
			values = append(values, float64(s.Views[name]))
		}
		for i, v := range values {
			lines[i].Xs, lines[i].Ys = append(lines[i].Xs, float64(max(s.AtMS, 0))/1000), append(lines[i].Ys, v)
		}
	}
	c := plot("Backlog to the last view", "seconds", "", false, lines...)
	c.Note = "As the installation's metrics say, which look once a second."
	return c
}
