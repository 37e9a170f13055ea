package figures

import (
	"embed"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// bounds holds, for a row or stage of its name, what bounds the figure, what was tried,
// and what it would take; intro.md stands before them all.
//
//go:embed bounds/*.md
var bounds embed.FS

// Render writes the page. The same results give the same page.
func Render(r Results) string {
	var p strings.Builder
	p.WriteString("<!-- Written by `make bench` and `make profiles` out of performance.json, and by `make performance` alone; the texts are in infra/figures/bounds. -->\n# Performance\n\n")
	p.WriteString(bound("intro"))
	machines := r.machines()
	p.WriteString("\n## Taken on\n\n")
	for i, m := range machines {
		fmt.Fprintf(&p, "- **%c**: %s\n", 'A'+i, m)
	}
	p.WriteString("\n## Figures\n\n| what | ours | beside it | | wanted | taken |\n|---|---|---|---|---|---|\n")
	for _, row := range Rows() {
		r.line(&p, row, machines)
	}
	for _, row := range Rows() {
		if kept, ok := r.Figures[row.ID]; ok {
			details(&p, row, kept)
		}
	}
	r.stages(&p)
	return p.String()
}

// machines lists where figures were taken, in alphabetical order.
func (r Results) machines() []string {
	seen := map[string]bool{}
	for _, k := range r.Figures {
		seen[k.Taken.Machine] = true
	}
	for _, k := range r.Stages {
		seen[k.Taken.Machine] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// line is the row's line of the table.
func (r Results) line(p *strings.Builder, row Row, machines []string) {
	what := row.What
	k, ok := r.Figures[row.ID]
	if !ok {
		fmt.Fprintf(p, "| %s | not taken yet | %s | | %s | |\n", what, dash(row.Yardstick), row.Want.text(row.ValueUnit))
		return
	}
	beside := dash(row.Yardstick)
	if k.Yardstick != 0 {
		beside = fmt.Sprintf("%s: %s", row.Yardstick, quantity(k.Yardstick, row.Unit))
	}
	fmt.Fprintf(p, "| [%s](#%s) | %s | %s | **%s** | %s | %s |\n", what, row.ID, quantity(k.Ours, row.Unit), beside,
		quantity(k.Value, row.ValueUnit), row.verdict(k), k.Taken.text(machines))
}

// verdict says what was wanted and whether it was reached; a short run, or a busy
// machine, decides nothing.
func (r Row) verdict(k Kept) string {
	switch {
	case !r.Want.Given:
		return "–"
	case k.Taken.Short:
		return r.Want.text(r.ValueUnit)
	case r.Want.Reached(k.Value):
		return r.Want.text(r.ValueUnit) + ": reached"
	}
	return r.Want.text(r.ValueUnit) + ": **not reached**"
}

func (w Want) text(unit string) string {
	switch {
	case !w.Given:
		return "–"
	case w.Most:
		return "≤ " + quantity(w.Than, unit)
	}
	return "≥ " + quantity(w.Than, unit)
}

func (t Taken) text(machines []string) string {
	text := t.At.UTC().Format("2006-01-02")
	if len(machines) > 1 {
		text += fmt.Sprintf(" on %c", 'A'+slices.Index(machines, t.Machine))
	}
	if t.Idle >= 0 {
		text += fmt.Sprintf(", %.0f %% idle before", 100*t.Idle)
	}
	if t.Busy() {
		text += " (**busy**)"
	}
	if t.Short {
		text += ", **short run: says nothing**"
	}
	return text
}

func details(p *strings.Builder, row Row, k Kept) {
	fmt.Fprintf(p, "\n### %s\n\n%s.", row.ID, upper(row.What))
	if len(k.Details) > 0 {
		p.WriteString("\n\n| in the same run | |\n|---|---|\n")
		for _, d := range k.Details {
			fmt.Fprintf(p, "| %s | %s |\n", d.Name, quantity(d.Value, d.Unit))
		}
	}
	p.WriteString("\n")
	if len(k.Settings) > 0 {
		fmt.Fprintf(p, "\nSettings: %s.\n", strings.Join(k.Settings, ", "))
	}
	fmt.Fprintf(p, "\n`%s`", k.Taken.Command)
	if k.Taken.Revision != "" {
		fmt.Fprintf(p, " at %s", k.Taken.Revision)
	}
	p.WriteString("\n")
	if text := bound(row.ID); text != "" {
		p.WriteString("\n" + text)
	}
}

// stages tells where the processor time of a purchase goes.
func (r Results) stages(p *strings.Builder) {
	if len(r.Stages) == 0 {
		return
	}
	p.WriteString("\n## Where the time of a purchase goes\n\n" + bound("stages"))
	machines := r.machines()
	for _, name := range slices.Sorted(maps.Keys(r.Stages)) {
		s := r.Stages[name]
		fmt.Fprintf(p, "\n### stage: %s\n\n%s\n%d of them, %s.\n\n| time of | µs each |\n|---|---|\n", name, bound("stage-"+name), s.Count, s.Taken.text(machines))
		for _, part := range s.Parts {
			fmt.Fprintf(p, "| %s | %.1f |\n", part.Name, part.Value)
		}
		if len(s.Steps) == 0 {
			continue
		}
		p.WriteString("\n| step inside of our process, with all that it calls | µs each | |\n|---|---|---|\n")
		for _, step := range s.Steps {
			fmt.Fprintf(p, "| `%s` | %.2f | %s |\n", step.Function, step.Micros, step.Why)
		}
		fmt.Fprintf(p, "\nProfiles: [processor](performance/%[1]s-cpu.txt) · [allocations](performance/%[1]s-allocs.txt) · [waiting](performance/%[1]s-block.txt)\n", name)
	}
}

// bound gives a text of the folder bounds, "" where there is none.
func bound(name string) string {
	text, err := bounds.ReadFile("bounds/" + name + ".md")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text)) + "\n"
}

func upper(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func dash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// quantity writes a number with three or so digits and its unit.
func quantity(n float64, unit string) string {
	var text string
	switch {
	case n >= 100 || n <= -100 || n == math.Trunc(n):
		text = thousands(fmt.Sprintf("%.0f", n))
	case n >= 10 || n <= -10:
		text = fmt.Sprintf("%.1f", n)
	default:
		text = fmt.Sprintf("%.2f", n)
	}
	switch {
	case unit == "" || strings.HasPrefix(unit, "/"):
		return text + unit
	}
	return text + " " + unit
}

func thousands(digits string) string {
	sign := ""
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}
