package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Verdict is what became of a mutant.
type Verdict string

// Verdicts. All but Caught are faults: of the tests, or of the table.
const (
	Caught   Verdict = "caught"
	Survived Verdict = "survived"
	// Otherwise: its test failed, but not for what the mutant breaks.
	Otherwise Verdict = "failed otherwise"
	NoBuild   Verdict = "does not compile"
	NoTest    Verdict = "ran no test"
)

// Outcome is how a run of a mutant went.
type Outcome struct {
	Verdict Verdict
	// By names the tests that failed.
	By     []string
	Took   time.Duration
	Output string
}

// Broken gives the contents of a mutant's file with its line broken. root is the
// module's. A line that does not stand there once is an error.
func (m Mutant) Broken(root string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(root, m.File))
	if err != nil {
		return nil, fmt.Errorf("mutant %q: %w", m.Name, err)
	}
	lines := strings.Split(string(text), "\n")
	at := -1
	for i, line := range lines {
		if strings.TrimSpace(line) != m.Before {
			continue
		}
		if at >= 0 {
			return nil, fmt.Errorf("mutant %q: the line stands twice in %s: %s", m.Name, m.File, m.Before)
		}
		at = i
	}
	if at < 0 {
		return nil, fmt.Errorf("mutant %q: the line is gone from %s: %s", m.Name, m.File, m.Before)
	}
	if m.After == m.Before {
		return nil, fmt.Errorf("mutant %q changes nothing", m.Name)
	}
	lines[at] = strings.Replace(lines[at], m.Before, m.After, 1)
	return []byte(strings.Join(lines, "\n")), nil
}

// overlay writes the broken file into dir and gives the file that `go -overlay` reads.
func (m Mutant) overlay(root, dir string) (string, error) {
	broken, err := m.Broken(root)
	if err != nil {
		return "", err
	}
	file, list := filepath.Join(dir, filepath.Base(m.File)), filepath.Join(dir, "overlay.json")
	replaced, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, m.File): file}})
	if err != nil {
		return "", err
	}
	return list, errors.Join(os.WriteFile(file, broken, 0o600), os.WriteFile(list, replaced, 0o600))
}

// Run builds the test with the line broken and runs it. dir is an empty folder for it.
// An error means that there was nothing to judge.
func (m Mutant) Run(ctx context.Context, root, dir string, args ...string) (Outcome, error) {
	list, err := m.overlay(root, dir)
	if err != nil {
		return Outcome{}, err
	}
	began := time.Now()
	t, out, err := compile(ctx, root, m.Package, filepath.Join(dir, "broken.test"), "-overlay", list)
	if err != nil || out.Verdict == NoBuild {
		return out, err
	}
	out, err = t.run(ctx, m.Test, args...)
	out.Took = time.Since(began)
	if out.Verdict == Caught && !strings.Contains(out.Output, m.says()) {
		out.Verdict = Otherwise
	}
	return out, err
}

func (m Mutant) says() string {
	if m.Says == "" {
		return m.Breaks + ":"
	}
	return m.Says
}

// built is a test program.
type built struct{ program, dir string }

// compile builds the tests of a package.
func compile(ctx context.Context, root, pkg, program string, flags ...string) (built, Outcome, error) {
	args := append([]string{"test", "-c", "-vet=off", "-o", program}, flags...)
	output, err := command(ctx, root, "go", append(args, "./"+pkg)...)
	var exit *exec.ExitError
	if errors.As(err, &exit) && ctx.Err() == nil {
		return built{}, Outcome{Verdict: NoBuild, Output: output}, nil
	}
	if err != nil {
		err = fmt.Errorf("build the tests of %s: %w", pkg, err)
	}
	return built{program, filepath.Join(root, pkg)}, Outcome{Output: output}, err
}

var failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// run runs a test and tells Caught where it fails.
func (b built) run(ctx context.Context, name string, args ...string) (Outcome, error) {
	output, err := command(ctx, b.dir, b.program, append([]string{"-test.v", "-test.timeout=5m", "-test.run=" + name}, args...)...)
	out := Outcome{Output: output}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		return out, fmt.Errorf("run %s of %s: %w", name, b.dir, errors.Join(err, ctx.Err()))
	}
	for _, found := range failed.FindAllStringSubmatch(output, -1) {
		out.By = append(out.By, found[1])
	}
	switch {
	case err == nil && !strings.Contains(output, "--- PASS: "):
		out.Verdict = NoTest
	case err == nil:
		out.Verdict = Survived
	case len(out.By) == 0:
		out.Verdict = Otherwise
	default:
		out.Verdict = Caught
	}
	return out, nil
}

// command runs a program in a folder and gives what it says.
func command(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.WaitDelay = dir, 10*time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	return output.String(), err
}
