package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"seckill/infra/config"
)

// child is `seckill serve` as a process of its own, started by a command that needs
// one beside it.
type child struct {
	url  string
	pid  int
	cmd  *exec.Cmd
	done chan struct{}
	err  error // how it ended
	mu   sync.Mutex
	tail []string // last lines that it wrote
}

// Times of a child.
const (
	childStarts = 2 * time.Minute
	childStops  = 45 * time.Second
)

// startNode starts a process that serves some roles at a free port, with the settings
// of an environment, and waits until it does. It ends with this one, whatever becomes of
// this one.
func startNode(ctx context.Context, env []string, r ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program: %w", err)
	}
	n := &child{done: make(chan struct{})}
	n.cmd = exec.Command(self, "serve", "--http-addr", "127.0.0.1:0", "--admin-addr=", "--roles", strings.Join(r, ","))
	n.cmd.Env = env
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	lines, err := n.cmd.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("start a process that serves: %w", err)
	}
	serving := make(chan string, 1)
	started := make(chan error, 1)
	go n.live(lines, started, serving)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start a process that serves: %w", err)
	}
	n.pid = n.cmd.Process.Pid
	ctx, cancel := context.WithTimeout(ctx, childStarts)
	defer cancel()
	select {
	case n.url = <-serving:
		return n, nil
	case <-n.done:
		return nil, &told{"The process that was to serve ended: " + n.last(), n.err}
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), n.stop())
	}
}

// live starts the process and reads what it says until it ends. The kernel ends a
// child with the thread that forked it, so this one stays.
func (n *child) live(lines io.Reader, started chan<- error, serving chan<- string) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(n.done)
	err := n.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	scan := bufio.NewScanner(lines)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		n.heard(scan.Text(), serving)
	}
	n.err = n.cmd.Wait()
}

// heard takes in a line.
func (n *child) heard(line string, serving chan<- string) {
	const before, after = "Serving http://", " "
	if rest, ok := strings.CutPrefix(line, before); ok {
		if address, _, ok := strings.Cut(rest, after); ok {
			select {
			case serving <- "http://" + address:
			default: // it is said once
			}
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.tail = append(n.tail, line); len(n.tail) > 5 {
		n.tail = n.tail[1:]
	}
}

func (n *child) last() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.tail, " ")
}

// stop ends it in order and waits; one that does not end is killed.
func (n *child) stop() error {
	select {
	case <-n.done: // by itself, which nobody asked for
		return fmt.Errorf("it had ended already: %s: %w", n.last(), firstError(n.err, errors.New("without an error")))
	default:
	}
	_ = n.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	select {
	case <-n.done:
		return n.err
	case <-time.After(childStops):
		_ = n.cmd.Process.Kill() // the same
		<-n.done
		return fmt.Errorf("it did not stop within %s", childStops)
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// childEnv gives a child the settings of this process that flags may have set; what
// the environment and its file say it reads itself.
func childEnv(s config.Settings) []string {
	env := os.Environ()
	for _, kv := range [][2]string{
		{"SECKILL_CONFIG", string(s.File)}, {"SECKILL_DATABASE_URL", string(s.DatabaseURL)}, {"SECKILL_OWNER_DATABASE_URL", string(s.OwnerDatabaseURL)},
		{"SECKILL_DATABASES", string(s.Databases)}, {"SECKILL_OWNER_DATABASES", string(s.OwnerDatabases)}, {"SECKILL_VIEWS_DATABASES", string(s.ViewsDatabases)},
		{"SECKILL_VIEWS_DATABASE_URL", string(s.ViewsDatabaseURL)}, {"SECKILL_REDIS_LANES", string(s.RedisLanes)},
		{"SECKILL_REDIS_URL", string(s.RedisURL)}, {"SECKILL_CACHE_REDIS_URL", string(s.CacheRedisURL)}, {"SECKILL_KAFKA_BROKERS", strings.Join(s.KafkaBrokers, ",")},
		{"SECKILL_JWT_SECRET", string(s.JWTSecret)}, {"SECKILL_NAMESPACE", s.Namespace}, {"SECKILL_DATA_DIR", s.DataDir},
		{"SECKILL_POSTGRES_BIN", s.PostgresBin}, {"SECKILL_REDIS_BIN", s.RedisBin},
		{"SECKILL_LIMIT_PURCHASES", s.LimitPurchases.String()}, {"SECKILL_LIMIT_POLLS", s.LimitPolls.String()}, {"SECKILL_LIMIT_ENDPOINT", s.LimitEndpoint.String()},
	} {
		if kv[1] != "" {
			env = append(env, kv[0]+"="+kv[1])
		}
	}
	return env
}

// plainEnv is the environment without any setting of ours, and these of form
// NAME=value.
func plainEnv(add ...string) []string {
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "SECKILL_") {
			env = append(env, kv)
		}
	}
	return append(env, add...)
}
