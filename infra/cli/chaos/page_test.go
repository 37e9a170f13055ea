package chaos

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// The page says what the runs said, of every cell, and no cell lost anything.
func TestThePageShowsEveryCellOfTheMatrixAndNoLoss(t *testing.T) {
	r, err := readRecord()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	if want := page(&r); string(text) != want {
		t.Error("docs/reliability.md is not what docs/reliability.json says; it is written by make chaos ARGS=-chaos.update")
	}
	there := map[string]result{}
	for _, c := range r.Cells {
		there[c.Row+"/"+c.Fault] = c
		if !c.good() {
			t.Errorf("%s/%s: %d lost of %d, as before after %d ms, %q", c.Row, c.Fault, c.Lost, c.Acknowledged, c.NormalMS, c.Findings)
		}
	}
	for _, c := range matrix() {
		got, ok := there[c.name()]
		switch {
		case !ok:
			t.Errorf("%s has not been played: make chaos ARGS=\"-chaos.update -chaos.only %[1]s\"", c.name())
		case got.Did != c.did || got.Why != c.why:
			t.Errorf("%s is another than the one that was played: %q, %q", c.name(), got.Did, got.Why)
		}
	}
}

// A page with a loss is noticed: the checks above are no ceremony.
func TestACellThatLostSomethingIsNotGood(t *testing.T) {
	good := result{Acknowledged: 10}
	if !good.good() {
		t.Error("a cell without findings is not good")
	}
	for name, bad := range map[string]result{
		"a lost order": {Acknowledged: 10, Lost: 1}, "a finding": {Acknowledged: 10, Findings: []string{"C1"}},
		"no end": {Acknowledged: 10, NormalMS: -1}, "nothing sold": {},
	} {
		if bad.good() {
			t.Errorf("%s is good", name)
		}
	}
}

// page writes the page.
func page(r *record) string {
	var b strings.Builder
	fmt.Fprintf(&b, pageHead, r.Command, r.Machine, versionsLine(r.Versions), loads(r.Cells))
	overview(&b, r, rowNames[:], faultNames[:])
	b.WriteString(pageCuts)
	overview(&b, r, roleNames, cutNames[:])
	b.WriteString(pageReading)
	for _, row := range rowNames {
		rowTable(&b, r, row)
	}
	b.WriteString(pageFoot)
	return b.String()
}

func versionsLine(v map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		all = append(all, name+" "+v[name])
	}
	return strings.Join(all, ", ")
}

// loads says how busy the machine was while the cells were played.
func loads(cells []result) string {
	var lowest, highest float64
	seen := false
	for _, c := range cells {
		var load float64
		if _, err := fmt.Sscan(c.Load, &load); err != nil {
			continue
		}
		if !seen {
			lowest, highest, seen = load, load, true
		}
		lowest, highest = min(lowest, load), max(highest, load)
	}
	if !seen {
		return "unknown"
	}
	return fmt.Sprintf("%.1f to %.1f", lowest, highest)
}

// overview is the matrix at one look.
func overview(b *strings.Builder, r *record, rows, faults []string) {
	b.WriteString("| |")
	for _, fault := range faults {
		b.WriteString(" " + fault + " |")
	}
	b.WriteString("\n|---|" + strings.Repeat("---:|", len(faults)) + "\n")
	for _, row := range rows {
		fmt.Fprintf(b, "| [%s](#%[1]s) |", row)
		for _, fault := range faults {
			b.WriteString(" " + verdict(r.of(row, fault)) + " |")
		}
		b.WriteString("\n")
	}
}

// of gives the result of a cell, nil where there is none.
func (r *record) of(row, fault string) *result {
	for i := range r.Cells {
		if r.Cells[i].Row == row && r.Cells[i].Fault == fault {
			return &r.Cells[i]
		}
	}
	return nil
}

func verdict(c *result) string {
	switch {
	case c == nil:
		return "not played"
	case c.Why != "":
		return "–"
	case !c.good():
		return "✗"
	}
	return seconds(c.NormalMS)
}

func seconds(ms int64) string {
	if ms < 0 {
		return "never"
	}
	return fmt.Sprintf("%.1f s", (time.Duration(ms) * time.Millisecond).Seconds())
}

// class is the bound that the slowest answer kept.
func class(ms int64) string {
	for _, bound := range []int64{100, 300, 1000, 2000} {
		if ms <= bound {
			return "≤ " + seconds(bound)
		}
	}
	return "> 2.0 s"
}

// rowTable tells of one row.
func rowTable(b *strings.Builder, r *record, row string) {
	fmt.Fprintf(b, "\n### %s\n\n| fault | what was done | `redis-async` | `redis-sync` | `postgres` | slowest answer | acknowledged | lost | refused later | as before: buyers · record · published · views | played |\n"+
		"|---|---|---|---|---|---:|---:|---:|---:|---:|---|\n", row)
	for _, fault := range faultsOf(row) {
		c := r.of(row, fault)
		if c == nil {
			continue
		}
		if c.Why != "" {
			fmt.Fprintf(b, "| %s | – %s | | | | | | | | | |\n", fault, c.Why)
			continue
		}
		refused := 0
		for _, n := range c.Refused {
			refused += n
		}
		fmt.Fprintf(b, "| %s | %s; %s | %s | %s | %s | %s | %d | %d | %d | %s · %s · %s · %s | %s |\n", fault, c.Did, seconds(c.HoldMS),
			words(c.Answers["redis-async"]), words(c.Answers["redis-sync"]), words(c.Answers["postgres"]), class(c.SlowestMS),
			c.Acknowledged, c.Lost, refused, seconds(c.BuyersMS), seconds(c.RecordedMS), seconds(c.PublishedMS), seconds(c.ViewedMS), c.At.Format("2006-01-02 15:04"))
	}
}

// words are answers with how often each was given, promises first.
func words(answers map[string]int) string {
	order := slices.SortedFunc(maps.Keys(answers), func(a, b string) int {
		if promised(a) != promised(b) {
			if promised(a) {
				return -1
			}
			return 1
		}
		return strings.Compare(a, b)
	})
	var all []string
	for _, word := range order {
		all = append(all, fmt.Sprintf("%s × %d", word, answers[word]))
	}
	return strings.Join(all, "<br>")
}
