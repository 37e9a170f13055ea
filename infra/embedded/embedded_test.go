package embedded

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("SECKILL_TEST_USE_STORES"); dir != "" {
		useStores(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// useStores is a second process: it uses the stores of dir, prints where they
// are, and goes on until its input ends.
func useStores(dir string) {
	s, err := Start(context.Background(), Options{DataDir: dir, NeedPostgres: true, NeedRedis: true, RedisBin: os.Getenv("SECKILL_TEST_REDIS")})
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString(s.DatabaseURL + "\n" + s.RedisURL + "\n" + s.ProcessToken + "\n" + s.Notice + "\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := s.Stop(context.Background()); err != nil {
		panic(err)
	}
}

// dataDir is a temporary folder that the user of PostgreSQL can reach, so that
// all of it goes with the test.
func dataDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o711); err != nil {
		t.Fatal(err)
	}
	return dir
}

func start(t *testing.T, o Options) *Stores {
	t.Helper()
	if o.NeedPostgres {
		if _, err := FindPostgres(""); err != nil {
			missing(t, err)
		}
	}
	if o.NeedRedis && o.RedisBin != InProcessRedis {
		if _, err := FindRedis(""); err != nil {
			missing(t, err)
		}
	}
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatalf("start stores: %v", err)
	}
	t.Cleanup(func() { stop(t, s) })
	return s
}

func missing(t *testing.T, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	t.Skip(err)
}

func stop(t *testing.T, s *Stores) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := s.Stop(ctx); err != nil {
		t.Errorf("stop stores: %v", err)
	}
}

func both(dir string) Options { return Options{DataDir: dir, NeedPostgres: true, NeedRedis: true} }

func query(t *testing.T, url, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer conn.Close(context.Background())
	var got string
	if err := conn.QueryRow(t.Context(), sql).Scan(&got); err != nil && !errors.Is(err, pgx.ErrNoRows) {
		t.Fatalf("%s: %v", sql, err)
	}
	return got
}

func redisDo(t *testing.T, url string, args ...any) any {
	t.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(o)
	defer c.Close()
	got, err := c.Do(t.Context(), args...).Result()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return got
}

func TestWhatWasStoredIsThereAtTheNextStart(t *testing.T) {
	dir := dataDir(t)
	s := start(t, both(dir))
	query(t, s.DatabaseURL, "CREATE TABLE kept AS SELECT 'row' AS v")
	redisDo(t, s.RedisURL, "SET", "kept", "value")
	stop(t, s)

	s = start(t, both(dir))
	if got := query(t, s.DatabaseURL, "SELECT v FROM kept"); got != "row" {
		t.Errorf("row after restart: got %q want %q", got, "row")
	}
	if got := redisDo(t, s.RedisURL, "GET", "kept"); got != "value" {
		t.Errorf("value after restart: got %q want %q", got, "value")
	}
}

func TestStoresAreSetUpToLoseNothing(t *testing.T) {
	s := start(t, both(dataDir(t)))
	for _, setting := range []string{"fsync", "full_page_writes", "synchronous_commit"} {
		if got := query(t, s.DatabaseURL, "SHOW "+setting); got != "on" {
			t.Errorf("%s: got %s want on", setting, got)
		}
	}
	for setting, want := range map[string]string{"appendonly": "yes", "appendfsync": "everysec", "maxmemory-policy": "noeviction"} {
		got := redisDo(t, s.RedisURL, "CONFIG", "GET", setting).(map[any]any)[setting]
		if got != want {
			t.Errorf("%s: got %v want %s", setting, got, want)
		}
	}
}

func TestNoticeIsOneLineWithoutSecrets(t *testing.T) {
	s := start(t, both(dataDir(t)))
	if strings.Contains(s.Notice, "\n") || s.Notice == "" {
		t.Errorf("notice is not one line: %q", s.Notice)
	}
	for _, raw := range []string{s.DatabaseURL, s.RedisURL} {
		secret := raw[strings.LastIndex(raw[:strings.Index(raw, "@")], ":")+1 : strings.Index(raw, "@")]
		if len(secret) < 32 || strings.Contains(s.Notice, secret) {
			t.Errorf("notice shows a secret, or there is none: %q", s.Notice)
		}
	}
}

func TestStoppedServersAreGone(t *testing.T) {
	dir := dataDir(t)
	s := start(t, both(dir))
	if len(processesOf(t, dir)) == 0 {
		t.Fatal("no process works on the data folder while it runs")
	}
	stop(t, s)
	for _, p := range processesOf(t, dir) {
		if !strings.Contains(p, "/bin/sh -c") { // a keeper's helper may be on its way out
			t.Errorf("still running after the stop: %v", p)
		}
	}
	eventually(t, "keepers gone", func() bool { return len(processesOf(t, dir)) == 0 })
}

func TestAMissingProgramIsOneSentence(t *testing.T) {
	_, err := Start(t.Context(), Options{DataDir: dataDir(t), NeedPostgres: true, PostgresBin: "/nowhere"})
	var notFound *NotFoundError
	if !errors.As(err, &notFound) || notFound.Server != "PostgreSQL" {
		t.Errorf("got %v want a NotFoundError of PostgreSQL", err)
	}
	_, err = Start(t.Context(), Options{DataDir: dataDir(t), NeedRedis: true, RedisBin: "/nowhere/redis-server"})
	if !errors.As(err, &notFound) || notFound.Server != "Redis" {
		t.Errorf("got %v want a NotFoundError of Redis", err)
	}
}

func TestDataOfAnotherMajorVersionIsRefused(t *testing.T) {
	dir := dataDir(t)
	stop(t, start(t, Options{DataDir: dir, NeedPostgres: true}))
	cred, err := serverUser()
	if err != nil {
		t.Fatal(err)
	}
	place, err := postgresPlace(dir, cred)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(place, "data", "PG_VERSION"), []byte("9\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Start(t.Context(), Options{DataDir: dir, NeedPostgres: true})
	if err == nil || !strings.Contains(err.Error(), "written by PostgreSQL 9") {
		t.Errorf("got %v want a sentence that names version 9", err)
	}
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	dir := dataDir(t)
	fake := filepath.Join(dir, "redis-server")
	script := "#!/bin/sh\n[ \"$1\" = --version ] && { echo v=7.0; exit 0; }\necho 'the disk is full'\nexit 1\n"
	if err := os.WriteFile(fake, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := Start(t.Context(), Options{DataDir: dir, NeedRedis: true, RedisBin: fake})
	if err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("got %v want the words of the server", err)
	}
}

func TestInProcessRedisRunsScriptsAndSaysWhatItIs(t *testing.T) {
	s := start(t, Options{DataDir: dataDir(t), NeedRedis: true, RedisBin: InProcessRedis})
	if got := redisDo(t, s.RedisURL, "EVAL", "redis.call('SET', KEYS[1], '1'); return redis.call('TIME')[1]", 1, "k"); got == "" {
		t.Errorf("script answered %v want the time", got)
	}
	if !s.Miniredis || s.ProcessToken == "" || !strings.Contains(s.Notice, "first look") {
		t.Errorf("miniredis not recognisable: %v %q %q", s.Miniredis, s.ProcessToken, s.Notice)
	}
}
