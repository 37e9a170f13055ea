package docs

import (
	"os"
	"strings"
	"testing"

	"seckill/infra/plan"
)

// The page on scaling says what `seckill plan` says.
func TestThePageOnScalingIsComputedFromThePlansTable(t *testing.T) {
	const begin, end = "<!-- begin: computed -->\n", "<!-- end: computed -->"
	text, err := os.ReadFile("scaling.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	computed, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("docs/scaling.md has no %q … %q", begin, end)
	}
	want := "\n" + plan.Scaling(plan.Measured()) + "\n"
	if *update {
		if err := os.WriteFile("scaling.md", []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if computed != want {
		t.Error("docs/scaling.md is stale; look at the change, then run: go test ./docs -update")
	}
}
