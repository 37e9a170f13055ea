package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"seckill/commands"
	"seckill/infra/embedded"
	"seckill/infra/pg/pgtest"
)

// The gate is the part of a story that may be missing: a private Redis that stands still
// must not take the story with it.
func TestAPrivateRedisThatStandsStillIsLeftOutOfAStory(t *testing.T) {
	_, url, namespace := pgtest.New(t)
	dir := t.TempDir()
	stores, err := embedded.Start(t.Context(), embedded.Options{DataDir: dir, NeedRedis: true})
	if err != nil {
		t.Fatal(err)
	}
	if stores.Miniredis {
		t.Skip("skipped: there is no Redis server here whose process could stand still")
	}
	pause, goOn := processOf(t, stores)
	t.Cleanup(func() {
		goOn()
		if err := stores.Stop(context.Background()); err != nil {
			t.Errorf("stop the private Redis: %v", err)
		}
	})
	args := []string{"trace", strings.Repeat("f", 32), "--json", "--data", dir, "--namespace", namespace, "--database-url", url}
	tell := func() (story commands.Story) {
		t.Helper()
		code, out, errs := try(t, args...)
		if err := json.Unmarshal([]byte(out), &story); code != exitGood || err != nil {
			t.Fatalf("exit code %d, stdout %q, stderr %q (%v); want the story", code, out, errs, err)
		}
		return story
	}
	if s := tell(); len(s.Unasked) > 0 {
		t.Errorf("left out %v while all is well, want nothing", s.Unasked)
	}
	pause()
	if s := tell(); len(s.Unasked) != 1 || s.Unasked[0] != "gate: did not answer in time" {
		t.Errorf("left out %v, want the gate", s.Unasked)
	}
}

// processOf gives what stops the process of a private Redis and lets it go on.
func processOf(t *testing.T, stores *embedded.Stores) (pause, goOn func()) {
	t.Helper()
	o, err := redis.ParseURL(stores.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(o)
	pid, err := strconv.Atoi(client.InfoMap(t.Context(), "server").Item("Server", "process_id"))
	if err := errors.Join(err, client.Close()); err != nil {
		t.Fatal(err)
	}
	send := func(signal syscall.Signal) func() {
		return func() {
			if err := syscall.Kill(pid, signal); err != nil {
				t.Error(err)
			}
		}
	}
	return send(syscall.SIGSTOP), send(syscall.SIGCONT)
}
