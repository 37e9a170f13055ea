package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var coveredBy = regexp.MustCompile("`([a-z/0-9_]+_test\\.go)` (Test\\w+|Fuzz\\w+)")

func TestEveryThreatHasATestThatIsThere(t *testing.T) {
	page, err := os.ReadFile("threats.md")
	if err != nil {
		t.Fatal(err)
	}
	threats := 0
	for line := range strings.SplitSeq(string(page), "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| threat |") {
			continue
		}
		threats++
		named := coveredBy.FindAllStringSubmatch(line, -1)
		if len(named) == 0 || strings.Count(line, "_test.go") != len(named) {
			t.Errorf("which test covers it? %s", line)
		}
		for _, m := range named {
			source, err := os.ReadFile("../" + m[1])
			if err != nil || !strings.Contains(string(source), "\nfunc "+m[2]+"(") {
				t.Errorf("%s has no test %s (%v)", m[1], m[2], err)
			}
		}
	}
	if threats < 30 {
		t.Errorf("the page lists %d threats: was its form changed?", threats)
	}
}
