package testenv

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

//go:embed serverclock/shim.c
var clockShim []byte

// ServerClock is the clock of servers that are started with its Env: it may be put wrong
// while they work. What they measure by a clock that never jumps stays right.
type ServerClock struct {
	// Env is what a server whose clock it is has in its environment.
	Env []string

	file string
}

// NewServerClock makes a clock that is right. It wants a C compiler; without one the test
// is skipped.
func NewServerClock(t testing.TB) *ServerClock {
	t.Helper()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip("skipped: a server's clock wants a C compiler (.ci/install gcc libc6-dev)")
	}
	dir, err := os.MkdirTemp("", "seckill-clock-*") // not below a folder that others may not enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) }) // else the next start of the machine does
	source, shim := filepath.Join(dir, "shim.c"), filepath.Join(dir, "shim.so")
	c := &ServerClock{file: filepath.Join(dir, "offset")}
	c.Env = []string{"LD_PRELOAD=" + shim, "SECKILL_TEST_SERVER_CLOCK=" + c.file}
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(source, clockShim, 0o644), os.WriteFile(c.file, make([]byte, 8), 0o644)); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-O1", "-Wall", "-shared", "-fPIC", "-o", shim, source).CombinedOutput(); err != nil {
		t.Fatalf("compile a server's clock: %v\n%s", err, out)
	}
	return c
}

// Set puts the clock wrong by d, from now on.
func (c *ServerClock) Set(d time.Duration) error {
	f, err := os.OpenFile(c.file, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("set a server's clock: %w", err)
	}
	_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(d)), 0) // in place: servers have mapped it
	return errors.Join(err, f.Close())
}
