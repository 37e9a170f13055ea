package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const testPage = "# Page\n\n" +
	"| case | what | tests |\n|---|---|---|\n" +
	"| K01 | the last unit | [`a/x_test.go`](../a/x_test.go) TestGood<br>[`a/x_test.go`](../a/x_test.go) TestTable/K01 |\n" +
	"| K02 | nothing shows it | |\n\n" +
	"| threat | what | shown by |\n|---|---|---|\n" +
	"| somebody `x_test.go` | a guard | `b/y_test.go` FuzzOther · `a/x_test.go` TestGood |\n"

func TestThePagesTablesNameTheTests(t *testing.T) {
	good, table := named{"a", "TestGood", ""}, named{"a", "TestTable", "K01"}
	want := []line{
		{"K01  the last unit", []named{good, table}},
		{about: "K02  nothing shows it"},
		{"somebody `x_test.go`", []named{{"b", "FuzzOther", ""}, good}},
	}
	lines := linesOf(testPage)
	if diff := cmp.Diff(want, lines, cmp.AllowUnexported(line{}, named{})); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	folders, tests := plan(lines)
	if got := strings.Join(folders, " ") + " " + strings.Join(tests, " "); got != "./a ./b FuzzOther TestGood TestTable" {
		t.Errorf("it would run %s", got)
	}
	if left := only(lines, "K02"); len(left) != 1 || left[0].about != "K02  nothing shows it" {
		t.Errorf("got %+v, want K02 alone", left)
	}
}

// A module of its own, whose tests pass, fail, are skipped and are not there.
func TestALineHoldsOnlyIfEachOfItsTestsDoes(t *testing.T) {
	for name, c := range map[string]struct {
		tests, verdict string
	}{
		"passed":                    {"`a/x_test.go` TestGood", holds},
		"a subtest that passed":     {"`a/x_test.go` TestTable/K01", holds},
		"a subtest that failed":     {"`a/x_test.go` TestTable/K02", failed},
		"a subtest that is missing": {"`a/x_test.go` TestTable/K03", missing},
		"failed":                    {"`a/x_test.go` TestGood · `a/x_test.go` TestBad", failed},
		"skipped":                   {"`a/x_test.go` TestGood · `a/x_test.go` TestSkipped", skipped},
		"a part of it skipped":      {"`a/x_test.go` TestGood · `a/x_test.go` TestPartly", skipped},
		"not there":                 {"`a/x_test.go` TestGood · `a/x_test.go` TestGone", missing},
		"not built":                 {"`b/y_test.go` TestUnbuilt", missing},
		"no test at all":            {"none", missing},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "go.mod", "module small\n")
			write(t, dir, "a/x_test.go", smallTests)
			write(t, dir, "b/y_test.go", "package b\nimport \"testing\"\nfunc TestUnbuilt(t *testing.T) { none }\n")
			write(t, dir, "page.md", "| what | how | tests |\n|---|---|---|\n| it holds | | `a/x_test.go` TestGood |\n| this line | | "+c.tests+" |\n")
			t.Chdir(dir)
			var out, told bytes.Buffer
			err := run("page.md", options{timeout: "1m"}, &out, &told)
			// TestTable fails as a whole: a run is good only if all that ran is.
			if (err == nil) != (name == "passed") {
				t.Errorf("got %v\n%s%s", err, out.String(), told.String())
			}
			for line := range strings.Lines(out.String()) {
				if strings.Contains(line, "this line") && !strings.HasPrefix(line, c.verdict+" ") {
					t.Errorf("got %q, want %s\n%s", line, c.verdict, told.String())
				}
				if strings.Contains(line, "it holds") && !strings.HasPrefix(line, holds+" ") {
					t.Errorf("got %q for the line beside it", line)
				}
			}
			if c.verdict == failed && !strings.Contains(told.String(), "it is broken") {
				t.Errorf("it is not told why:\n%s", told.String())
			}
		})
	}
}

const smallTests = `package a
import "testing"
func TestGood(*testing.T) {}
func TestBad(t *testing.T) { t.Error("it is broken") }
func TestSkipped(t *testing.T) { t.Skip("no server") }
func TestPartly(t *testing.T) { t.Run("on a server", func(t *testing.T) { t.Skip("no server") }) }
func TestTable(t *testing.T) {
	t.Run("deeper", func(t *testing.T) { t.Run("K01 good", func(*testing.T) {}) })
	t.Run("K02 bad", func(t *testing.T) { t.Error("it is broken") })
}
`

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
