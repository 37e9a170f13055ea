package model

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var large = flag.Bool("model.large", false, "checks the larger bounds as well")

// run is one search: the definitions that bound the model, and what is expected to break.
type run struct {
	name, defines string
	broken        string // "" for nothing
	endless       bool   // looks for endless runs instead of broken promises
	large         bool   // only with -model.large
}

func TestTheProtocolKeepsItsPromises(t *testing.T) {
	require(t)
	if *only != "" {
		holds(t, run{name: "only", defines: *only, large: true})
		return
	}
	for _, r := range runs {
		t.Run(strings.ReplaceAll(r.name, " ", "-"), func(t *testing.T) {
			if r.large && !*large {
				t.Skip("only with -model.large, as make model does")
			}
			t.Parallel()
			holds(t, r)
		})
	}
}

func holds(t *testing.T, r run) {
	t.Helper()
	v := check(t, r)
	t.Logf("%s (%s): %d states in %.1fs", r.name, r.defines, v.states, v.took.Seconds())
	if v.broken != "" {
		t.Errorf("broken: %s\n%s", v.broken, v.trail)
	}
}

// A model that no mistake could break would say nothing.
func TestEveryMutantIsCaughtByThePromiseItBreaks(t *testing.T) {
	require(t)
	if *only != "" {
		t.Skip("one model alone was asked for")
	}
	for _, r := range mutants {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			r.defines += " MUTANT=" + r.name
			v := check(t, r)
			t.Logf("%s: %s after %d states in %.1fs", r.name, v.broken, v.states, v.took.Seconds())
			if v.broken != r.broken {
				t.Errorf("%s (%s): broken is %q, want %q", r.name, r.defines, v.broken, r.broken)
			}
		})
	}
}

// What is not promised is said, and breaks as it is said.
func TestTheLimitsThatTheNoteNamesAreThere(t *testing.T) {
	require(t)
	if *only != "" {
		t.Skip("one model alone was asked for")
	}
	for _, r := range limits {
		t.Run(strings.ReplaceAll(r.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			if v := check(t, r); v.broken != r.broken {
				t.Errorf("%s (%s): broken is %q, want %q: mend the note", r.name, r.defines, v.broken, r.broken)
			}
		})
	}
}

// TestEveryMutantHasARun: none stands in bounds.pml that is not tried.
func TestEveryMutantHasARun(t *testing.T) {
	text, err := os.ReadFile("bounds.pml")
	if err != nil {
		t.Fatal(err)
	}
	_, list, ok := strings.Cut(string(text), "#define MUTANT 0\n#endif\n")
	if !ok {
		t.Fatal("bounds.pml lists no mutants")
	}
	tried := map[string]bool{}
	for _, r := range mutants {
		tried[r.name] = true
	}
	if n := strings.Count(list, "#define "); n != len(tried) {
		t.Errorf("bounds.pml has %d mutants, %d are tried", n, len(tried))
	}
	for name := range tried {
		if !strings.Contains(list, "#define "+name+" ") {
			t.Errorf("bounds.pml has no mutant %s", name)
		}
	}
}
