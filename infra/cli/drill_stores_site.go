package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"seckill/infra/embedded"
	"seckill/infra/pg"
)

// ownServer is a process that the drill started, with what it started in turn, at one
// address for its whole life. It ends with this process.
type ownServer struct {
	command func() *exec.Cmd
	address string
	cmd     *exec.Cmd
	done    chan struct{}
}

// serverUp bounds the start of such a server.
const serverUp = 2 * time.Minute

// start starts it and waits until it answers.
func (s *ownServer) start(ctx context.Context) error {
	s.cmd, s.done = s.command(), make(chan struct{})
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	started := make(chan error, 1)
	go func(cmd *exec.Cmd, done chan struct{}) { // the kernel ends a child with the thread that forked it
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(done)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ends is our doing
		}
	}(s.cmd, s.done)
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", s.cmd.Path, err)
	}
	ctx, cancel := context.WithTimeout(ctx, serverUp)
	defer cancel()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-s.done:
			return fmt.Errorf("start %s: it ended at once", s.cmd.Path)
		case <-ctx.Done():
			return fmt.Errorf("start %s: nothing answers at %s: %w", s.cmd.Path, s.address, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// kill ends it and its group without a word, and waits.
func (s *ownServer) kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	select {
	case <-s.done: // its number may be somebody else's by now
	default:
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) // it may end by itself at this moment
		<-s.done
	}
}

// storesSite is the installation of a drill.
type storesSite struct {
	dir      string
	postgres *embedded.Stores
	redis    *ownServer
	kafka    *ownServer // nil where none is tried
	node     *child
	env      []string
	secret   string
}

// openSite starts the stores and a process that serves. When it fails, nothing of it is
// left.
func (c console) openSite(ctx context.Context, d *drillStoresCmd) (_ *storesSite, err error) {
	s := &storesSite{}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close(context.WithoutCancel(ctx)))
		}
	}()
	if s.dir, err = os.MkdirTemp("", "seckill-drill-"); err != nil {
		return nil, fmt.Errorf("make a folder for the drill: %w", err)
	}
	if s.postgres, err = embedded.Start(ctx, embedded.Options{DataDir: filepath.Join(s.dir, "data"), PostgresBin: c.settings.PostgresBin, NeedPostgres: true, Logger: warnings(c)}); err != nil {
		return nil, err
	}
	if err := s.startRedis(ctx, c.settings.RedisBin); err != nil {
		return nil, err
	}
	if s.secret, err = embedded.Secret(s.dir); err != nil {
		return nil, err
	}
	s.env = plainEnv("SECKILL_DATABASE_URL="+s.postgres.DatabaseURL, "SECKILL_REDIS_URL=redis://"+s.redis.address, "SECKILL_DATA_DIR="+filepath.Join(s.dir, "data"),
		"SECKILL_JWT_SECRET="+s.secret, "SECKILL_LIMIT_PURCHASES=0", "SECKILL_LIMIT_POLLS=0")
	if d.Kafka != "" {
		s.kafka = &ownServer{address: d.Broker, command: func() *exec.Cmd { return exec.Command("sh", "-c", d.Kafka) }}
		if err := s.kafka.start(ctx); err != nil {
			return nil, err
		}
		s.env = append(s.env, "SECKILL_KAFKA_BROKERS="+d.Broker)
	}
	if err := pg.Migrate(ctx, s.postgres.DatabaseURL, pg.DefaultNamespace); err != nil {
		return nil, err
	}
	s.node, err = startNode(ctx, s.env, allRoles()...)
	return s, err
}

func (s *storesSite) redisDir() string { return filepath.Join(s.dir, "redis") }

// startRedis starts a real Redis: the imitation within a process dies with it.
func (s *storesSite) startRedis(ctx context.Context, setting string) error {
	bin, err := embedded.FindRedis(setting)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") // a free port
	if err != nil {
		return fmt.Errorf("find a free port: %w", err)
	}
	address := listener.Addr().String()
	if err := errors.Join(listener.Close(), os.MkdirAll(s.redisDir(), 0o700)); err != nil {
		return fmt.Errorf("prepare Redis: %w", err)
	}
	_, port, _ := net.SplitHostPort(address) // it is one of ours
	s.redis = &ownServer{address: address, command: func() *exec.Cmd {
		return exec.Command(bin, "--bind", "127.0.0.1", "--port", port, "--dir", s.redisDir(), "--save", "", "--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction")
	}}
	return s.redis.start(ctx)
}

// close ends everything that was started and takes the data away.
func (s *storesSite) close(ctx context.Context) error {
	var errs []error
	if s.node != nil {
		errs = append(errs, s.node.stop())
	}
	for _, server := range []*ownServer{s.redis, s.kafka} {
		if server != nil {
			server.kill()
		}
	}
	if s.postgres != nil {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		errs = append(errs, s.postgres.Stop(ctx))
	}
	if s.dir != "" {
		errs = append(errs, os.RemoveAll(s.dir))
	}
	return errors.Join(errs...)
}

// postgresProcesses gives the numbers of the processes of the drill's own PostgreSQL, the
// one that starts the others first. It asks that server itself, so they are nobody else's.
func (s *storesSite) postgresProcesses(ctx context.Context) ([]int, error) {
	conn, err := pgx.Connect(ctx, s.postgres.DatabaseURL)
	if err != nil {
		return nil, fmt.Errorf("ask PostgreSQL which process it is: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // it was only looked at
	var own int
	if err := conn.QueryRow(ctx, "select pg_backend_pid()").Scan(&own); err != nil {
		return nil, fmt.Errorf("ask PostgreSQL which process it is: %w", err)
	}
	first, err := parentOf(own)
	if err != nil {
		return nil, err
	}
	all := []int{first}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if parent, err := parentOf(pid); err == nil && parent == first {
			all = append(all, pid)
		}
	}
	return all, nil
}

// parentOf reads who started a process.
func parentOf(pid int) (int, error) {
	text, err := fs.ReadFile(os.DirFS("/proc"), fmt.Sprintf("%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("look at process %d: %w", pid, err)
	}
	rest := string(text[strings.LastIndexByte(string(text), ')')+1:]) // its name may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0, fmt.Errorf("look at process %d: %q", pid, text)
	}
	return strconv.Atoi(fields[1])
}

// signalAll sends a signal to processes of the drill's own. Some may have ended.
func signalAll(pids []int, sig syscall.Signal) error {
	for _, pid := range pids {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("signal process %d: %w", pid, err)
		}
	}
	return nil
}
