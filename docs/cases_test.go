package docs

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// cases is how many faults of other systems we answer for. The page lists them.
const cases = 53

var caseRow = regexp.MustCompile(`(?m)^\| (B\d\d) \| ([^|]+) \| ([^|]*) \|$`)

// The third column is written out of the tests; the first two are written by hand.
func TestEveryCaseHasItsTests(t *testing.T) {
	page, err := os.ReadFile("cases.md")
	if err != nil {
		t.Fatal(err)
	}
	found := caseTests(t, os.DirFS(".."))
	var numbers []string
	want := caseRow.ReplaceAllStringFunc(string(page), func(row string) string {
		m := caseRow.FindStringSubmatch(row)
		numbers = append(numbers, m[1])
		if len(found[m[1]]) == 0 {
			t.Errorf("%s has no test: give one a name that carries the number", m[1])
		}
		return "| " + m[1] + " | " + m[2] + " | " + strings.Join(found[m[1]], "<br>") + " |"
	})
	slices.Sort(numbers)
	if n := len(slices.Compact(slices.Clone(numbers))); n != cases || len(numbers) != cases {
		t.Errorf("the page lists %d cases, %d of them once, want %d", len(numbers), n, cases)
	}
	for _, number := range slices.Sorted(maps.Keys(found)) {
		if !slices.Contains(numbers, number) {
			t.Errorf("tests carry %s, which the page does not list: %v", number, found[number])
		}
	}
	if want == string(page) {
		return
	}
	if *update {
		if err := os.WriteFile("cases.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Error("cases.md does not name the tests as they are; write it anew with: go test ./docs -run Cases -update")
}

func TestTheTestsOfACaseAreFoundWhereverItsNumberStands(t *testing.T) {
	found := caseTests(t, fstest.MapFS{
		"a/one_test.go": {Data: []byte(`package a
import "testing"
func TestB01InItsName(t *testing.T) {}
// B02, B03: in its comment.
func TestCommented(t *testing.T) {}
func TestTable(t *testing.T) { everyOne(t) }
func TestNumberOfNoCase(t *testing.T) { _ = "all of B07" }
func helperB08() {}
`)},
		"a/two_test.go":                {Data: []byte("package a\nfunc everyOne(t any) { _ = []string{\"B04 in a table elsewhere\"} }\n")},
		"a/made.go":                    {Data: []byte("package a\nfunc TestB09(t any) {}\n")},
		"b/b_test.go":                  {Data: []byte("package b\nimport \"seckill/eventstore/storetest\"\nfunc TestContract(t any) { storetest.Run(t) }\n")},
		"eventstore/storetest/race.go": {Data: []byte("package storetest\nfunc Run(t any) { _ = race }\nfunc race(t any) { _ = \"B05: of a contract\" }\nfunc Other() { _ = \"B06 not run\" }\n")},
	})
	want := map[string]string{
		"B01": caseCell("a/one_test.go", "TestB01InItsName"), "B02": caseCell("a/one_test.go", "TestCommented"), "B03": caseCell("a/one_test.go", "TestCommented"),
		"B04": caseCell("a/one_test.go", "TestTable/B04"), "B05": caseCell("b/b_test.go", "TestContract/B05"),
	}
	got := map[string]string{}
	for number, cells := range found {
		got[number] = strings.Join(cells, " ")
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
