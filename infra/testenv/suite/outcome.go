package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
)

// event is a line of `go test -json`.
type event struct {
	Action     string
	Package    string
	ImportPath string // of what did not build
	Test       string
	Output     string
}

// outcome is what a run of tests came to.
type outcome struct {
	module string
	ended  map[string]string   // by package and test: pass, fail or skip
	said   map[string][]string // what a test, or a package beside its tests, printed
	broken []string            // packages that failed or were not built
}

// follow reads the events of a run to their end. Each package that ends is told.
func follow(module string, from io.Reader, tell io.Writer) (*outcome, error) {
	o := &outcome{module: module, ended: map[string]string{}, said: map[string][]string{}}
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Fprintln(tell, lines.Text()) // what the go command says of itself
			continue
		}
		o.take(e, tell)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read what the tests say: %w", err)
	}
	return o, nil
}

func (o *outcome) take(e event, tell io.Writer) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output", "build-output":
		if e.Package == "" {
			key = e.ImportPath + " "
		}
		o.said[key] = append(o.said[key], e.Output)
	case "build-fail":
		o.broken = append(o.broken, e.ImportPath)
	case "pass", "fail", "skip":
		if e.Test != "" {
			o.ended[key] = e.Action
			return
		}
		fmt.Fprintf(tell, "%-5s %s\n", e.Action, e.Package)
		if e.Action == "fail" {
			o.broken = append(o.broken, e.Package)
		}
	}
}

// Verdicts of a test that a page names.
const (
	holds   = "holds"
	failed  = "FAILED"
	skipped = "SKIPPED"
	missing = "DID NOT RUN"
)

// of gives the verdict of a test: the worst of the subtests that are meant. A test that
// passed although a part of it was skipped was skipped; inputs that a fuzz target leaves
// out are no parts.
func (o *outcome) of(n named) string {
	at := path.Join(o.module, n.folder) + " " + n.test
	worst, found := holds, false
	if n.part == "" {
		worst, found = verdictOf(o.ended[at]), true
	}
	for key, action := range o.ended {
		rest, below := strings.CutPrefix(key, at+"/")
		if !below || !strings.Contains(rest, n.part) || n.part == "" && strings.HasPrefix(n.test, "Fuzz") {
			continue
		}
		found = true
		if v := verdictOf(action); v == failed || worst == holds {
			worst = v
		}
	}
	if !found {
		return missing
	}
	return worst
}

func verdictOf(action string) string {
	switch action {
	case "pass":
		return holds
	case "fail":
		return failed
	case "skip":
		return skipped
	}
	return missing
}

// report prints the table and gives how many lines do not hold.
func (o *outcome) report(lines []line, to io.Writer) (bad int) {
	for _, l := range lines {
		verdict := holds
		var notes []string
		for _, n := range l.tests {
			if v := o.of(n); v != holds {
				notes = append(notes, fmt.Sprintf("%s: %s", v, n))
				if verdict != failed {
					verdict = v
				}
			}
		}
		if len(l.tests) == 0 {
			verdict, notes = missing, []string{"the page names no test"}
		}
		if verdict != holds {
			bad++
		}
		fmt.Fprintf(to, "%-11s  %2d  %s\n", verdict, len(l.tests), short(l.about))
		for _, note := range notes {
			fmt.Fprintln(to, "                 "+note)
		}
	}
	return bad
}

// short bounds what a line of the table says, in characters.
func short(text string) string {
	const most = 100
	if r := []rune(text); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return text
}

// explain prints what the tests that failed, and packages that broke beside their
// tests, said.
func (o *outcome) explain(to io.Writer) {
	for _, key := range slices.Sorted(maps.Keys(o.ended)) {
		if o.ended[key] == "fail" {
			fmt.Fprint(to, strings.Join(o.said[key], ""))
		}
	}
	for _, broken := range o.broken {
		fmt.Fprint(to, strings.Join(o.said[broken+" "], ""))
	}
}
