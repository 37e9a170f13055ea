package mutants

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

var (
	all    = flag.Bool("mutants.all", false, "run every mutant, not the quick ones alone")
	named  = flag.String("mutants.named", "", "run the mutants whose names contain this text")
	update = flag.Bool("update", false, "write the table of mutants into docs/properties.md")
)

// root is the module's, as an absolute path: an overlay knows no other.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// hasty lets checks give up early: a broken build need not be waited for.
func (m Mutant) hasty() []string {
	if m.Package == programs {
		return []string{"-properties.patience=8s"}
	}
	return nil
}

func TestTheLineOfEveryMutantStandsWhereItSays(t *testing.T) {
	broken := map[string]bool{}
	for _, m := range Table() {
		if _, err := m.Broken(root(t)); err != nil {
			t.Error(err)
		}
		broken[m.Breaks] = true
	}
	for n := 1; n <= 6; n++ {
		if check := fmt.Sprintf("C%d", n); !broken[check] {
			t.Errorf("no mutant breaks %s", check)
		}
	}
}

// TestBrokenBuildsAreCaught builds and runs the mutants that were asked for.
func TestBrokenBuildsAreCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: builds the program again and again")
	}
	rows := table.NewWriter()
	rows.AppendHeader(table.Row{"mutant", "breaks", "caught by", "verdict", "s"})
	sound := map[string]bool{} // tests that pass without a mutant
	ran := 0
	for _, m := range Table() {
		if *named != "" && !strings.Contains(m.Name, *named) || *named == "" && !*all && !m.Quick {
			continue
		}
		ran++
		t.Run(m.Name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
			defer cancel()
			unbroken(ctx, t, m, sound)
			out, err := m.Run(ctx, root(t), t.TempDir(), m.hasty()...)
			if err != nil {
				t.Fatal(err)
			}
			by := "–"
			if len(out.By) > 0 {
				by = out.By[len(out.By)-1]
			}
			rows.AppendRow(table.Row{m.Name, m.Breaks, by, out.Verdict, fmt.Sprintf("%.0f", out.Took.Seconds())})
			if out.Verdict != Caught {
				t.Errorf("%s: %s\nin %s\n- %s\n+ %s\n%s", m.Name, out.Verdict, m.File, m.Before, m.After, tail(out.Output))
			}
		})
	}
	if ran == 0 {
		t.Fatal("no mutant ran")
	}
	t.Logf("%d mutants\n%s", ran, rows.Render())
}

// unbroken wants the whole test of a mutant, with its subtests, to pass without it.
func unbroken(ctx context.Context, t *testing.T, m Mutant, sound map[string]bool) {
	t.Helper()
	name, _, _ := strings.Cut(m.Test, "/")
	if sound[m.Package+" "+name] {
		return
	}
	test, out, err := compile(ctx, root(t), m.Package, filepath.Join(t.TempDir(), "unbroken.test"))
	if err == nil && out.Verdict != NoBuild {
		out, err = test.run(ctx, name, m.hasty()...)
	}
	if err != nil || out.Verdict != Survived {
		t.Fatalf("without the mutant: %s, %v\n%s", out.Verdict, err, tail(out.Output))
	}
	sound[m.Package+" "+name] = true
}

func tail(s string) string { return s[max(0, len(s)-6000):] }

// A mutant is judged by what its test says, not by any failure.
func TestWhatIsNoCatchIsNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: builds the program again and again")
	}
	good := Mutant{
		Name: "sums of units wrap", File: "domain/judge.go", Package: "domain", Test: "Limit|Units|Judge",
		Before: "return math.MaxInt64", After: "return math.MinInt64", Breaks: "limit", Says: "got",
	}
	change := func(f func(*Mutant)) Mutant { m := good; f(&m); return m }
	for want, m := range map[Verdict]Mutant{
		Caught:    good,
		Survived:  change(func(m *Mutant) { m.After = "return math.MaxInt64 // as before" }),
		NoBuild:   change(func(m *Mutant) { m.After = "return nil" }),
		NoTest:    change(func(m *Mutant) { m.Test = "^TestThatIsNotThere$" }),
		Otherwise: change(func(m *Mutant) { m.Says = "what nobody says" }),
	} {
		out, err := m.Run(t.Context(), root(t), t.TempDir())
		if err != nil || out.Verdict != want {
			t.Errorf("got %q, %v, want %q\n%s", out.Verdict, err, want, tail(out.Output))
		}
	}
	for text, m := range map[string]Mutant{
		"gone":    change(func(m *Mutant) { m.Before = "return math.MaxInt63" }),
		"twice":   change(func(m *Mutant) { m.Before = "}" }),
		"nothing": change(func(m *Mutant) { m.After = m.Before }),
	} {
		if _, err := m.Run(t.Context(), root(t), t.TempDir()); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want an error that says %q", err, text)
		}
	}
}

const (
	begin = "<!-- mutants: written by go test ./infra/mutants -run Page -update -->\n"
	end   = "<!-- end of mutants -->\n"
)

func TestThePageHasTheTable(t *testing.T) {
	file := filepath.Join(root(t), "docs", "properties.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), begin)
	old, foot, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", file)
	}
	var b strings.Builder
	b.WriteString("| the mutant | its line is in | breaks | caught by |\n|---|---|---|---|\n")
	for _, m := range Table() {
		fmt.Fprintf(&b, "| %s | `%s` | %s | `%s` |\n", m.Name, m.File, m.Breaks, strings.NewReplacer("^", "", "$", "").Replace(m.Test))
	}
	switch {
	case *update:
		if err := os.WriteFile(file, []byte(head+begin+b.String()+end+foot), 0o644); err != nil {
			t.Fatal(err)
		}
	case old != b.String():
		t.Errorf("the table of %s is not that of the mutants; write it with -update", file)
	}
}
