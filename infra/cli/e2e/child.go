package e2e

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"seckill/infra/testenv"
)

// binary is built once per test process, with the points at which a test may
// kill it. Its place follows from the checkout, so that runs leave one file
// behind and not many; it comes there whole, so that processes of another run
// keep theirs.
var binary = sync.OnceValues(func() (string, error) {
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		return "", errors.New("where is the source?")
	}
	root := filepath.Join(filepath.Dir(here), "..", "..", "..")
	sum := sha256.Sum256([]byte(root))
	file := filepath.Join(os.TempDir(), fmt.Sprintf("seckill-e2e-%d-%x", os.Getuid(), sum[:6]))
	fresh := fmt.Sprintf("%s.%d", file, os.Getpid())
	build := exec.Command("go", "build", "-tags", "crashpoints", "-o", fresh, ".")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w\n%s", err, out)
	}
	if err := os.Rename(fresh, file); err != nil {
		return "", fmt.Errorf("build the program: %w", err)
	}
	return file, nil
})

// Binary gives the path of the built program. Tests that need it are left out in
// short mode: the race detector sees nothing of another process.
func Binary(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped in short mode: it runs the built program")
	}
	file, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// cleanEnv is the environment without any setting of ours.
func cleanEnv(add ...string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "SECKILL_") {
			env = append(env, kv)
		}
	}
	return append(env, add...)
}

// Finished is a command that ended.
type Finished struct {
	Code           int
	Stdout, Stderr string
}

// runFor bounds a command: one that should have refused to serve would serve for ever.
const runFor = 5 * time.Minute

// Run runs the program to its end with settings of the form NAME=value.
func Run(t testing.TB, env []string, args ...string) Finished {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), runFor, fmt.Errorf("it did not end within %s", runFor))
	defer cancel()
	cmd := exec.CommandContext(ctx, Binary(t), args...)
	cmd.Env = cleanEnv(env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("run seckill %s: %v\n%s", strings.Join(args, " "), context.Cause(ctx), errs.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("run seckill %s: %v", strings.Join(args, " "), err)
	}
	return Finished{Code: cmd.ProcessState.ExitCode(), Stdout: out.String(), Stderr: errs.String()}
}

// Child is `seckill serve` as a process of its own, on one address for its whole
// life. It ends with the test.
type Child struct {
	// URL is where it serves, whether it lives or not.
	URL string

	t    testing.TB
	addr string
	env  []string
	args []string
	// program is what runs instead of the built one, with the arguments of serve at its end.
	program []string
	cmd     *exec.Cmd
	done    chan struct{} // closed when the process has ended
	log     *syncBuffer
}

// ChildOptions say what a child serves and on what.
type ChildOptions struct {
	// Env holds settings of the form NAME=value, such as SECKILL_DATABASE_URL.
	Env []string
	// Args stand behind serve, such as --roles.
	Args []string
	// Program is a program and its arguments that serves instead of the built one.
	Program []string
	// Host is the address it serves on; "" for 127.0.0.1.
	Host string
}

// Serve starts a child and waits until it is ready.
func Serve(t testing.TB, o ChildOptions) *Child {
	t.Helper()
	c := NewChild(t, o)
	c.Start()
	c.AwaitReady()
	return c
}

// ServeRig starts a child on a rig's stores.
func ServeRig(t testing.TB, r *Rig, env ...string) *Child {
	t.Helper()
	return Serve(t, ChildOptions{Env: append(r.Settings(t), env...)})
}

// Settings are a rig's stores as the program's settings, with a folder for its
// secret.
func (r *Rig) Settings(t testing.TB) []string {
	return []string{
		"SECKILL_DATABASE_URL=" + r.URL, "SECKILL_REDIS_URL=" + r.Redis.URL, "SECKILL_NAMESPACE=" + r.Namespace,
		"SECKILL_JWT_SECRET=" + TestSecret, "SECKILL_DATA_DIR=" + t.TempDir(),
	}
}

// TestSecret signs the tokens of children on a rig.
const TestSecret = "a secret for tests alone, 32 bytes"

// NewChild makes a child that does not run yet.
func NewChild(t testing.TB, o ChildOptions) *Child {
	t.Helper()
	Binary(t)
	addr := net.JoinHostPort(cmp.Or(o.Host, "127.0.0.1"), strconv.Itoa(testenv.FreePort(t)))
	c := &Child{URL: "http://" + addr, t: t, addr: addr, env: o.Env, args: o.Args, program: o.Program, log: &syncBuffer{}}
	t.Cleanup(func() {
		c.Kill()
		if t.Failed() {
			t.Logf("log of the child at %s:\n%s", addr, c.log.tail(8000))
		}
	})
	return c
}

// limitsOff are settings of every child that sets no others: the cases have the
// request limit off, and look at orders all the time.
var limitsOff = [...]string{"SECKILL_LIMIT_PURCHASES=0", "SECKILL_LIMIT_POLLS=0"}

// Start starts the process, with further settings for this one life, and does
// not wait until it is ready.
func (c *Child) Start(env ...string) {
	c.t.Helper()
	if c.Alive() {
		c.t.Fatalf("the child at %s runs already", c.addr)
	}
	program := c.program
	if program == nil {
		program = []string{Binary(c.t)}
	}
	c.cmd = exec.Command(program[0], append(append(program[1:len(program):len(program)], "serve", "--http-addr", c.addr), c.args...)...)
	c.cmd.Env = cleanEnv(append(append([]string{limitsOff[0], limitsOff[1]}, c.env...), env...)...)
	c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error)
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The kernel kills the child with the thread that forked it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := c.cmd.Start()
		started <- err
		if err == nil {
			_ = c.cmd.Wait() // how it ended is in ProcessState
		}
	}()
	if err := <-started; err != nil {
		c.t.Fatalf("start a child: %v", err)
	}
	c.done = done
}

// AwaitReady waits until the child takes requests; a child that ended fails the
// test.
func (c *Child) AwaitReady() {
	c.t.Helper()
	testenv.Eventually(c.t, 60*time.Second, func() error {
		if !c.Alive() {
			c.t.Fatalf("the child at %s ended while it started:\n%s", c.addr, c.log.tail(4000))
		}
		return c.Ready()
	})
}

// Ready tells whether the child takes requests now.
func (c *Child) Ready() error {
	client := http.Client{Timeout: 2 * time.Second}
	answer, err := client.Get(c.URL + "/readyz")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("not ready: %s", body)
	}
	return err
}

// Alive tells whether the process runs.
func (c *Child) Alive() bool {
	if c.done == nil {
		return false
	}
	select {
	case <-c.done:
		return false
	default:
		return true
	}
}

// AwaitEnd waits until the process has ended by itself, such as at a crash point.
func (c *Child) AwaitEnd(within time.Duration) {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(within):
		c.t.Fatalf("the child at %s did not end within %s", c.addr, within)
	}
}

// Kill ends it with SIGKILL, as a power cut would, and waits until it is gone.
func (c *Child) Kill() { c.end(syscall.SIGKILL) }

// Stop ends it in order and gives its exit code.
func (c *Child) Stop() int {
	c.end(syscall.SIGTERM)
	return c.cmd.ProcessState.ExitCode()
}

func (c *Child) end(sig syscall.Signal) {
	if !c.Alive() {
		return
	}
	_ = c.cmd.Process.Signal(sig) // it may have ended by itself
	<-c.done
}

// Freeze keeps it from doing anything, while its connections stay; Thaw ends that.
func (c *Child) Freeze() { c.signal(syscall.SIGSTOP) }

// Thaw lets a frozen child go on.
func (c *Child) Thaw() { c.signal(syscall.SIGCONT) }

func (c *Child) signal(sig syscall.Signal) {
	c.t.Helper()
	if err := c.cmd.Process.Signal(sig); err != nil {
		c.t.Fatalf("send %v to the child at %s: %v", sig, c.addr, err)
	}
}

// Restart kills it if it runs, starts it again with further settings for that
// life, and waits until it is ready.
func (c *Child) Restart(env ...string) {
	c.t.Helper()
	c.Kill()
	c.Start(env...)
	c.AwaitReady()
}

// Log gives what the child has written to its outputs, over all its lives.
func (c *Child) Log() string { return c.log.tail(1 << 20) }

// syncBuffer is a buffer that is written and read by several goroutines.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) tail(n int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.buf.String()
	return s[max(0, len(s)-n):]
}
