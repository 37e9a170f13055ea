package redisgate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/commands"
	"seckill/commands/gatetest"
	"seckill/domain"
	"seckill/infra/redisgate"
	"seckill/infra/testenv"
)

func client(tb testing.TB, url string) *redis.Client {
	tb.Helper()
	o, err := redis.ParseURL(url)
	if err != nil {
		tb.Fatalf("parse URL: %v", err)
	}
	c := redis.NewClient(o)
	tb.Cleanup(func() { c.Close() })
	return c
}

func wantRefusal(t *testing.T, url, want string) {
	t.Helper()
	g, err := redisgate.Open(context.Background(), url, redisgate.Options{Namespace: "n", Store: 1})
	if err == nil {
		g.Close()
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("open a gate: got %v, want a sentence with %q", err, want)
	}
}

func TestB23AServerThatMayEvictIsRefused(t *testing.T) {
	for _, policy := range []string{"allkeys-lru", "volatile-ttl"} {
		s := testenv.PrivateRedis(t, testenv.RedisOptions{Config: []string{"maxmemory-policy " + policy}})
		wantRefusal(t, s.URL, "set maxmemory-policy noeviction")
	}
}

func TestAServerThatHidesItsIdentityIsRefused(t *testing.T) {
	s := testenv.PrivateRedis(t, testenv.RedisOptions{})
	err := client(t, s.URL).Do(context.Background(), "ACL", "SETUSER", "blind", "on", ">secret", "~*", "+@all", "-info").Err()
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, strings.Replace(s.URL, "redis://", "redis://blind:secret@", 1), "allow the command INFO")
}

func TestAddressesThatCannotBeAreRefusedWithoutTheirSecrets(t *testing.T) {
	for _, url := range []string{"", "http://:secret@host", "redis://:secret@host:1,host:2/0/x"} {
		_, err := redisgate.Open(context.Background(), url, redisgate.Options{Namespace: "n"})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Fatalf("open %q: got %v", url, err)
		}
	}
	if _, err := redisgate.Open(context.Background(), "redis://127.0.0.1:1", redisgate.Options{}); err == nil || !strings.Contains(err.Error(), "namespace") {
		t.Fatalf("open without a namespace: got %v", err)
	}
}

func TestB21AnOlderCopySellsNothingUntilTheLogIsBackInIt(t *testing.T) {
	s := testenv.PrivateRedis(t, testenv.RedisOptions{Config: []string{"appendfsync always"}})
	stage := gatetest.NewStage(t, gatetest.Subject{Ports: openGate(t, s.URL, redisgate.Options{})})
	show := stage.Open(nil, 100)
	buy := func(from, to int) {
		t.Helper()
		for i := from; i < to; i++ {
			stage.Buy(show, fmt.Sprintf("u%d", i), domain.Reserved, 1)
		}
	}
	buy(0, 40)
	older := s.Snapshot()
	buy(40, 50)
	stage.Record(show)
	s.Restore(older)
	stage.WantLeft(show, "A", 60)
	stage.Buy(show, "v", domain.NotReady, 1)
	stage.Recover(show.Place.Lane())
	stage.WantLeft(show, "A", 50)
	stage.Buy(show, "u45", domain.Repeat, 1)
	buy(50, 100)
	stage.Buy(show, "v", domain.SoldOut, 1)
}

func TestAnEmptiedServerIsBuiltFromTheLog(t *testing.T) {
	s := testenv.PrivateRedis(t, testenv.RedisOptions{})
	stage := gatetest.NewStage(t, gatetest.Subject{Ports: openGate(t, s.URL, redisgate.Options{})})
	show := stage.Open(nil, 10)
	stage.Buy(show, "u", domain.Reserved, 1)
	stage.Record(show)
	s.Wipe()
	stage.Buy(show, "v", domain.NotReady, 1)
	stage.Recover(show.Place.Lane())
	stage.WantLeft(show, "A", 9)
	stage.Buy(show, "u", domain.Repeat, 1)
}

func TestALaneOfAnotherLayoutIsLeftAlone(t *testing.T) {
	s := testenv.PrivateRedis(t, testenv.RedisOptions{})
	gate := openGate(t, s.URL, redisgate.Options{Namespace: "n"})
	stage := gatetest.NewStage(t, gatetest.Subject{Ports: gate})
	show := stage.Open(nil, 10)
	key := fmt.Sprintf("n:{s1l%d}:lane", show.Place.Lane())
	if err := client(t, s.URL).HSet(context.Background(), key, "layout", "2").Err(); err != nil {
		t.Fatal(err)
	}
	stage.Buy(show, "u", domain.NotReady, 1)
	if l, err := gate.CloseLane(context.Background(), show.Place.Lane(), 9); err == nil || commands.IsUnknown(err) {
		t.Fatalf("close a lane of another layout: got %+v, %v, want that nothing happened", l, err)
	}
}

func TestALostLaneNeverUsesAnEpochOfItsJournalAgain(t *testing.T) {
	s := testenv.PrivateRedis(t, testenv.RedisOptions{})
	gate := openGate(t, s.URL, redisgate.Options{Namespace: "n"})
	stage := gatetest.NewStage(t, gatetest.Subject{Ports: gate})
	show := stage.Open(nil, 10)
	lane := show.Place.Lane()
	stage.Recover(lane)
	stage.Buy(show, "u", domain.Reserved, 1)
	if err := client(t, s.URL).Del(context.Background(), fmt.Sprintf("n:{s1l%d}:lane", lane)).Err(); err != nil {
		t.Fatal(err)
	}
	for _, epoch := range []int64{1, 2} {
		if l, err := gate.CloseLane(context.Background(), lane, epoch); err != nil || l.Exists || l.Last.Epoch != 2 {
			t.Fatalf("close under epoch %d: got %+v, %v, want a lane that stays missing", epoch, l, err)
		}
	}
	stage.Recover(lane)
	stage.WantLeft(show, "A", 9)
	stage.Buy(show, "v", domain.Reserved, 1)
}

func TestEveryCallIsReported(t *testing.T) {
	calls := make(chan string, 1000)
	known := map[string]bool{}
	for _, name := range redisgate.ScriptNames() {
		known[name] = true
	}
	gate := openGate(t, testenv.Redis(t), redisgate.Options{OnCall: func(script string, batch int, took time.Duration) {
		if batch < 1 || took <= 0 || !known[script] {
			t.Errorf("a call of script %q with %d in %s", script, batch, took)
		}
		calls <- script
	}})
	stage := gatetest.NewStage(t, gatetest.Subject{Ports: gate})
	stage.Buy(stage.Open(nil, 1), "u", domain.Reserved, 1)
	seen := map[string]int{}
	for len(calls) > 0 {
		seen[<-calls]++
	}
	if seen["reserve"] != 1 || seen["check"] != 1 || seen["apply_stock"] != 1 {
		t.Fatalf("calls: got %v", seen)
	}
}

// A server that answers a PING and runs no script sells nothing: it is not ready.
func TestB19ReadyMeansThatAScriptRunsAndNotThatAPingIsAnswered(t *testing.T) {
	s := testenv.PrivateRedis(t, testenv.RedisOptions{})
	gate, o := openGate(t, s.URL, redisgate.Options{}), client(t, s.URL)
	allow := func(what string) {
		t.Helper()
		if err := o.Do(t.Context(), "ACL", "SETUSER", "default", what+"eval", what+"evalsha").Err(); err != nil {
			t.Fatal(err)
		}
	}
	allow("-")
	if err := o.Ping(t.Context()).Err(); err != nil {
		t.Fatalf("ping: %v", err)
	}
	if err := gate.Check(t.Context()); err == nil {
		t.Error("a server that runs no script is ready")
	}
	allow("+")
	if err := o.ScriptFlush(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := gate.Check(t.Context()); err != nil {
		t.Errorf("with scripts, which it forgot: %v", err)
	}
}

// A server that has just begun, or shares a busy machine, is no reason not to start.
func TestAServerThatIsSilentAtFirstIsAskedAgain(t *testing.T) {
	s := testenv.PrivateRedis(t, testenv.RedisOptions{})
	s.Freeze()
	type opened struct {
		gate *redisgate.Gate
		err  error
	}
	done := make(chan opened, 1)
	go func() {
		gate, err := redisgate.Open(context.Background(), s.URL, redisgate.Options{Namespace: "slow", Store: 1, CallTimeout: 100 * time.Millisecond, SaleTimeout: 100 * time.Millisecond})
		done <- opened{gate, err}
	}()
	select { // several times what one question may take
	case early := <-done:
		t.Errorf("a server that says nothing was given up at once: %v", early.err)
	case <-time.After(time.Second):
	}
	s.Thaw()
	if t.Failed() {
		return
	}
	got := <-done
	gate, err := got.gate, got.err
	if err != nil {
		t.Fatal(err)
	}
	if err := gate.Close(); err != nil {
		t.Error(err)
	}
}
