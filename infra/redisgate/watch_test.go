package redisgate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"seckill/infra/redisgate"
	"seckill/infra/testenv"
)

func gateAt(t *testing.T, url string) *redisgate.Gate {
	t.Helper()
	g, err := redisgate.Open(t.Context(), url, redisgate.Options{Namespace: "n", Store: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// TestAWatcherTellsOfClientsAndOfWhatIsNewInTheSlowLog makes every command a slow one.
func TestAWatcherTellsOfClientsAndOfWhatIsNewInTheSlowLog(t *testing.T) {
	s := testenv.PrivateRedis(t, testenv.RedisOptions{Config: []string{"slowlog-log-slower-than 0", "slowlog-max-len 8"}})
	g, by := gateAt(t, s.URL), client(t, s.URL)
	w := g.NewWatcher()
	look := func() redisgate.ServerSeen {
		t.Helper()
		seen, err := w.Look(t.Context())
		if err != nil || len(seen) != 1 {
			t.Fatalf("got %+v, %v", seen, err)
		}
		return seen[0]
	}
	if first := look(); first.SlowNew != 0 || first.Connected < 1 || first.Max < 100 || first.SlowLength != 8 || strings.Contains(first.Server, "@") {
		t.Errorf("got %+v at the first look", first)
	}
	go by.BLPop(context.WithoutCancel(t.Context()), time.Minute, "nothing")
	testenv.Eventually(t, 30*time.Second, func() error {
		if seen := look(); seen.Blocked != 1 {
			return fmt.Errorf("%d clients are blocked, want 1", seen.Blocked)
		}
		return nil
	})
	before := look()
	if err := g.Check(t.Context()); err != nil { // which runs a script
		t.Fatal(err)
	}
	for range 40 { // more than the log keeps
		if err := by.Set(t.Context(), "buyer-1", "secret", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	after := look()
	if after.SlowNew < 41 || after.SlowNew > 60 {
		t.Errorf("got %d new slow commands, want those of this test, not %d", after.SlowNew, before.SlowNew)
	}
	for _, c := range after.Slow {
		if strings.Contains(c.Command, "buyer-1") || time.Since(c.At) > time.Minute {
			t.Errorf("got %+v", c)
		}
	}
	if err := by.Do(t.Context(), "SLOWLOG", "RESET").Err(); err != nil {
		t.Fatal(err)
	}
	if err := g.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, c := range look().Slow {
		found = found || c.Command == "EVALSHA check"
	}
	if !found {
		t.Error("the script of the gate is not named")
	}
}

func TestAServerThatHidesItsSlowLogIsToldAsOne(t *testing.T) {
	s := testenv.PrivateRedis(t, testenv.RedisOptions{})
	by := client(t, s.URL)
	if err := by.Do(t.Context(), "ACL", "SETUSER", "gate", "on", ">secret", "~*", "&*", "+@all", "-slowlog").Err(); err != nil {
		t.Fatal(err)
	}
	w := gateAt(t, strings.Replace(s.URL, "redis://", "redis://gate:secret@", 1)).NewWatcher()
	seen, err := w.Look(t.Context())
	if err != nil || !seen[0].SlowHidden || seen[0].Connected < 1 {
		t.Errorf("got %+v, %v", seen, err)
	}
	s.Kill()
	if seen, err := w.Look(t.Context()); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %+v, %v of a server that is dead", seen, err)
	}
}
