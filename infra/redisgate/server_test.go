package redisgate_test

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/infra/redisgate"
)

// privateRedis starts a Redis of its own for the test and gives its URL.
func privateRedis(tb testing.TB, args ...string) *server {
	tb.Helper()
	s := &server{dir: tb.TempDir(), port: freePort(tb), args: args}
	s.start(tb)
	tb.Cleanup(func() { s.stop(tb) })
	return s
}

type server struct {
	dir  string
	port int
	args []string
	cmd  *exec.Cmd
}

func (s *server) url() string { return fmt.Sprintf("redis://127.0.0.1:%d/0", s.port) }

func (s *server) start(tb testing.TB) {
	tb.Helper()
	args := append([]string{"--port", fmt.Sprint(s.port), "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--loglevel", "warning"}, s.args...)
	s.cmd = exec.Command("redis-server", args...)
	if err := s.cmd.Start(); err != nil {
		tb.Fatalf("start redis-server: %v", err)
	}
	c := redis.NewClient(&redis.Options{Addr: fmt.Sprintf("127.0.0.1:%d", s.port)})
	defer c.Close()
	for deadline := time.Now().Add(20 * time.Second); c.Ping(context.Background()).Err() != nil; {
		if time.Now().After(deadline) {
			tb.Fatal("redis-server did not become ready")
		}
	}
}

func (s *server) stop(tb testing.TB) {
	tb.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		tb.Fatalf("stop redis-server: %v", err)
	}
	_ = s.cmd.Wait()
}

func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

var namespaces atomic.Int64

func namespace(tb testing.TB) string {
	return fmt.Sprintf("%s-%d", strings.ToLower(strings.NewReplacer("/", "-", " ", "-").Replace(tb.Name()))[:8], namespaces.Add(1))
}

func openGate(tb testing.TB, url string, opt redisgate.Options) *redisgate.Gate {
	tb.Helper()
	if opt.Namespace == "" {
		opt.Namespace = namespace(tb)
	}
	opt.Store = 1
	g, err := redisgate.Open(context.Background(), url, opt)
	if err != nil {
		tb.Fatalf("open the gate: %v", err)
	}
	tb.Cleanup(func() {
		if err := g.Close(); err != nil {
			tb.Errorf("close the gate: %v", err)
		}
	})
	return g
}
