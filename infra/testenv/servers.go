package testenv

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"seckill/infra/embedded"
)

// The shared servers belong to the process: tests of one package have no owner
// in common that could hold them. They are never stopped here; their keepers
// see the process end.
var (
	sharedPostgres = sync.OnceValues(startPostgres)
	sharedRedis    = sync.OnceValues(startRedis)

	usesPostgres, usesRedis atomic.Bool // what a namespace has to clean up
)

// Postgres returns the URL of the shared PostgreSQL as its superuser. Tests
// stay inside their Namespace. fsync is off: it survives the death of any
// process, but not of the machine.
func Postgres(t testing.TB) string {
	t.Helper()
	s, err := sharedPostgres()
	require(t, err)
	usesPostgres.Store(true)
	return s.DatabaseURL
}

// Redis returns the URL of the shared Redis. Tests stay inside their Namespace
// and do nothing that others see, such as SCRIPT FLUSH: that is for PrivateRedis.
func Redis(t testing.TB) string {
	t.Helper()
	s, err := sharedRedis()
	require(t, err)
	usesRedis.Store(true)
	return s.RedisURL
}

// require skips a test that lacks a server, and fails it in CI.
func require(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case isMissing(err) && !inCI():
		t.Skipf("skipped: %v", err)
	default:
		t.Fatalf("start server for tests: %v", err)
	}
}

func startPostgres() (*embedded.Stores, error) {
	return startShared(embedded.Options{NeedPostgres: true})
}

func startRedis() (*embedded.Stores, error) {
	if _, err := embedded.FindRedis(""); err != nil {
		return nil, err // before an imitation takes its place
	}
	return startShared(embedded.Options{NeedRedis: true})
}

func startShared(o embedded.Options) (*embedded.Stores, error) {
	o.DataDir, o.Ephemeral = sharedDir(), true
	s, err := embedded.Start(context.Background(), o)
	if err != nil {
		return nil, fmt.Errorf("in %s: %w", o.DataDir, err)
	}
	return s, nil
}

// sharedDir is one folder per user and start of the machine: what a machine
// that went down left there is not trusted.
func sharedDir() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		boot = []byte("unknown")
	}
	short, _, _ := strings.Cut(strings.TrimSpace(string(boot)), "-")
	return filepath.Join(os.TempDir(), fmt.Sprintf("seckill-tests-%d-%s", os.Geteuid(), short))
}
