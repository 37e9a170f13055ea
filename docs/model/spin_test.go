package model

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

var only = flag.String("model.defines", "", "checks one model with these -D alone, such as \"LANES=2 ORDERS=3\"")

// verdict is what spin says of a model.
type verdict struct {
	states int64
	// broken is the promise that was broken, "deadlock", "endless run" or "".
	broken string
	trail  string
	took   time.Duration
}

// slots bounds how many models are checked at once.
var slots = make(chan struct{}, runtime.NumCPU())

// require skips a test where spin or a C compiler is missing, and fails it in CI.
func require(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("the race detector sees nothing of it")
	}
	for _, name := range []string{"spin", "cc"} {
		if _, err := exec.LookPath(name); err == nil {
			continue
		}
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s is missing; .ci/install spin gcc libc6-dev installs it", name)
		}
		t.Skipf("skipped: %s is missing; .ci/install spin gcc libc6-dev installs it", name)
	}
}

// check has spin look at every state of the model with these definitions.
func check(t *testing.T, r run) verdict {
	t.Helper()
	slots <- struct{}{}
	defer func() { <-slots }()
	model, err := filepath.Abs("seckill.pml")
	if err != nil {
		t.Fatal(err)
	}
	dir, began := t.TempDir(), time.Now()
	defines := make([]string, 0, 16)
	for _, d := range strings.Fields(r.defines) {
		defines = append(defines, "-D"+d)
	}
	if out, err := command(dir, "spin", append(append([]string{"-a"}, defines...), model)...); err != nil {
		t.Fatalf("spin reads the model: %v\n%s", err, out)
	}
	form, args := options(r)
	if out, err := command(dir, "cc", form...); err != nil {
		t.Fatalf("compile the model: %v\n%s", err, out)
	}
	out, err := command(dir, "./pan", args...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run the model: %v\n%s", err, out)
	}
	v, err := read(out)
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if v.took = time.Since(began); v.broken != "" && r.broken == "" {
		args := append([]string{"-t", "-k", "seckill.pml.trail", "-p"}, defines...)
		told, _ := command(dir, "spin", append(args, model)...) // of a run that is told as broken anyway
		v.trail = shorten(told, filepath.Dir(model)+"/")
	}
	return v
}

// options are those of the compiler and of the search. Small models are compiled without
// optimisation: most of their time would go into that.
func options(r run) (form, args []string) {
	form, args = []string{"-O0", "-w", "-DVECTORSZ=4096", "-DMEMLIM=2000"}, []string{"-n", "-m2000000", "-w22"}
	if r.large {
		form, args = []string{"-O2", "-w", "-DVECTORSZ=4096", "-DMEMLIM=12000", "-DCOLLAPSE"}, []string{"-n", "-m10000000", "-w26"}
	}
	if r.endless {
		form, args = append(form, "-DNP"), append(args, "-l")
	} else {
		form = append(form, "-DSAFETY")
	}
	return append(form, "-o", "pan", "pan.c"), args
}

func command(dir, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	return string(out), err
}

var (
	statesLine = regexp.MustCompile(`([0-9.e+]+) states, stored`)
	brokenLine = regexp.MustCompile(`assertion violated !?\(*([a-z_]+)`)
)

// read takes a report of pan apart. A search that did not see every state is an error.
func read(report string) (verdict, error) {
	var v verdict
	m := statesLine.FindStringSubmatch(report)
	if m == nil {
		return v, errors.New("the search did not end")
	}
	states, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return v, fmt.Errorf("read the count of states: %w", err)
	}
	v.states = int64(states)
	for _, cut := range []string{"max search depth too small", "Search not completed", "out of memory", "-DMEMLIM"} {
		if strings.Contains(report, cut) && !strings.Contains(report, "errors: 1") {
			return v, fmt.Errorf("the search saw only a part: %s", cut)
		}
	}
	switch {
	case strings.Contains(report, "errors: 0"):
	case brokenLine.MatchString(report):
		v.broken = brokenLine.FindStringSubmatch(report)[1]
	case strings.Contains(report, "invalid end state"):
		v.broken = "deadlock"
	case strings.Contains(report, "non-progress cycle"):
		v.broken = "endless run"
	default:
		return v, errors.New("the report names no broken promise")
	}
	return v, nil
}

var traceLine = regexp.MustCompile(`^ *(\d+):\tproc +\d+ (.*)$`)

// shorten leaves of a trace who did what, a line a step, and where it ended.
func shorten(trace, dir string) string {
	var short []string
	last := ""
	for line := range strings.Lines(strings.ReplaceAll(trace, dir, "")) {
		line = strings.TrimRight(line, "\n")
		m := traceLine.FindStringSubmatch(line)
		switch {
		case m == nil && (!strings.Contains(line, " = ") || strings.HasSuffix(line, " = 0")):
		case m == nil:
			short = append(short, strings.TrimSpace(line))
		case m[1] != last && !strings.HasPrefix(m[2], "(:init:"):
			last = m[1]
			short = append(short, m[1]+": "+m[2][:min(len(m[2]), 120)])
		}
	}
	return strings.Join(short, "\n")
}
