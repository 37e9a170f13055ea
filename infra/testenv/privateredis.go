package testenv

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/infra/embedded"
)

// RedisOptions change a private Redis; the zero value is what our users run:
// append-only file on, everysec, noeviction.
type RedisOptions struct {
	// Config is lines of redis.conf; they beat ours.
	Config []string
	// Dir is where its data is kept, such as a SmallDisk; "" for a folder of the test.
	Dir string
	// Env are further variables of its environment, NAME=value.
	Env []string
}

// RedisServer is a Redis of one test, on one address for its whole life.
type RedisServer struct {
	// URL is where it listens, whether it lives or not.
	URL string

	t    testing.TB
	port int
	bin  string
	dir  string // of its data
	conf string
	args []string // beside the file
	env  []string // beside ours
	proc *child   // nil while it does not run
}

// child is a process and the goroutine that waits for it.
type child struct {
	pid  int
	done chan struct{}
}

// ended tells whether the process is gone.
func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// PrivateRedis starts a Redis that ends with the test, or with its process.
func PrivateRedis(t testing.TB, o RedisOptions) *RedisServer {
	t.Helper()
	s := newRedis(t)
	if s.env = o.Env; o.Dir != "" {
		s.dir = filepath.Join(o.Dir, "redis")
	}
	s.run(append([]string{"appendonly yes", "appendfsync everysec", `save ""`, "maxmemory-policy noeviction"}, o.Config...))
	return s
}

func newRedis(t testing.TB, args ...string) *RedisServer {
	t.Helper()
	bin, err := embedded.FindRedis("")
	require(t, err)
	root, port := t.TempDir(), FreePort(t)
	return &RedisServer{
		URL: "redis://127.0.0.1:" + strconv.Itoa(port) + "/0", t: t, port: port,
		bin: bin, dir: filepath.Join(root, "data"), conf: filepath.Join(root, "redis.conf"), args: args,
	}
}

// run starts it with lines of redis.conf beside those that every one has.
func (s *RedisServer) run(config []string) {
	t := s.t
	t.Helper()
	lines := append([]string{
		"bind 127.0.0.1", "port " + strconv.Itoa(s.port), "dir " + s.dir, "daemonize no", "logfile " + filepath.Join(filepath.Dir(s.conf), "redis.log"),
	}, config...)
	if err := errors.Join(os.Mkdir(s.dir, 0o700), os.WriteFile(s.conf, []byte(strings.Join(lines, "\n")+"\n"), 0o600)); err != nil {
		t.Fatalf("prepare private Redis: %v", err)
	}
	s.start()
	t.Cleanup(s.Kill)
}

// Alive tells whether it runs.
func (s *RedisServer) Alive() bool { return s.proc != nil && !s.proc.ended() }

// Kill ends it with SIGKILL, as a power cut would, and waits until it is gone.
func (s *RedisServer) Kill() { s.end(syscall.SIGKILL) }

// Stop ends it in order and waits until it is gone.
func (s *RedisServer) Stop() { s.end(syscall.SIGTERM) }

// Restart kills it if it runs, and starts it again on what it has on disk.
func (s *RedisServer) Restart() {
	s.t.Helper()
	s.Kill()
	s.start()
}

// Freeze keeps it from doing anything, while its connections stay; Thaw ends that.
func (s *RedisServer) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw lets a frozen Redis go on.
func (s *RedisServer) Thaw() { s.signal(syscall.SIGCONT) }

// Snapshot is a copy of what a Redis had on disk.
type Snapshot struct{ dir string }

// Snapshot copies what it has written so far, without stopping it.
func (s *RedisServer) Snapshot() Snapshot {
	s.t.Helper()
	dir := filepath.Join(s.t.TempDir(), "copy")
	if err := os.CopyFS(dir, os.DirFS(s.dir)); err != nil {
		s.t.Fatalf("copy data of Redis: %v", err)
	}
	return Snapshot{dir: dir}
}

// Restore kills it if it runs, puts the copy in the place of its data, and
// starts it: what was written after the copy is forgotten.
func (s *RedisServer) Restore(from Snapshot) {
	s.t.Helper()
	s.Kill()
	if err := errors.Join(os.RemoveAll(s.dir), os.CopyFS(s.dir, os.DirFS(from.dir))); err != nil {
		s.t.Fatalf("put back data of Redis: %v", err)
	}
	s.start()
}

// Wipe kills it if it runs and starts it empty.
func (s *RedisServer) Wipe() {
	s.t.Helper()
	s.Kill()
	if err := errors.Join(os.RemoveAll(s.dir), os.Mkdir(s.dir, 0o700)); err != nil {
		s.t.Fatalf("remove data of Redis: %v", err)
	}
	s.start()
}

func (s *RedisServer) signal(sig syscall.Signal) {
	s.t.Helper()
	if s.proc == nil {
		s.t.Fatalf("Redis does not run")
	}
	if err := syscall.Kill(s.proc.pid, sig); err != nil {
		s.t.Fatalf("send %v to Redis: %v", sig, err)
	}
}

func (s *RedisServer) end(sig syscall.Signal) {
	if s.proc == nil {
		return
	}
	_ = syscall.Kill(s.proc.pid, sig) // it may have ended by itself
	<-s.proc.done
	s.proc = nil
}

// start returns when the server has read its data and answers.
func (s *RedisServer) start() {
	s.t.Helper()
	cmd := exec.Command(s.bin, append([]string{s.conf}, s.args...)...)
	cmd.Env = append(os.Environ(), s.env...)
	proc, err := startChild(cmd)
	if err != nil {
		s.t.Fatalf("start private Redis: %v", err)
	}
	s.proc = proc
	Eventually(s.t, 30*time.Second, func() error {
		select {
		case <-proc.done:
			s.proc = nil
			s.t.Fatalf("the private Redis ended while it started; see its log beside %s", s.conf)
		default:
		}
		return ping(s.URL)
	})
}

// startChild starts a process that the kernel kills with this one.
func startChild(cmd *exec.Cmd) (*child, error) { return startChildAs(cmd, nil) }

// startChildAs does so as another user, nil for ourselves.
func startChildAs(cmd *exec.Cmd, cred *syscall.Credential) (*child, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true, Credential: cred}
	c := &child{done: make(chan struct{})}
	started := make(chan error)
	go func() {
		defer close(c.done)
		// The kernel's promise is bound to the thread that forked: it must live
		// as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err == nil {
			c.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended does not matter
		}
	}()
	return c, <-started
}

func ping(url string) error {
	o, err := redis.ParseURL(url)
	if err != nil {
		return err
	}
	probe, err := net.Dial("tcp", o.Addr) // the client would log each refusal
	if err != nil {
		return err
	}
	probe.Close()
	c := redis.NewClient(o)
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := c.Ping(ctx).Err(); err != nil {
		return fmt.Errorf("ask Redis: %w", err)
	}
	return nil
}

// FreePort gives a port of this machine on which nobody listens: below those that
// systems give out by themselves, so that no connection takes it before who is to
// listen there does, or while he is dead.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := closedPort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// closedPort finds a port as FreePort gives it.
func closedPort() (int, error) {
	const first, ports, tries = 10_000, 20_000, 100
	var err error
	for range tries {
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+rand.N(ports)))); err == nil {
			defer l.Close()
			return l.Addr().(*net.TCPAddr).Port, nil
		}
	}
	return 0, fmt.Errorf("find a free port: %w", err)
}
