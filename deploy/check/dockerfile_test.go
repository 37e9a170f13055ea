package check

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// instruction is one of a Dockerfile, its lines joined.
type instruction struct{ name, rest string }

// stages reads the Dockerfile: its instructions by stage, the first being what stands
// before any.
func stages(t *testing.T) [][]instruction {
	t.Helper()
	var joined []string
	whole := false
	for line := range strings.SplitSeq(read(t, "Dockerfile"), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		text, goesOn := strings.CutSuffix(line, `\`)
		if whole {
			joined[len(joined)-1] += " " + strings.TrimSpace(text)
		} else {
			joined = append(joined, strings.TrimSpace(text))
		}
		whole = goesOn
	}
	all := [][]instruction{nil}
	for _, line := range joined {
		name, rest, _ := strings.Cut(line, " ")
		if name == "FROM" {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], instruction{name, strings.TrimSpace(rest)})
	}
	return all
}

// of gives what stands after the instructions of a name.
func of(stage []instruction, name string) []string {
	var all []string
	for _, i := range stage {
		if i.name == name {
			all = append(all, i.rest)
		}
	}
	return all
}

func TestTheImageHoldsTheProgramAloneAndRunsWithoutRights(t *testing.T) {
	all := stages(t)
	last := all[len(all)-1]
	if len(all) != 3 || !slices.Equal(of(last, "FROM"), []string{"scratch"}) || len(of(last, "RUN")) > 0 {
		t.Fatalf("the image is made by %v in %d stages, want two, the last from scratch", last, len(all)-1)
	}
	if got := of(last, "USER"); len(got) != 1 || !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(got[0]) {
		t.Errorf("it runs as %v, want numbers that are not root's", got)
	}
	for _, form := range []string{"ENTRYPOINT", "CMD"} {
		var words []string
		if got := of(last, form); len(got) != 1 || json.Unmarshal([]byte(got[0]), &words) != nil {
			t.Errorf("%s is %v, want one list: there is no shell", form, got)
		}
	}
	if got := of(last, "HEALTHCHECK"); len(got) != 1 || !strings.Contains(got[0], `CMD ["/usr/local/bin/seckill", "probe"`) {
		t.Errorf("the health check is %v", got)
	}
	for _, copied := range of(last, "COPY") {
		if !strings.HasPrefix(copied, "--from=build ") {
			t.Errorf("COPY %s does not come from the build", copied)
		}
	}
	var env []string
	for _, line := range of(last, "ENV") {
		for pair := range strings.FieldsSeq(line) {
			name, _, _ := strings.Cut(pair, "=")
			env = append(env, name)
		}
	}
	knownSettings(t, "the Dockerfile", env)
	if !slices.Contains(env, "SECKILL_HTTP_ADDR") {
		t.Error("it serves on the container's own address alone")
	}
}

func TestTheBuildIsStaticAndOfTheGoOfGoMod(t *testing.T) {
	build := stages(t)[1]
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))[1]
	if from := of(build, "FROM"); !regexp.MustCompile(`golang:` + regexp.QuoteMeta(version) + `\.\d+-`).MatchString(from[0]) {
		t.Errorf("it is built from %v, want a pinned Go %s", from, version)
	}
	run := strings.Join(of(build, "RUN"), "\n")
	caches := regexp.MustCompile(`\b(GOCACHE|GOMODCACHE)=(\S+)`).FindAllStringSubmatch(strings.Join(of(build, "ENV"), " "), -1)
	if len(caches) != 2 {
		t.Errorf("the build sets %v, want the folder of both of Go's caches", caches)
	}
	for _, c := range caches {
		if !strings.Contains(run, "--mount=type=cache,target="+c[2]+" ") {
			t.Errorf("%s is %s, which no cache is mounted at", c[1], c[2])
		}
	}
	for _, mounted := range regexp.MustCompile(`target=(\S+)`).FindAllStringSubmatch(run, -1) {
		if !slices.ContainsFunc(caches, func(c []string) bool { return c[2] == mounted[1] }) {
			t.Errorf("a cache is mounted at %s, which Go does not use", mounted[1])
		}
	}
	for _, want := range []string{"CGO_ENABLED=0", "GOOS=$TARGETOS", "GOARCH=$TARGETARCH", "-trimpath", "builtVersion=$VERSION", "builtRevision=$REVISION"} {
		if !strings.Contains(run, want) {
			t.Errorf("the build lacks %s", want)
		}
	}
}

// The folders that .dockerignore lets in are enough to build from, with the flags of the
// Dockerfile, and the result is static and knows its version.
func TestWhatTheBuildIsGivenIsEnough(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped in short mode: it builds the program")
	}
	dir := t.TempDir()
	for line := range strings.SplitSeq(read(t, ".dockerignore"), "\n") {
		if path, ok := strings.CutPrefix(line, "!"); ok {
			copyTree(t, filepath.Join(root, path), filepath.Join(dir, path))
		}
	}
	binary := filepath.Join(dir, "seckill")
	// Without -trimpath, so that what others built is used again.
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-s -w -X seckill/infra/cli.builtVersion=v1.2.3 -X seckill/infra/cli.builtRevision=abc", "-o", binary, ".")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(binary, "version", "--json").Output()
	var v struct{ Version, Revision string }
	if err != nil || json.Unmarshal(out, &v) != nil || v.Version != "v1.2.3" || v.Revision != "abc" {
		t.Errorf("version: %s, %v", out, err)
	}
	if out, err := exec.Command("ldd", binary).CombinedOutput(); err == nil {
		t.Errorf("the program is not static: %s", out)
	}
}

// copyTree copies a file or a folder without what .dockerignore leaves out of it.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		switch {
		case d.IsDir() && d.Name() == "testdata":
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o755)
		case strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheBuildIsGivenNoSecretAndNoTest(t *testing.T) {
	lines := strings.Split(read(t, ".dockerignore"), "\n")
	for _, want := range []string{"*", "**/*_test.go", "**/testdata"} {
		if !slices.Contains(lines, want) {
			t.Errorf(".dockerignore lacks %s", want)
		}
	}
	for _, line := range lines {
		if strings.HasPrefix(line, "!.") {
			t.Errorf("%s lets a hidden file into the build", line)
		}
	}
}
