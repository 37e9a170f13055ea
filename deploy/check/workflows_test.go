package check

import (
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"sigs.k8s.io/yaml"
)

// workflow is what is looked at of a workflow.
type workflow struct {
	Permissions map[string]string `json:"permissions"`
	Jobs        map[string]struct {
		Uses    string `json:"uses"`
		Timeout int    `json:"timeout-minutes"`
		Needs   any    `json:"needs"`
		Steps   []struct {
			Uses string `json:"uses"`
			Run  string `json:"run"`
		} `json:"steps"`
	} `json:"jobs"`
}

func workflows(t *testing.T) map[string]workflow {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, ".github/workflows/*.yml"))
	if err != nil || len(files) < 2 {
		t.Fatalf("found %v, %v", files, err)
	}
	all := map[string]workflow{}
	for _, file := range files {
		var w workflow
		name := filepath.Base(file)
		if err := yaml.Unmarshal([]byte(read(t, ".github/workflows/"+name)), &w); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[name] = w
	}
	return all
}

func TestWorkflowsAreWhatActionsTakes(t *testing.T) {
	linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name := range workflows(t) {
		found, err := linter.LintFile(filepath.Join(root, ".github/workflows", name), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			t.Errorf("%s:%d:%d: %s", name, f.Line, f.Column, f.Message)
		}
	}
}

func TestWorkflowsPinWhatTheyRun(t *testing.T) {
	exact, tool := regexp.MustCompile(`^[\w./-]+@v\d+\.\d+\.\d+$`), regexp.MustCompile(`go (?:run|install) (\S+/\S+)`)
	for name, w := range workflows(t) {
		if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
			t.Errorf("%s may by default %v, want to read the contents alone", name, w.Permissions)
		}
		for job, j := range w.Jobs {
			if j.Uses == "" && j.Timeout == 0 {
				t.Errorf("%s, %s may run for hours", name, job)
			}
			for _, step := range j.Steps {
				if step.Uses != "" && !exact.MatchString(step.Uses) {
					t.Errorf("%s, %s uses %s, which is not pinned", name, job, step.Uses)
				}
				for _, m := range tool.FindAllStringSubmatch(step.Run, -1) {
					if !exact.MatchString(m[1]) {
						t.Errorf("%s, %s runs %s, which is not pinned", name, job, m[1])
					}
				}
			}
		}
	}
}

// What is released was tested, looked through for known faults, and can be traced.
func TestTheReleaseHoldsWhatItPromises(t *testing.T) {
	release := workflows(t)["release.yml"]
	if release.Jobs["test"].Uses != "./.github/workflows/ci.yml" {
		t.Errorf("it does not begin with the tests, but with %+v", release.Jobs["test"])
	}
	for job, after := range map[string]string{"build": "test", "publish": "build", "image": "test"} {
		if got := release.Jobs[job].Needs; got != after {
			t.Errorf("%s comes after %v, want %s", job, got, after)
		}
	}
	var said []string
	for _, j := range release.Jobs {
		for _, step := range j.Steps {
			said = append(said, step.Uses, step.Run)
		}
	}
	text := strings.Join(said, "\n")
	for _, want := range []string{"govulncheck@", "cyclonedx-gomod@", "sha256sum", "attest-build-provenance@", "build-push-action@", "builtVersion=$VERSION", "completion", "go run . man"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %s", want)
		}
	}
	arches := regexp.MustCompile(`arch: \[(.*)\]`).FindStringSubmatch(read(t, ".github/workflows/release.yml"))
	if got := strings.Split(arches[1], ", "); !slices.Equal(got, []string{"amd64", "arm64"}) {
		t.Errorf("built for %v", got)
	}
}
