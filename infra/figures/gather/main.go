package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"seckill/infra/figures"
)

// job is one call of the program.
type job struct {
	only     string
	short    bool
	render   bool
	profiles bool
	docs     string
	out      io.Writer
	machine  string
	revision string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	j := job{out: os.Stdout}
	list := false
	flag.StringVar(&j.only, "only", "", "names of rows or suites with commas between; all for none")
	flag.BoolVar(&j.short, "short", false, "runs that show in a few minutes that everything works, and never replace a full figure")
	flag.BoolVar(&j.render, "render", false, "measure nothing: write the page again")
	flag.BoolVar(&j.profiles, "profiles", false, "take profiles of the hot paths instead of figures")
	flag.StringVar(&j.docs, "docs", "docs", "the folder of performance.json and performance.md")
	flag.BoolVar(&list, "list", false, "list suites and rows")
	flag.Parse()
	if list {
		listAll(j.out)
		return
	}
	if err := j.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

func listAll(out io.Writer) {
	for _, s := range figures.Suites() {
		fmt.Fprintf(out, "%-10s about %d min: go test -run '^$' -bench '^Benchmark%s$' -benchtime 1x %s -args %s\n", s.Name, s.Minutes, s.Bench, s.Package, s.Args)
		for _, r := range figures.Rows() {
			if r.Suite == s.Name {
				fmt.Fprintf(out, "             %-18s %s\n", r.ID, r.What)
			}
		}
	}
}

// run measures what was chosen and writes the page.
func (j *job) run(ctx context.Context) error {
	if j.render {
		return j.page()
	}
	suites, err := figures.Choose(j.only)
	if err != nil {
		return err
	}
	if j.profiles {
		suites = []figures.Suite{figures.ProfileSuite()}
	}
	j.machine, j.revision = figures.ThisMachine(ctx), revision(ctx)
	var failed []string
	for i, s := range suites {
		fmt.Fprintf(j.out, "== %d of %d: %s\n", i+1, len(suites), s.Name)
		if err := j.measure(ctx, s); err != nil {
			fmt.Fprintf(j.out, "%s: %v\n", s.Name, err)
			failed = append(failed, s.Name)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("no new figures of %s", strings.Join(failed, ", "))
	}
	return nil
}

// measure runs one suite and keeps what it gave.
func (j *job) measure(ctx context.Context, s figures.Suite) error {
	dir, err := os.MkdirTemp("", "seckill-figures-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // temporary
	args := s.Args
	if j.short {
		args = s.Short
	}
	command := []string{"test", "-count=1", "-timeout", "120m", "-run", "^$", "-bench", "^Benchmark" + s.Bench + "$", "-benchtime", "1x", "-v", s.Package, "-args"}
	command = append(command, strings.Fields(args)...)
	taken := figures.Taken{At: time.Now().UTC().Truncate(time.Second), Machine: j.machine, Revision: j.revision, Short: j.short,
		Command: "make bench ARGS=\"-only " + s.Name + "\"", Idle: figures.Idle(ctx, 2*time.Second)}
	if j.profiles {
		taken.Command = "make profiles"
	}
	cmd := exec.CommandContext(ctx, "go", command...)
	cmd.Env = append(os.Environ(), figures.EnvDir+"="+dir, "CI=true") // a missing server is an error, not a skip
	cmd.Stdout, cmd.Stderr = j.out, j.out
	ran := cmd.Run()
	return errors.Join(ran, j.keep(dir, taken, ran == nil))
}

// keep takes over what a suite left; nothing of a suite that failed.
func (j *job) keep(dir string, taken figures.Taken, good bool) error {
	if !good {
		return nil
	}
	results, err := figures.Read(j.file("performance.json"))
	if err != nil {
		return err
	}
	told, err := figures.Told(dir)
	if err != nil {
		return err
	}
	for _, line := range told {
		fmt.Fprintln(j.out, line)
	}
	if len(told) == 0 {
		return errors.New("the benchmark told nothing")
	}
	merged, err := results.Merge(dir, taken)
	if err != nil || len(merged) == 0 {
		return err
	}
	if err := figures.CopyProfiles(dir, j.file("performance"), merged); err != nil {
		return err
	}
	if err := results.Write(j.file("performance.json")); err != nil {
		return err
	}
	return j.page()
}

func (j *job) file(name string) string { return filepath.Join(j.docs, name) }

func (j *job) page() error {
	results, err := figures.Read(j.file("performance.json"))
	if err != nil {
		return err
	}
	return os.WriteFile(j.file("performance.md"), []byte(figures.Render(results)), 0o644)
}

// revision is the commit that is checked out, with a plus where files differ from it;
// "" outside of a checkout.
func revision(ctx context.Context) string {
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return ""
	}
	text := strings.TrimSpace(string(head))
	changed, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--untracked-files=no", "--", "*.go", "*.lua", "*.sql").Output()
	if err == nil && len(changed) > 0 {
		text += "+"
	}
	return text
}
