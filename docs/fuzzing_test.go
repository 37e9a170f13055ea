package docs

import (
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var fuzzFunc = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(f \*testing\.F\)`)

func TestThePageListsEveryFuzzTarget(t *testing.T) {
	page, err := os.ReadFile("fuzzing.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	for _, m := range coveredBy.FindAllStringSubmatch(string(page), -1) {
		listed[m[1]+" "+m[2]]++
	}
	there := map[string]bool{}
	root := os.DirFS("..")
	err = fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return fs.SkipDir
		case !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		source, err := fs.ReadFile(root, file)
		for _, m := range fuzzFunc.FindAllStringSubmatch(string(source), -1) {
			there[file+" "+m[1]] = true
		}
		return err
	})
	if err != nil || len(there) < 50 {
		t.Fatalf("only %d targets were found: %v", len(there), err)
	}
	for _, target := range slices.Sorted(maps.Keys(there)) {
		if listed[target] != 1 {
			t.Errorf("%s is listed %d times, want once", target, listed[target])
		}
	}
	for target := range listed {
		if !there[target] {
			t.Errorf("%s is listed and not there", target)
		}
	}
}
