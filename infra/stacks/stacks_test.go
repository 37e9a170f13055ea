package stacks

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"seckill/infra/testenv"
)

// modes are both ways of looking.
var modes = map[string]int{"one by one": MostWithWaits, "by the profile": 0}

// awaitGroup waits until so many goroutines wait for kind, in a fresh dump of a mode.
func awaitGroup(t *testing.T, most int, kind string, want int) Group {
	t.Helper()
	var found Group
	testenv.Eventually(t, 30*time.Second, func() error {
		taker := NewTaker(time.Now)
		taker.most = most
		d := taker.Take()
		for _, g := range d.Groups {
			if g.Kind.Name == kind && g.Goroutines == want {
				found = g
				return nil
			}
		}
		return fmt.Errorf("got %+v, want %d in %s", d.Groups, want, kind)
	})
	return found
}

func TestAPoolOfPostgreSQLWithNoFreeConnectionShowsAsSuch(t *testing.T) {
	config, err := pgxpool.ParseConfig(testenv.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 2
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for range config.MaxConns {
		held, err := pool.Acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer held.Release()
	}
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for range 7 {
		waiting.Go(func() {
			if c, err := pool.Acquire(ctx); err == nil {
				c.Release()
				t.Error("got a connection, want none: all are held")
			}
		})
	}
	defer waiting.Wait()
	defer cancel()
	var ids [][]int64
	for name, most := range modes {
		g := awaitGroup(t, most, "postgres_pool", 7)
		if !slices.ContainsFunc(g.Sites[0].Stack, func(f string) bool { return f == "github.com/jackc/pgx/v5/pgxpool.(*Pool).Acquire" }) {
			t.Errorf("%s: got %v, want the place that asked for a connection", name, g.Sites)
		}
		if most > 0 {
			ids = append(ids, g.IDs, awaitGroup(t, most, "postgres_pool", 7).IDs)
		}
	}
	if len(ids[0]) != 7 || !slices.Equal(ids[0], ids[1]) {
		t.Errorf("got goroutines %v, want the same seven in both dumps", ids)
	}
}

func TestAPoolOfRedisWithNoFreeConnectionShowsAsSuch(t *testing.T) {
	options, err := redis.ParseURL(testenv.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	options.PoolSize, options.PoolTimeout = 1, time.Hour
	client := redis.NewClient(options)
	held := client.Conn()
	if err := held.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	var waiting sync.WaitGroup
	for range 3 {
		waiting.Go(func() {
			if err := client.Ping(context.Background()).Err(); err != nil {
				t.Errorf("ping once a connection is free: %v", err)
			}
		})
	}
	for _, most := range modes {
		awaitGroup(t, most, "redis_pool", 3)
	}
	if err := held.Close(); err != nil {
		t.Error(err)
	}
	waiting.Wait()
	if err := client.Close(); err != nil {
		t.Error(err)
	}
}

func TestWhoWaitsForAnAnswerOfPostgreSQLIsToldFromWhoWaitsForAConnection(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), testenv.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var asking sync.WaitGroup
	asking.Go(func() { _, _ = pool.Exec(ctx, "select pg_sleep(600)") }) // cancelled at the end
	defer asking.Wait()
	defer cancel()
	for _, most := range modes {
		awaitGroup(t, most, "postgres", 1)
	}
}

func TestAnIdleConnectionAndALockAreToldApart(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	c, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	var mu sync.Mutex
	mu.Lock()
	var locked sync.WaitGroup
	for range 2 {
		locked.Go(func() {
			mu.Lock()
			defer mu.Unlock()
		})
	}
	for _, most := range modes {
		awaitGroup(t, most, "mutex", 2)
		awaitGroup(t, most, "http_idle", 1)
	}
	mu.Unlock()
	locked.Wait()
}

func TestADumpIsTakenAtMostOnceASecond(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	taker := NewTaker(func() time.Time { return now })
	first := taker.Take()
	now = now.Add(freshFor - 1)
	if again := taker.Take(); !again.At.Equal(first.At) {
		t.Errorf("got a new dump at %v, want the one of %v", again.At, first.At)
	}
	now = now.Add(1)
	if next := taker.Take(); !next.At.Equal(now) {
		t.Errorf("got the dump of %v, want a new one", next.At)
	}
}

func TestStatesWaitsAndFunctionsAreRead(t *testing.T) {
	const text = `goroutine 1 [chan receive, 12 minutes]:
main.(*T[...]).run(0xc000012345, {0x1, 0x2})
	/src/main.go:10 +0x1d
created by main.main in goroutine 1
	/src/main.go:3 +0x4

goroutine 77 gp=0xc0001 m=nil [sync.Mutex.Lock, locked to thread]:
internal/sync.runtime_SemacquireMutex(0x1)
	/go/sync.go:1
sync.(*Mutex).Lock(...)
	/go/mutex.go:1
seckill/commands.(*Sales).Get(0xc1)
	/src/`
	all := parse([]byte(text))
	if len(all) != 2 || all[0].id != 1 || all[0].state != "chan receive" || all[0].minutes != 12 || !slices.Equal(all[0].names, []string{"main.(*T[...]).run"}) {
		t.Errorf("got %+v", all)
	}
	groups := group(all)
	if len(groups) != 2 || groups[1].Kind.Name != "other" && groups[0].Kind.Name != "other" {
		t.Fatalf("got %+v", groups)
	}
	for _, g := range groups {
		if g.Kind.Name == "other" && g.Oldest != 12*time.Minute || g.Kind.Name == "mutex" && g.IDs[0] != 77 {
			t.Errorf("got %+v", g)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	for _, n := range []int{500, 2000} {
		stop := make(chan struct{})
		var all sync.WaitGroup
		for range n {
			all.Go(func() { deep(12, stop) })
		}
		for name, most := range map[string]int{"one by one": 1 << 20, "by the profile": 0} {
			b.Run(fmt.Sprintf("%d goroutines %s", n, name), func(b *testing.B) {
				for b.Loop() {
					taker := NewTaker(time.Now)
					taker.most = most
					if d := taker.Take(); d.Goroutines < n {
						b.Fatalf("got %d goroutines, want at least %d", d.Goroutines, n)
					}
				}
			})
		}
		close(stop)
		all.Wait()
	}
}

// deep waits under a stack of so many functions.
func deep(n int, stop chan struct{}) {
	if n > 0 {
		deep(n-1, stop)
		return
	}
	<-stop
}
