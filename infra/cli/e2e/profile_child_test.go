package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	ossignal "os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"seckill/infra/cli"
	"seckill/infra/figures"
	"seckill/infra/testenv"
)

// profileInto tells a copy of this test binary that it is to serve, and the folder in
// which it leaves profiles of what it did between two signals.
const profileInto = "PROFILE_INTO"

// profileAtOnce lets a profiled process begin before it does anything.
const profileAtOnce = "PROFILE_AT_ONCE"

// blockRate is of how many nanoseconds of waiting one is looked at.
const blockRate = 20_000

// The profiles that a profiled process leaves, and the mark that all are there.
const (
	fileCPU, fileAllocs, fileBefore, fileBlock = "cpu.pprof", "allocs.pprof", "before.pprof", "block.pprof"
	fileBegun, fileDone                        = "begun", "done"
)

// TestServedUnderProfiles is the program as a process of its own that profiles itself:
// from SIGUSR1 to SIGUSR2.
func TestServedUnderProfiles(t *testing.T) {
	dir := os.Getenv(profileInto)
	if dir == "" {
		t.Skip("only a process that is started for it serves under profiles")
	}
	signals := make(chan os.Signal, 2)
	ossignal.Notify(signals, syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for s := range signals {
			err := profileBegin(dir)
			if s == syscall.SIGUSR2 {
				err = profileEnd(dir)
			}
			if err != nil {
				fmt.Fprintln(os.Stderr, "profile:", err)
			}
		}
	}()
	if os.Getenv(profileAtOnce) != "" {
		if err := profileBegin(dir); err != nil {
			t.Fatal(err)
		}
	}
	at := slices.Index(flag.Args(), "serve")
	if at < 0 {
		t.Fatalf("got arguments %v, want serve", flag.Args())
	}
	if code := cli.Main(flag.Args()[at:]); code != 0 {
		t.Fatalf("it ended with status %d", code)
	}
}

func profileBegin(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, fileBegun)); err == nil {
		return nil // it has begun
	}
	runtime.GC() // what the profile of allocations lags behind
	runtime.SetBlockProfileRate(blockRate)
	err := writeProfile(dir, fileBefore, func(f *os.File) error { return pprof.Lookup("allocs").WriteTo(f, 0) })
	f, created := os.Create(filepath.Join(dir, fileCPU))
	if err = errors.Join(err, created); err == nil {
		err = pprof.StartCPUProfile(f)
	}
	return errors.Join(err, os.WriteFile(filepath.Join(dir, fileBegun), nil, 0o600))
}

func profileEnd(dir string) error {
	pprof.StopCPUProfile()
	runtime.SetBlockProfileRate(0)
	runtime.GC()
	return errors.Join(
		writeProfile(dir, fileAllocs, func(f *os.File) error { return pprof.Lookup("allocs").WriteTo(f, 0) }),
		writeProfile(dir, fileBlock, func(f *os.File) error { return pprof.Lookup("block").WriteTo(f, 0) }),
		os.WriteFile(filepath.Join(dir, fileDone), nil, 0o600))
}

func writeProfile(dir, name string, write func(*os.File) error) error {
	f, err := os.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// profiled is a process that profiles itself.
type profiled struct {
	*Child
	dir string
}

// newProfiled makes one that does not run yet.
func newProfiled(b *testing.B, r *Rig, roles string) *profiled {
	b.Helper()
	p := &profiled{dir: b.TempDir()}
	env := append(append(r.Settings(b), gatesOn[:]...), profileInto+"="+p.dir)
	p.Child = NewChild(b, ChildOptions{Env: env, Args: []string{"--roles", roles},
		Program: []string{os.Args[0], "-test.run=^TestServedUnderProfiles$", "--"}})
	return p
}

// signalled sends a signal and waits for what the process leaves then.
func (p *profiled) signalled(s syscall.Signal, file string) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
	testenv.Eventually(p.t, time.Minute, func() error { _, err := os.Stat(filepath.Join(p.dir, file)); return err })
}

func (p *profiled) begin() { p.signalled(syscall.SIGUSR1, fileBegun) }
func (p *profiled) end()   { p.signalled(syscall.SIGUSR2, fileDone) }

// topLines is how much of a profile is kept as text.
const topLines = 40

// texts gives the profiles as text, by their names on the page.
func (p *profiled) texts(b *testing.B) map[string]string {
	b.Helper()
	n := "-nodecount=" + strconv.Itoa(topLines)
	return map[string]string{
		"cpu":    p.top(b, n, "-unit=ms", filepath.Join(p.dir, fileCPU)),
		"allocs": p.top(b, n, "-sample_index=alloc_space", "-base="+filepath.Join(p.dir, fileBefore), filepath.Join(p.dir, fileAllocs)),
		"block":  p.top(b, n, "-cum", filepath.Join(p.dir, fileBlock)),
	}
}

// top runs go tool pprof and leaves out what is of this machine.
func (p *profiled) top(b *testing.B, args ...string) string {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", append([]string{"tool", "pprof", "-top", "-symbolize=none"}, args...)...).Output()
	if err != nil {
		b.Fatalf("read a profile: %v", err)
	}
	var text strings.Builder
	for line := range strings.Lines(string(out)) {
		if !strings.HasPrefix(line, "File:") && !strings.HasPrefix(line, "Build ID:") && !strings.HasPrefix(line, "Time:") {
			text.WriteString(line)
		}
	}
	return text.String()
}

// steps gives what a purchase of n takes in the functions that stepReasons explains.
func (p *profiled) steps(b *testing.B, n int) []figures.Step {
	b.Helper()
	return readSteps(p.top(b, "-cum", "-unit=us", "-nodecount=100000", "-nodefraction=0", filepath.Join(p.dir, fileCPU)), n)
}
