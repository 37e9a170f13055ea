package testenv_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"seckill/infra/embedded"
	"seckill/infra/testenv"
)

func query(t *testing.T, url, sql string, args ...any) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer conn.Close(context.Background())
	var got string
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&got); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		t.Fatalf("%s: %v", sql, err)
	}
	return got
}

// client is impatient and repeats nothing, so that tests see each fault.
func client(t *testing.T, url string) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	o.MaxRetries, o.ReadTimeout, o.PoolSize = -1, 300*time.Millisecond, 1
	c := redis.NewClient(o)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestAllProcessesOfATestRunShareOneServer(t *testing.T) {
	url, redisURL := testenv.Postgres(t), testenv.Redis(t)
	if os.Getenv("SECKILL_TEST_PRINT") != "" {
		fmt.Println("shared:", url, redisURL)
		return
	}
	if again := testenv.Postgres(t); again != url {
		t.Errorf("two servers in one process: %s and %s", url, again)
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "SECKILL_TEST_PRINT=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("second process: %v\n%s", err, out)
	}
	if want := "shared: " + url + " " + redisURL; !strings.Contains(string(out), want) {
		t.Errorf("second process: got %s want %s", out, want)
	}
}

func TestANamespaceIsFreshAndGoesWithItsTest(t *testing.T) {
	url := testenv.Postgres(t)
	c := client(t, testenv.Redis(t))
	var ns string
	t.Run("inner", func(t *testing.T) {
		ns = testenv.Namespace(t)
		if !regexp.MustCompile(`^[a-z][a-z0-9_]{0,30}$`).MatchString(ns) {
			t.Errorf("bad name %q", ns)
		}
		if other := testenv.Namespace(t); other == ns {
			t.Errorf("the same name twice: %s", ns)
		}
		for _, sql := range []string{
			"CREATE ROLE %[1]s_owner", "CREATE ROLE %[1]s_app LOGIN", "CREATE SCHEMA %[1]s AUTHORIZATION %[1]s_owner",
			"CREATE TABLE %[1]s.kept (v text)", "GRANT SELECT ON %[1]s.kept TO %[1]s_app",
		} {
			query(t, url, fmt.Sprintf(sql, ns))
		}
		if err := c.Set(t.Context(), "{"+ns+"l1}:key", "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
	})
	if got := query(t, url, "SELECT nspname FROM pg_namespace WHERE nspname = $1", ns); got != "" {
		t.Errorf("schema %s is still there", got)
	}
	if got := query(t, url, "SELECT rolname FROM pg_roles WHERE starts_with(rolname, $1)", ns); got != "" {
		t.Errorf("role %s is still there", got)
	}
	if keys, err := c.Keys(t.Context(), "*"+ns+"*").Result(); err != nil || len(keys) > 0 {
		t.Errorf("keys are still there: %v %v", keys, err)
	}
}

func TestAPrivateRedisIsKilledAndComesBackWithItsData(t *testing.T) {
	s := testenv.PrivateRedis(t, testenv.RedisOptions{})
	c := client(t, s.URL)
	if err := c.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	if err := c.Ping(t.Context()).Err(); err == nil {
		t.Error("a killed Redis answers")
	}
	s.Restart()
	c = client(t, s.URL) // the old one remembers the refusal for a moment
	if got, err := c.Get(t.Context(), "k").Result(); err != nil || got != "v" {
		t.Errorf("after the restart: got %q, %v want v", got, err)
	}
	s.Wipe()
	if n, err := c.DBSize(t.Context()).Result(); err != nil || n != 0 {
		t.Errorf("after the wipe: got %d keys, %v want none", n, err)
	}
}

func TestARestoredSnapshotHasForgottenWhatCameAfterIt(t *testing.T) {
	s := testenv.PrivateRedis(t, testenv.RedisOptions{})
	c := client(t, s.URL)
	c.Set(t.Context(), "early", "v", 0)
	copied := s.Snapshot()
	c.Set(t.Context(), "late", "v", 0)
	s.Restore(copied)
	if n, err := c.Exists(t.Context(), "early").Result(); err != nil || n != 1 {
		t.Errorf("early key: got %d, %v want 1", n, err)
	}
	if n, err := c.Exists(t.Context(), "late").Result(); err != nil || n != 0 {
		t.Errorf("late key: got %d, %v want 0", n, err)
	}
}

func TestAFrozenRedisAnswersWhenItThaws(t *testing.T) {
	s := testenv.PrivateRedis(t, testenv.RedisOptions{Config: []string{"maxmemory-policy allkeys-lru"}})
	c := client(t, s.URL)
	if got := c.ConfigGet(t.Context(), "maxmemory-policy").Val()["maxmemory-policy"]; got != "allkeys-lru" {
		t.Errorf("own configuration: got %q", got)
	}
	s.Freeze()
	if err := c.Ping(t.Context()).Err(); err == nil {
		t.Error("a frozen Redis answers")
	}
	s.Thaw()
	testenv.Eventually(t, 10*time.Second, func() error { return c.Ping(t.Context()).Err() })
}

// spy is a test that notes its end instead of ending the real one.
type spy struct {
	testing.TB
	failed, skipped string
}

func (s *spy) Helper() {}
func (s *spy) Fatalf(format string, args ...any) {
	s.failed = fmt.Sprintf(format, args...)
	panic(s)
}
func (s *spy) Skipf(format string, args ...any) {
	s.skipped = fmt.Sprintf(format, args...)
	panic(s)
}

func observe(t *testing.T, f func(testing.TB)) (s *spy) {
	s = &spy{TB: t}
	defer func() { _ = recover() }()
	f(s)
	return s
}

func TestEventuallyFailsWithTheLastError(t *testing.T) {
	tries := 0
	testenv.Eventually(t, time.Minute, func() error {
		if tries++; tries < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	s := observe(t, func(t testing.TB) {
		testenv.Eventually(t, time.Millisecond, func() error { return errors.New("never") })
	})
	if !strings.Contains(s.failed, "never") {
		t.Errorf("got %q want the last error", s.failed)
	}
}

func TestAMissingServerFailsInCIAndSkipsElsewhere(t *testing.T) {
	missing := func(t testing.TB) { testenv.Require(t, &embedded.NotFoundError{Server: "Redis"}) }
	t.Setenv("CI", "true")
	if s := observe(t, missing); s.failed == "" || s.skipped != "" {
		t.Errorf("in CI: got %q, %q want a failure", s.failed, s.skipped)
	}
	t.Setenv("CI", "")
	if s := observe(t, missing); !strings.Contains(s.skipped, "No Redis was found") || s.failed != "" {
		t.Errorf("elsewhere: got %q, %q want a skip with the reason", s.failed, s.skipped)
	}
	if s := observe(t, func(t testing.TB) { testenv.Require(t, errors.New("disk full")) }); s.failed == "" {
		t.Error("a server that cannot start skips the test")
	}
}
