package model

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// codeLink is a file and the names in it that stand behind it.
	codeLink = regexp.MustCompile("\\[([a-z_/.]+\\.(?:go|lua))\\]\\(([^)]+)\\)((?: `[A-Za-z_]+`)*)")
	quoted   = regexp.MustCompile("`([A-Za-z_]+)`")
	steps    = regexp.MustCompile(`(?m)^(?:inline|proctype) (\w+)\(`)
)

func TestWhatTheNoteNamesInTheCodeIsThere(t *testing.T) {
	links := codeLink.FindAllStringSubmatch(note(t), -1)
	if len(links) < 40 {
		t.Fatalf("only %d links into the code were found", len(links))
	}
	for _, m := range links {
		if want := "../../" + m[1]; m[2] != want {
			t.Errorf("%s leads to %s, want %s", m[1], m[2], want)
		}
		text, err := os.ReadFile(filepath.FromSlash("../../" + m[1]))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, name := range quoted.FindAllStringSubmatch(m[3], -1) {
			if !defines(string(text), name[1]) {
				t.Errorf("%s has no function %s", m[1], name[1])
			}
		}
	}
}

// defines tells whether a Go file or a script has a function of that name.
func defines(text, name string) bool {
	return regexp.MustCompile(`(?m)^(?:func (?:\([^)]*\) )?|local function )` + name + `\(`).MatchString(text)
}

func TestANameThatIsNotThereIsMissed(t *testing.T) {
	const text = "func (k *Keeper) drain(ctx context.Context) error {\nlocal function ready(group)\n// undrain(\n"
	for name, want := range map[string]bool{"drain": true, "ready": true, "rain": false, "undrain": false, "Keeper": false} {
		if got := defines(text, name); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}

// TestTheNoteNamesEveryStep: no step stands for nothing in the code.
func TestTheNoteNamesEveryStep(t *testing.T) {
	var named []string
	for _, m := range quoted.FindAllStringSubmatch(note(t), -1) {
		named = append(named, m[1])
	}
	files, err := filepath.Glob("*.pml")
	if err != nil || len(files) < 8 {
		t.Fatalf("got %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range steps.FindAllStringSubmatch(string(text), -1) {
			if !slices.Contains(named, m[1]) {
				t.Errorf("%s of %s is not in README.md", m[1], file)
			}
		}
	}
}

func TestTheNoteNamesEveryPromiseAndEveryMutant(t *testing.T) {
	text := note(t)
	promises, err := os.ReadFile("promises.pml")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^hidden byte ([^;]+);`).FindAllStringSubmatch(string(promises), -1) {
		for name := range strings.SplitSeq(m[1], ", ") {
			if name != "within_bounds" && !strings.Contains(text, "`"+name+"`") {
				t.Errorf("the promise %s is not in README.md", name)
			}
		}
	}
	for _, r := range mutants {
		if !strings.Contains(text, "| `"+r.name+"` |") || !strings.Contains(text, "`"+r.broken+"`") {
			t.Errorf("the mutant %s, caught as %s, is not in README.md", r.name, r.broken)
		}
	}
	for _, r := range append(runs, limits...) {
		if !strings.Contains(text, "`"+r.defines+"`") {
			t.Errorf("the run %q, `%s`, is not in README.md", r.name, r.defines)
		}
	}
}

func note(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
