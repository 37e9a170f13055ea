package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestADataFolderMayHaveAnyName(t *testing.T) {
	above, err := os.MkdirTemp("", "s") // short: then the socket is in the data folder
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(above) })
	if err := os.Chmod(above, 0o711); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a space", `quotes ' "`, "Käufe 秒杀", `back\slash`, "com,ma", "a=b"} {
		t.Run(name, func(t *testing.T) {
			s := start(t, both(filepath.Join(above, name)))
			if got := query(t, s.DatabaseURL, "SELECT 'alive'"); got != "alive" {
				t.Errorf("PostgreSQL: got %q, want alive", got)
			}
			if got := redisDo(t, s.RedisURL, "PING"); got != "PONG" {
				t.Errorf("Redis: got %v, want PONG", got)
			}
			if _, err := os.Stat(filepath.Join(above, name, "redis", "data")); err != nil {
				t.Errorf("Redis keeps its files elsewhere: %v", err)
			}
		})
	}
}

func TestADataFolderThatCannotBeUsedIsToldInOneSentence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/proc/nope", "/proc", file, filepath.Join(file, "below")} {
		var told *FolderError
		_, err := Start(t.Context(), Options{DataDir: dir, NeedRedis: true})
		if !errors.As(err, &told) || !strings.Contains(told.Error(), dir) || !strings.Contains(told.Error(), "--data") {
			t.Errorf("start on %s: got %v, want a FolderError that says what to do", dir, err)
		}
		if _, err := Secret(dir); !errors.As(err, &told) {
			t.Errorf("secret of %s: got %v, want a FolderError", dir, err)
		}
	}
}

func TestOneDataFolderHasOneGateWhateverTheNextCommandChooses(t *testing.T) {
	t.Run("miniredis runs", func(t *testing.T) {
		dir := dataDir(t)
		u := startUser(t, dir, "SECKILL_TEST_REDIS="+InProcessRedis)
		if strings.Contains(u.notic, "There is no Redis") {
			t.Errorf("miniredis was asked for, and the notice says %q", u.notic)
		}
		s := start(t, both(dir)) // has not chosen
		if s.RedisURL != u.redis || s.ProcessToken != u.token || !s.Miniredis {
			t.Errorf("got Redis %s token %q, want that of the other process", s.RedisURL, s.ProcessToken)
		}
		if !strings.Contains(s.Notice, "already running") {
			t.Errorf("the notice does not say that it joined: %q", s.Notice)
		}
		stop(t, s)
		u.kill()
		if s := start(t, both(dir)); s.Miniredis {
			t.Error("miniredis is gone, and still no server was started")
		}
	})
	t.Run("a server runs", func(t *testing.T) {
		dir := dataDir(t)
		u := startUser(t, dir)
		s := start(t, Options{DataDir: dir, NeedRedis: true, RedisBin: InProcessRedis})
		if s.RedisURL != u.redis || s.Miniredis {
			t.Errorf("got Redis %s, want that of the other process", s.RedisURL)
		}
	})
}
