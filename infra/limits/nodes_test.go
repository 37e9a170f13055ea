package limits

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/infra/testenv"
)

// nodes are several processes that share one store.
func nodes(t *testing.T, n, limit, free int) []*Shared {
	t.Helper()
	url, ns := testenv.Redis(t), testenv.Namespace(t)
	all := make([]*Shared, n)
	for i := range all {
		store := openStore(t, url, StoreOptions{Namespace: ns, Patience: patient})
		all[i] = shared(t, Options{Limit: limit, Window: time.Minute}, store, free)
	}
	return all
}

func TestNodesThatAlwaysAskKeepOneExactLimit(t *testing.T) {
	all := nodes(t, 3, 5, 0)
	if got := raceNodes(t, all, "alice"); got != 5 {
		t.Errorf("at three nodes %d racing attempts passed, want 5", got)
	}
}

func TestNodesWithAFreeAttemptPassAtMostOneMoreForEachFurtherNode(t *testing.T) {
	all := nodes(t, 3, 5, 1)
	for i := range 20 {
		buyer := fmt.Sprintf("buyer-%d", i)
		if got := raceNodes(t, all, buyer); got < 5 || got > 7 {
			t.Errorf("at three nodes %d racing attempts passed, want 5 to 7", got)
		}
	}
	passed := 0
	for i := range 60 {
		if all[i%3].Take(t.Context(), "in turn").OK {
			passed++
		}
	}
	if passed < 5 || passed > 7 {
		t.Errorf("at three nodes in turn %d attempts passed, want 5 to 7", passed)
	}
}

// B69: somebody who spreads six attempts over two nodes is limited at the sixth.
func TestB69SixAttemptsOverTwoNodesAreOneTooMany(t *testing.T) {
	all := nodes(t, 2, 5, 1)
	for i := range 6 {
		if v := all[i%2].Take(t.Context(), "alice"); v.OK != (i < 5) {
			t.Errorf("attempt %d: got %+v", i+1, v)
		}
	}
}

func raceNodes(t *testing.T, all []*Shared, buyer string) int64 {
	t.Helper()
	var passed, next atomic.Int64
	race(10*len(all), func() {
		node := all[int(next.Add(1))%len(all)]
		for range 5 {
			if node.Take(t.Context(), buyer).OK {
				passed.Add(1)
			}
		}
	})
	return passed.Load()
}

func TestACrowdInWhichEverybodyPressesOnceCostsTheStoreNothing(t *testing.T) {
	var asked atomic.Int64
	store := openStore(t, testenv.Redis(t), StoreOptions{
		Namespace: testenv.Namespace(t), Patience: patient, ProbeEvery: time.Hour, OnCall: func(n int) { asked.Add(int64(n)) },
	})
	node := shared(t, Options{Limit: 5, Window: time.Minute}, store, 1)
	asked.Store(0) // the first look
	for i := range 10_000 {
		if !node.Take(t.Context(), fmt.Sprint(i)).OK {
			t.Fatalf("buyer %d was refused", i)
		}
	}
	if got := asked.Load(); got != 0 {
		t.Errorf("the store was asked %d times, want never", got)
	}
	node.Take(t.Context(), "7")
	if got := asked.Load(); got != 1 {
		t.Errorf("after a second press the store was asked %d times, want once", got)
	}
}

func TestASureRefusalAsksNobody(t *testing.T) {
	var asked atomic.Int64
	store := openStore(t, testenv.Redis(t), StoreOptions{
		Namespace: testenv.Namespace(t), Patience: patient, ProbeEvery: time.Hour, OnCall: func(n int) { asked.Add(int64(n)) },
	})
	o := Options{Limit: 3, Window: time.Minute}
	one, other := shared(t, o, store, 0), shared(t, o, store, 0)
	for range 3 {
		one.Take(t.Context(), "alice")
	}
	other.Take(t.Context(), "alice") // refused by the store
	before := asked.Load()
	for range 100 {
		if one.Take(t.Context(), "alice").OK || other.Take(t.Context(), "alice").OK {
			t.Fatal("an attempt above the limit passed")
		}
	}
	if got := asked.Load() - before; got != 0 {
		t.Errorf("refusals that were known asked the store %d times, want never", got)
	}
}

func TestKeysOfBuyersLiveForOneWindow(t *testing.T) {
	ns := testenv.Namespace(t)
	store := openStore(t, testenv.Redis(t), StoreOptions{Namespace: ns, Patience: patient})
	shared(t, Options{Limit: 3, Window: time.Minute}, store, 0).Take(t.Context(), "alice")
	left, err := client(t).PTTL(t.Context(), keyOf(t, ns, "purchases:alice")).Result()
	if err != nil || left <= 0 || left > time.Minute {
		t.Errorf("got a life of %s and %v, want up to a minute", left, err)
	}
}

func TestWhatTheStoreForgetsIsToldAgain(t *testing.T) {
	ns := testenv.Namespace(t)
	store := openStore(t, testenv.Redis(t), StoreOptions{Namespace: ns, Patience: patient})
	o := Options{Limit: 5, Window: time.Minute}
	one, other := shared(t, o, store, 0), shared(t, o, store, 0)
	for range 3 {
		one.Take(t.Context(), "alice")
	}
	if n, err := client(t).Del(t.Context(), keyOf(t, ns, "purchases:alice")).Result(); err != nil || n != 1 {
		t.Fatalf("forget: %d keys, %v", n, err)
	}
	if !one.Take(t.Context(), "alice").OK || !other.Take(t.Context(), "alice").OK {
		t.Error("attempts 4 and 5 were refused")
	}
	if v := other.Take(t.Context(), "alice"); v.OK {
		t.Error("attempt 6 passed: the other node was not told of the first three")
	}
}

// keyOf finds the key of what is limited.
func keyOf(t *testing.T, ns, limited string) string {
	t.Helper()
	keys, err := client(t).Keys(t.Context(), ns+":limit:{*}:"+limited).Result()
	if err != nil || len(keys) != 1 {
		t.Fatalf("the keys of %s: got %v, %v, want one", limited, keys, err)
	}
	return keys[0]
}

func client(t *testing.T) *redis.Client {
	t.Helper()
	o, err := redis.ParseURL(testenv.Redis(t))
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestWhileTheStoreIsAwayEachNodeHoldsTheLimitAndAfterwardsAllDo(t *testing.T) {
	for name, fault := range map[string]func(*testenv.FaultProxy){
		"cut":                 (*testenv.FaultProxy).Cut,
		"slower than allowed": func(p *testenv.FaultProxy) { p.Delay(3 * time.Second) },
		"silent":              (*testenv.FaultProxy).BlackHole,
	} {
		t.Run(name, func(t *testing.T) {
			link := testenv.Proxy(t, testenv.Redis(t))
			var news atomic.Int64
			o := StoreOptions{
				Namespace: testenv.Namespace(t), Patience: time.Second, ProbeEvery: 20 * time.Millisecond, OnUp: func(bool, error) { news.Add(1) },
			}
			store := openStore(t, link.URL(), o)
			limit := Options{Limit: 5, Window: time.Hour}
			all := []*Shared{shared(t, limit, store, 0), shared(t, limit, store, 0)}
			awaitUp(t, store, true)
			fault(link)
			awaitUp(t, store, false)
			for i, node := range all {
				if got := press(t, node, "alice", 20); got != 5 {
					t.Errorf("node %d let %d of 20 pass while the store was away, want 5", i+1, got)
				}
			}
			link.Heal()
			link.Reset()
			awaitUp(t, store, true)
			if got := press(t, all[0], "bob", 20) + press(t, all[1], "bob", 20); got != 5 {
				t.Errorf("%d attempts passed at both nodes after the store was back, want 5", got)
			}
			if news.Load() < 3 {
				t.Errorf("%d changes were told, want up, away, up", news.Load())
			}
		})
	}
}

func press(t *testing.T, node *Shared, buyer string, times int) (passed int) {
	t.Helper()
	for range times {
		if node.Take(t.Context(), buyer).OK {
			passed++
		}
	}
	return passed
}

func awaitUp(t *testing.T, s *Store, want bool) {
	t.Helper()
	testenv.Eventually(t, 30*time.Second, func() error {
		if s.Up() != want {
			return errors.New("the store is not as it should be")
		}
		return nil
	})
}

func TestAStoreThatCannotWriteIsAway(t *testing.T) {
	server := testenv.PrivateRedis(t, testenv.RedisOptions{Config: []string{"replicaof 127.0.0.1 1"}})
	if openStore(t, server.URL, StoreOptions{Namespace: "n", Patience: patient}).Up() {
		t.Error("a replica, which takes no writes, counts as up")
	}
}

func TestACaughtScriptFlushRefusesNobody(t *testing.T) {
	server := testenv.PrivateRedis(t, testenv.RedisOptions{})
	store := openStore(t, server.URL, StoreOptions{Namespace: "n", Patience: patient, ProbeEvery: time.Hour})
	node := shared(t, Options{Limit: 5, Window: time.Minute}, store, 0)
	o, err := redis.ParseURL(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(o)
	defer c.Close()
	for i := range 6 {
		if err := c.ScriptFlush(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if v := node.Take(t.Context(), "alice"); v.OK != (i < 5) || !store.Up() {
			t.Errorf("attempt %d: got %+v, store up %v", i+1, v, store.Up())
		}
	}
}

func TestAClosedStoreIsAway(t *testing.T) {
	store, err := OpenStore(t.Context(), testenv.Redis(t), StoreOptions{Namespace: testenv.Namespace(t), Patience: patient})
	if err != nil {
		t.Fatal(err)
	}
	node := shared(t, Options{Limit: 5, Window: time.Minute}, store, 0)
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if got := press(t, node, "alice", 20); got != 5 {
		t.Errorf("%d of 20 passed, want the node's own 5", got)
	}
}
