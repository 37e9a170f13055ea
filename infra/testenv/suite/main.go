package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// options are how a suite is run.
type options struct {
	tags, timeout, only string
}

func main() {
	var o options
	flag.StringVar(&o.tags, "tags", "", "build tags of the tests")
	flag.StringVar(&o.timeout, "timeout", "60m", "how long the tests of one package may take")
	flag.StringVar(&o.only, "only", "", "run the lines alone whose first words hold this, such as B16")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: suite [-tags T] [-timeout D] [-only TEXT] PAGE")
		os.Exit(2)
	}
	if err := run(flag.Arg(0), o, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "suite: "+err.Error())
		os.Exit(1)
	}
}

// run runs what a page of the module in the working directory names, prints the table
// to out and everything else to tell. Any error: not everything holds.
func run(page string, o options, out, tell io.Writer) error {
	text, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	lines := only(linesOf(string(text)), o.only)
	folders, tests := plan(lines)
	if len(tests) == 0 {
		return fmt.Errorf("%s names no test of %q", page, o.only)
	}
	module, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		return fmt.Errorf("ask for the name of the module: %w", err)
	}
	args := append([]string{"test", "-count=1", "-json", "-tags", o.tags, "-timeout", o.timeout,
		"-run", "^(" + strings.Join(tests, "|") + ")$"}, folders...)
	cmd := exec.Command("go", args...)
	tell = &oneAtATime{to: tell} // the command's own words come beside its events
	cmd.Stderr = tell
	events, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("run the tests: %w", err)
	}
	result, err := follow(strings.TrimSpace(string(module)), events, tell)
	ended := cmd.Wait() // its exit code says what the events have said, unless there were none
	var exit *exec.ExitError
	if ended != nil && !errors.As(ended, &exit) {
		err = errors.Join(err, ended)
	}
	if err != nil {
		return fmt.Errorf("run the tests: %w", err)
	}
	result.explain(tell)
	bad := result.report(lines, out)
	switch {
	case bad > 0:
		return fmt.Errorf("%d of %d lines do not hold", bad, len(lines))
	case ended != nil:
		return fmt.Errorf("every line holds, but these packages failed: %s", strings.Join(result.broken, ", "))
	}
	fmt.Fprintf(out, "all %d lines hold, by %d tests\n", len(lines), len(tests))
	return nil
}

// oneAtATime is a writer that several goroutines share.
type oneAtATime struct {
	mu sync.Mutex
	to io.Writer
}

func (w *oneAtATime) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}
