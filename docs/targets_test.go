package docs

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

var (
	phony  = regexp.MustCompile(`(?m)^\.PHONY:(.*)$`)
	rule   = regexp.MustCompile(`(?m)^([a-z][a-z-]*):(?:[^=\n][^\n]*)?\n\t`)
	toMake = regexp.MustCompile("(?m)^make ([a-z][a-z-]*)(?:$| +(?:#|[A-Z]+=))|`make ([a-z][a-z-]*)")
)

// make does nothing, and says that it succeeded, where a target is phony and has no rule.
func TestEveryTargetOfMakeThatIsNamedDoesSomething(t *testing.T) {
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	does := map[string]bool{}
	for _, m := range rule.FindAllStringSubmatch(string(makefile), -1) {
		does[m[1]] = true
	}
	for _, m := range phony.FindAllStringSubmatch(string(makefile), -1) {
		for target := range strings.FieldsSeq(m[1]) {
			if !does[target] {
				t.Errorf("the Makefile lists %s and has no rule for it", target)
			}
		}
	}
	named := 0
	root := os.DirFS("..")
	err = fs.WalkDir(root, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return fs.SkipDir
		case path.Ext(file) != ".md":
			return nil
		}
		text, err := fs.ReadFile(root, file)
		for _, m := range toMake.FindAllStringSubmatch(string(text), -1) {
			target := m[1] + m[2] // one of them is empty
			if named++; !does[target] {
				t.Errorf("%s tells to run make %s, which does nothing", file, target)
			}
		}
		return err
	})
	if err != nil || len(does) < 30 || named < 50 {
		t.Fatalf("%d targets were found, named %d times: %v", len(does), named, err)
	}
}
